/* SPDX-License-Identifier: BSD-2-Clause */
/* itimers.c: timers that send signals: setitimer, alarm, timer_create. The same program passes on Linux. */
#define _GNU_SOURCE
#include "promise.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000L
#define NS_PER_S  (1000 * NS_PER_MS)

static volatile sig_atomic_t runs;
static volatile long values, overruns;

static void count(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    runs++;
    if (info->si_code == SI_TIMER) {
        values += (long)info->si_value.sival_ptr;
        overruns += info->si_overrun;
    }
}

static long now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 * NS_PER_MS + time.tv_nsec;
}

static void compute_until(long end_ns)
{
    while (now_ns() < end_ns)
        ;
}

static struct itimerspec spec(long value_ns, long interval_ns)
{
    return (struct itimerspec){ { interval_ns / 1000000000, interval_ns % 1000000000 },
                                { value_ns / 1000000000, value_ns % 1000000000 } };
}

/* Makes the raw calls, as C libraries implement some of them with threads. */
static int create(clockid_t clock, int notify, int signal, long value)
{
    struct {
        long value;
        int signal, notify, tid, padding[11];
    } event = { value, signal, notify, (int)getpid(), { 0 } };
    int id = -1;

    return syscall(SYS_timer_create, clock, &event, &id) ? -errno : id;
}

static int set(int id, int flags, long value_ns, long interval_ns)
{
    const struct itimerspec time = spec(value_ns, interval_ns);

    return syscall(SYS_timer_settime, id, flags, &time, NULL) ? -errno : 0;
}

static long left_ns(int id)
{
    struct itimerspec time = { { 9, 9 }, { 9, 9 } };

    syscall(SYS_timer_gettime, id, &time);
    return time.it_value.tv_sec * 1000 * NS_PER_MS + time.it_value.tv_nsec;
}

static void interval_timers_ring(void)
{
    struct itimerval value = { { 0, 5000 }, { 0, 5000 } }, old;
    long start = now_ns();

    runs = 0;
    PROMISE(setitimer(ITIMER_REAL, &value, NULL) == 0, "%d", errno);
    while (runs < 10 && now_ns() < start + 20000 * NS_PER_MS)
        ;
    PROMISE(runs >= 10 && now_ns() - start >= 49 * NS_PER_MS, "%d in %ld ns", (int)runs, now_ns() - start);
    getitimer(ITIMER_REAL, &old);
    PROMISE(old.it_interval.tv_usec == 5000 && old.it_value.tv_usec <= 5001, "%ld %ld",
            (long)old.it_interval.tv_usec, (long)old.it_value.tv_usec);
    value = (struct itimerval){ { 0, 0 }, { 0, 0 } };
    setitimer(ITIMER_REAL, &value, NULL);
    runs = 0;
    compute_until(now_ns() + 20 * NS_PER_MS);
    getitimer(ITIMER_REAL, &old);
    PROMISE(runs == 0 && old.it_value.tv_sec == 0 && old.it_value.tv_usec == 0, "%d", (int)runs);
    alarm(100);
    start = now_ns();
    long left_s = alarm(0), passed_s = (now_ns() - start) / NS_PER_S;
    PROMISE(left_s <= 100 && left_s >= 99 - passed_s, "the time left is reported: %ld s", left_s);
    PROMISE(alarm(0) == 0, "nothing is left");
    value.it_value.tv_usec = 1000000;
    PROMISE(setitimer(ITIMER_REAL, &value, NULL) < 0 && errno == EINVAL, "%d", errno);
    PROMISE(syscall(SYS_setitimer, 3, &value, NULL) < 0 && errno == EINVAL, "%d", errno);
}

static void timers_ring_once_or_again(int clock)
{
    int id = create(clock, SIGEV_SIGNAL, SIGRTMIN, 7);
    struct timespec now;
    long start;

    PROMISE(id >= 0, "%d", id);
    runs = 0, values = 0;
    start = now_ns();
    PROMISE(set(id, 0, 1000 * NS_PER_S, 0) == 0, "not set");
    PROMISE(left_ns(id) > 0 && left_ns(id) <= 1000 * NS_PER_S, "%ld", left_ns(id));
    PROMISE(set(id, 0, 10 * NS_PER_MS, 0) == 0, "not set");
    while (runs == 0 && now_ns() < start + 20000 * NS_PER_MS)
        ;
    PROMISE(runs == 1 && values == 7 && now_ns() - start >= 10 * NS_PER_MS, "%d %ld %ld", (int)runs, values,
            now_ns() - start);
    compute_until(now_ns() + 15 * NS_PER_MS);
    PROMISE(runs == 1 && left_ns(id) == 0, "%d, %ld left", (int)runs, left_ns(id));

    start = now_ns();
    clock_gettime(clock, &now);
    set(id, TIMER_ABSTIME, now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec + 10 * NS_PER_MS, 5 * NS_PER_MS);
    while (runs < 6 && now_ns() < start + 20000 * NS_PER_MS)
        ;
    PROMISE(runs >= 6 && now_ns() - start >= 29 * NS_PER_MS, "%d %ld", (int)runs, now_ns() - start);
    set(id, 0, 0, 0);
    start = now_ns(), runs = 0;
    set(id, TIMER_ABSTIME, 1, 0); /* long ago */
    while (runs == 0 && now_ns() < start + 20000 * NS_PER_MS)
        ;
    PROMISE(runs == 1, "%d", (int)runs);
    PROMISE(syscall(SYS_timer_delete, id) == 0, "%d", errno);
    PROMISE(set(id, 0, 1, 1) == -EINVAL, "a timer that was deleted was set");
}

static void overruns_are_counted(void)
{
    const struct timespec none = { 0, 0 };
    int id = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, 1);
    sigset_t mask;
    siginfo_t info;
    long start, missed;

    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    start = now_ns();
    set(id, 0, NS_PER_MS, NS_PER_MS);
    const long was_set = now_ns();
    compute_until(was_set + 50 * NS_PER_MS);
    memset(&info, 0, sizeof(info));
    PROMISE(sigtimedwait(&mask, &info, &none) == SIGRTMIN + 1 && info.si_code == SI_TIMER &&
                info.si_timerid == id,
            "%d", info.si_code);
    missed = (now_ns() - start) / NS_PER_MS;
    PROMISE(info.si_overrun >= 48 && info.si_overrun <= missed, "%d of %ld", info.si_overrun, missed);
    PROMISE(syscall(SYS_timer_getoverrun, id) == info.si_overrun, "%d", info.si_overrun);
    set(id, 0, 0, 0);
    while (sigtimedwait(&mask, &info, &none) > 0)
        ;
    compute_until(now_ns() + 5 * NS_PER_MS);
    PROMISE(sigtimedwait(&mask, &info, &none) < 0, "one that was stopped rings");

    set(id, 0, NS_PER_MS, 0);
    compute_until(now_ns() + 5 * NS_PER_MS);
    syscall(SYS_timer_delete, id);
    /* Linux keeps the signal of a deleted timer, or not, depending on its version */
    sigtimedwait(&mask, &info, &none);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
}

static void the_fastest_timer_leaves_time_to_stop_it(void)
{
    int id = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN, 0);
    long start = now_ns();

    runs = 0;
    set(id, 0, 1, 50000);
    while (runs < 20 && now_ns() < start + 20000 * NS_PER_MS)
        ;
    PROMISE(set(id, 0, 0, 0) == 0 && runs >= 20, "%d", (int)runs);
    PROMISE(syscall(SYS_timer_delete, id) == 0, "%d", errno);
}

static void others(void)
{
    int ids[2000], made = 0, silent = create(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0),
                   mine = create(CLOCK_MONOTONIC, 4, SIGUSR1, 3), id = 0;
    long start = now_ns();

    PROMISE(silent >= 0 && set(silent, 0, 1000 * NS_PER_S, 0) == 0 && left_ns(silent) > 100 * NS_PER_S, "%ld",
            left_ns(silent));
    runs = 0, values = 0;
    PROMISE(mine >= 0 && set(mine, 0, NS_PER_MS, 0) == 0, "%d", mine);
    while (runs == 0 && now_ns() < start + 20000 * NS_PER_MS)
        ;
    PROMISE(runs == 1 && values == 3, "to the thread: %d %ld", (int)runs, values);

    /* One whose signal is ignored goes on when it is not. */
    signal(SIGUSR1, SIG_IGN);
    set(mine, 0, NS_PER_MS, NS_PER_MS);
    compute_until(now_ns() + 10 * NS_PER_MS);
    struct sigaction action = { .sa_sigaction = count, .sa_flags = SA_SIGINFO };
    runs = 0, start = now_ns();
    sigaction(SIGUSR1, &action, NULL);
    while (runs < 3 && now_ns() < start + 20000 * NS_PER_MS)
        ;
    PROMISE(runs >= 3, "%d", (int)runs);
    set(mine, 0, 0, 0);

    while (made < 2000 && (ids[made] = create(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 0)) >= 0)
        made++;
    PROMISE(made >= 100 && (made == 2000 || ids[made] == -EAGAIN), "%d", made);
    for (int i = 0; i < made; i++)
        syscall(SYS_timer_delete, ids[i]);
    PROMISE(create(99, SIGEV_SIGNAL, SIGUSR1, 0) == -EINVAL, "no such clock");
    PROMISE(create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 65, 0) == -EINVAL, "no such signal");
    PROMISE(create(CLOCK_MONOTONIC, 77, SIGUSR1, 0) == -EINVAL, "no such way");
    PROMISE(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, 8) < 0 && errno == EFAULT, "%d", errno);
    PROMISE(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id) == 0 && id >= 0, "%d", errno);
    PROMISE(set(id, 0, -1, 0) == -EINVAL && set(-1, 0, 0, 0) == -EINVAL, "%d", id);
    set(id, 0, 1000 * NS_PER_MS, 0); /* ends with the program */
}

int main(void)
{
    struct sigaction action = { .sa_sigaction = count, .sa_flags = SA_SIGINFO };

    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGRTMIN, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    interval_timers_ring();
    timers_ring_once_or_again(CLOCK_MONOTONIC);
    timers_ring_once_or_again(CLOCK_REALTIME);
    timers_ring_once_or_again(CLOCK_BOOTTIME);
    overruns_are_counted();
    the_fastest_timer_leaves_time_to_stop_it();
    others();
    return promises_kept();
}
