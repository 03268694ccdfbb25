/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupted.c [stdin]: what becomes of a wait when a signal's handler runs: EINTR, or the wait begins again
 * if the handler was installed with SA_RESTART and the call restarts (man 7 signal). The same program passes
 * on Linux.
 *
 * Each wait is endless or long. The handler makes its condition true. So a call that begins again ends, and a
 * call that does not returns EINTR. With `stdin`: the same with standard input, which must have no input.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS      1000000L
#define WAIT_MS        900 /* longer than a busy host usually stops the machine */
#define ALARM_US       15000
#define FUTEX_WAIT     0
#define FUTEX_BITSET   9
#define CODE_BY_KERNEL 0x80

static volatile sig_atomic_t runs;
static siginfo_t seen;
static uint32_t word;
static struct timespec left;
/* an empty pipe, a full one; an eventfd; an epoll set of the empty pipe; a file that is locked, twice open */
static int input[2], full[2], events, set, owned, contender;
static char block[65536];

static void install(void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

    sigemptyset(&action.sa_mask);
    if (sigaction(SIGALRM, &action, NULL))
        abort();
}

static void alarm_in(long us)
{
    const struct itimerval time = { { 0, 0 }, { us / 1000000, us % 1000000 } };

    setitimer(ITIMER_REAL, &time, NULL);
}

static void alarm_every(long us)
{
    const struct itimerval time = { { us / 1000000, us % 1000000 }, { us / 1000000, us % 1000000 } };

    setitimer(ITIMER_REAL, &time, NULL);
}

/* ---- The waits ---- */

static const struct timespec short_time = { .tv_nsec = WAIT_MS * NS_PER_MS };
static const uint64_t no_signal;

static long wait_read(void)
{
    char byte;
    return syscall(SYS_read, input[0], &byte, 1);
}

static long wait_readv(void)
{
    char byte;
    struct {
        void *base;
        size_t bytes;
    } part = { &byte, 1 };
    return syscall(SYS_readv, input[0], &part, 1);
}

static long wait_write(void)
{
    return syscall(SYS_write, full[1], "x", 1);
}

static long wait_event(void)
{
    uint64_t value;
    return syscall(SYS_read, events, &value, 8);
}

static long wait_flock(void)
{
    return syscall(SYS_flock, contender, LOCK_EX);
}

static long wait_record(void)
{
    struct flock range = { .l_type = F_WRLCK, .l_start = 7, .l_len = 3 };

    return syscall(SYS_fcntl, contender, F_OFD_SETLKW, &range);
}

static long wait_nanosleep(void)
{
    return syscall(SYS_nanosleep, &short_time, &left);
}

static long wait_until(void)
{
    const long end = now_ns() + WAIT_MS * NS_PER_MS;
    const struct timespec t = { end / (1000 * NS_PER_MS), end % (1000 * NS_PER_MS) };

    return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 1, &t, NULL);
}

static long wait_futex(void)
{
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long wait_futex_timed(void)
{
    return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &short_time, NULL, 0);
}

static long wait_bitset(void)
{
    return syscall(SYS_futex, &word, FUTEX_BITSET, 0, NULL, NULL, 1);
}

static long wait_poll(void)
{
    struct pollfd p = { input[0], POLLIN, 0 };
    return syscall(SYS_poll, &p, 1, WAIT_MS);
}

static long wait_poll_ever(void)
{
    struct pollfd p = { input[0], POLLIN, 0 };
    return syscall(SYS_poll, &p, 1, -1);
}

static long wait_ppoll(void)
{
    struct timespec time = short_time;
    long result = syscall(SYS_ppoll, NULL, 0, &time, &no_signal, 8);

    PROMISE(time.tv_sec == 0 && time.tv_nsec > 0 && time.tv_nsec < WAIT_MS * NS_PER_MS, "ppoll leaves %ld ns",
            time.tv_nsec);
    return result;
}

static long wait_select(void)
{
    struct timeval time = { 0, WAIT_MS * 1000 };
    fd_set in;

    FD_ZERO(&in);
    FD_SET(input[0], &in);
    long result = syscall(MACHINE_SELECT, input[0] + 1, &in, NULL, NULL, &time);
    PROMISE(time.tv_sec == 0 && time.tv_usec > 0 && time.tv_usec < WAIT_MS * 1000, "select leaves %ld us",
            (long)time.tv_usec);
    return result;
}

static long wait_pselect(void)
{
    const struct {
        const uint64_t *mask;
        size_t bytes;
    } given = { &no_signal, 8 };
    fd_set in;

    FD_ZERO(&in);
    FD_SET(input[0], &in);
    return syscall(SYS_pselect6, input[0] + 1, &in, NULL, NULL, NULL, &given);
}

static long wait_epoll(void)
{
    struct epoll_event e;
    return syscall(SYS_epoll_wait, set, &e, 1, -1);
}

static long wait_epoll_masked(void)
{
    struct epoll_event e;
    return syscall(SYS_epoll_pwait, set, &e, 1, -1, &no_signal, 8);
}

static long wait_pause(void)
{
    return syscall(SYS_pause);
}

static long wait_suspend(void)
{
    return syscall(SYS_rt_sigsuspend, &no_signal, 8);
}

static long wait_timed(void)
{
    const uint64_t usr2 = 1UL << (SIGUSR2 - 1);

    return syscall(SYS_rt_sigtimedwait, &usr2, NULL, &short_time, 8);
}

/* ---- What ends them ---- */

/* Makes true what any of them waits for. */
static void let_go(int signal, siginfo_t *info, void *context)
{
    const uint64_t one = 1;
    struct flock range = { .l_type = F_UNLCK };

    (void)signal, (void)context;
    if (runs++ > 0)
        return; /* it has let go */
    seen = *info;
    word = 1;
    if (write(input[1], "x", 1) != 1 || write(events, &one, 8) != 8 ||
        read(full[0], block, sizeof(block)) < 1)
        abort();
    flock(owned, LOCK_UN);
    fcntl(owned, F_OFD_SETLK, &range);
}

/* Makes all waits wait: nothing to read, no room to write, everything locked. */
static void hold_back(void)
{
    struct flock range = { .l_type = F_WRLCK };
    struct pollfd readable = { input[0], POLLIN, 0 }, event = { events, POLLIN, 0 },
                  writable = { full[1], POLLOUT, 0 };
    uint64_t value;

    word = 0, runs = 0;
    left = (struct timespec){ 9, 9 };
    while (poll(&readable, 1, 0) == 1 && read(input[0], block, 1) == 1)
        ;
    while (poll(&event, 1, 0) == 1 && read(events, &value, 8) == 8)
        ;
    while (poll(&writable, 1, 0) == 1 && write(full[1], block, 4096) == 4096)
        ;
    flock(contender, LOCK_UN);
    range.l_type = F_UNLCK;
    fcntl(contender, F_OFD_SETLK, &range);
    range.l_type = F_WRLCK;
    PROMISE(flock(owned, LOCK_EX | LOCK_NB) == 0 && fcntl(owned, F_OFD_SETLK, &range) == 0, "%d", errno);
}

static void interrupted_calls_end_as_on_linux(void)
{
    /* What each answers after a handler without SA_RESTART, and after one with it; 0: it goes on and
     * succeeds. */
    static const struct {
        const char *name;
        long (*wait)(void);
        int plain, restarted;
    } table[] = {
        { "read of a pipe", wait_read, EINTR, 0 },
        { "readv of a pipe", wait_readv, EINTR, 0 },
        { "write to a full pipe", wait_write, EINTR, 0 },
        { "read of an event counter", wait_event, EINTR, 0 },
        { "flock", wait_flock, EINTR, 0 },
        { "a lock of a range", wait_record, EINTR, 0 },
        { "nanosleep", wait_nanosleep, EINTR, EINTR },
        { "clock_nanosleep until", wait_until, EINTR, EINTR },
        { "futex", wait_futex, EINTR, EAGAIN },
        { "futex with bits", wait_bitset, EINTR, EAGAIN },
        { "futex with a time", wait_futex_timed, EINTR, EINTR },
        { "poll", wait_poll, EINTR, EINTR },
        { "poll without end", wait_poll_ever, EINTR, EINTR },
        { "ppoll", wait_ppoll, EINTR, EINTR },
        { "select", wait_select, EINTR, EINTR },
        { "pselect", wait_pselect, EINTR, EINTR },
        { "epoll_wait", wait_epoll, EINTR, EINTR },
        { "epoll_pwait", wait_epoll_masked, EINTR, EINTR },
        { "pause", wait_pause, EINTR, EINTR },
        { "sigsuspend", wait_suspend, EINTR, EINTR },
        { "sigtimedwait", wait_timed, EINTR, EINTR },
    };

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        for (int with = 0; with < 2; with++) {
            int expected = with ? table[i].restarted : table[i].plain;
            sigset_t mask;

            long start, took;
            int error, tries = 0;

            /* If the host stops the machine for as long as the alarm takes, the wait begins after it, and
             * ends by the next: again, with more time. */
            do {
                install(let_go, with ? SA_RESTART : 0);
                hold_back();
                start = now_ns();
                alarm_every(ALARM_US << tries);
                long result = table[i].wait();
                took = now_ns() - start;
                error = result < 0 ? errno : 0;
                alarm_every(0);
            } while ((error != expected || runs != 1) && ++tries < 5);
            PROMISE(error == expected && runs == 1, "%s %s SA_RESTART: error %d, runs %d", table[i].name,
                    with ? "with" : "without", error, (int)runs);
            PROMISE(took >= ALARM_US * 1000, "%s: %ld ns", table[i].name, took);
            PROMISE(seen.si_code == CODE_BY_KERNEL && seen.si_signo == SIGALRM, "%d", seen.si_code);
            if (table[i].wait == wait_nanosleep)
                PROMISE(left.tv_sec == 0 && left.tv_nsec > 0 && left.tv_nsec < WAIT_MS * NS_PER_MS,
                        "%ld.%09ld left", (long)left.tv_sec, left.tv_nsec);
            sigprocmask(SIG_SETMASK, NULL, &mask);
            PROMISE(!sigismember(&mask, SIGALRM), "%s left the mask changed", table[i].name);
        }
}

static const struct timespec nap = { 0, 60 * ALARM_US * 1000 };
static long alarm_us;
static int inner_error;

/* Waits inside the handler, and is interrupted there: neither wait affects the other. */
static void wait_inside(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    runs++;
    if (runs == 1) {
        alarm_in(alarm_us);
        inner_error = nanosleep(&nap, NULL) < 0 ? errno : 0;
        PROMISE(write(input[1], "x", 1) == 1, "%d", errno);
    }
}

static bool outer_read_goes_on(void)
{
    char byte = 0;

    return read(input[0], &byte, 1) == 1 && byte == 'x';
}

static bool outer_sleep_does_not(void)
{
    return nanosleep(&nap, &left) < 0 && errno == EINTR && left.tv_nsec > 0;
}

static void waits_inside_handlers_leave_the_outer_one_alone(void)
{
    static bool (*const outer_waits[])(void) = { outer_read_goes_on, outer_sleep_does_not };

    for (unsigned i = 0; i < 2; i++) {
        bool kept;

        /* If the host stops the machine for as long as an alarm takes, it comes before its wait: again, with
         * more time. */
        alarm_us = ALARM_US;
        do {
            install(wait_inside, SA_RESTART | SA_NODEFER);
            hold_back();
            alarm_in(alarm_us);
            kept = outer_waits[i]();
            alarm_in(0);
            alarm_us *= 2;
        } while ((!kept || inner_error != EINTR || runs != 2) && alarm_us < ALARM_US << 5);
        PROMISE(inner_error == EINTR, "the inner wait: %d", inner_error);
        PROMISE(kept && runs == 2, "%s: %d, runs %d", i ? "a sleep does not go on" : "a read goes on", errno,
                (int)runs);
    }
}

/* ---- Masks of waits ---- */

static void count(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    runs++;
}

static int blocked(int signal)
{
    sigset_t mask;

    sigprocmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, signal);
}

static long masked_poll(const void *mask, const struct timespec *time, long list)
{
    struct timespec rest = *time; /* the call says what is left of it */

    return syscall(SYS_ppoll, list, list ? 1 : 0, &rest, mask, 8);
}

static long masked_select(const void *mask, const struct timespec *time, long sets)
{
    const struct {
        const void *mask;
        size_t bytes;
    } given = { mask, 8 };
    struct timespec rest = *time;

    return syscall(SYS_pselect6, sets ? 8 : 0, sets, NULL, NULL, &rest, &given);
}

static long masked_epoll(const void *mask, const struct timespec *time, long buffer)
{
    struct epoll_event event;

    return buffer ? syscall(SYS_epoll_pwait, input[0], buffer, 1, -1, mask, 8) /* no set */
                  : syscall(SYS_epoll_pwait, set, &event, 1, time->tv_nsec / NS_PER_MS, mask, 8);
}

static void masks_of_waits_are_atomic(void)
{
    static const struct {
        const char *name;
        long (*wait)(const void *mask, const struct timespec *time, long bad);
    } table[] = { { "ppoll", masked_poll }, { "pselect", masked_select }, { "epoll_pwait", masked_epoll } };
    const struct timespec time = { 0, 30 * NS_PER_MS };
    struct sigaction action = { .sa_sigaction = count, .sa_flags = SA_SIGINFO };
    sigset_t mask, none;

    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&none);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    hold_back();
    raise(SIGUSR1);
    PROMISE(syscall(SYS_rt_sigsuspend, &none, 8) < 0 && errno == EINTR && runs == 1 && blocked(SIGUSR1), "%d",
            (int)runs);
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        runs = 0;
        raise(SIGUSR1);
        PROMISE(table[i].wait(&none, &time, 0) < 0 && errno == EINTR && runs == 1,
                "%s: one that waits interrupts: %d", table[i].name, errno);
        PROMISE(blocked(SIGUSR1), "%s: the mask from before is back", table[i].name);
        PROMISE(table[i].wait(&none, &time, 0) == 0 && blocked(SIGUSR1), "%s: also where nothing came: %d",
                table[i].name, errno);
        raise(SIGUSR1);
        PROMISE(table[i].wait(&mask, &time, 0) == 0 && runs == 1 && blocked(SIGUSR1),
                "%s: a blocked one does not interrupt: %d", table[i].name, (int)runs);
        sigprocmask(SIG_UNBLOCK, &mask, NULL);
        PROMISE(runs == 2, "%d", (int)runs);
        PROMISE(table[i].wait(&mask, &time, 8) < 0 && errno != EINTR && !blocked(SIGUSR1),
                "%s: also where it fails: %d", table[i].name, errno);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        PROMISE(table[i].wait(&none, &time, 8) < 0 && errno != EINTR && blocked(SIGUSR1),
                "%s: also where it fails: %d", table[i].name, errno);
    }
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
}

/* ---- Standard input ---- */

/* Counts signals; from the third on the call does not begin again. */
static void thrice(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    if (++runs == 2)
        install(thrice, 0);
}

/* Waits for standard input. If the host stops the machine, an alarm may come before its wait; others follow,
 * so each wait ends. */
static void standard_input(void)
{
    char byte;

    install(thrice, SA_RESTART);
    alarm_every(ALARM_US);
    PROMISE(read(0, &byte, 1) < 0 && errno == EINTR && runs >= 3, "errno %d, runs %d", errno, (int)runs);
    struct pollfd entry = { 0, POLLIN, 0 };
    install(count, SA_RESTART);
    PROMISE(poll(&entry, 1, -1) < 0 && errno == EINTR && runs >= 4, "errno %d, runs %d", errno, (int)runs);
    alarm_every(0);
}

int main(int argc, char **argv)
{
    struct epoll_event event = { .events = EPOLLIN };
    char own[64];

    if (argc > 1 && !strcmp(argv[1], "stdin")) {
        standard_input();
        return promises_kept();
    }
    owned = memfd_create("owned", 0);
    snprintf(own, sizeof(own), "/proc/self/fd/%d", owned);
    contender = open(own, O_RDWR);
    if (contender < 0) { /* no such folder: a file with a name */
        owned = open("/tmp/owned", O_RDWR | O_CREAT, 0600);
        contender = open("/tmp/owned", O_RDWR);
        unlink("/tmp/owned");
    }
    events = eventfd(0, 0), set = epoll_create1(0);
    if (pipe(input) || pipe(full) || contender < 0 || events < 0 ||
        epoll_ctl(set, EPOLL_CTL_ADD, input[0], &event))
        return 70;
    interrupted_calls_end_as_on_linux();
    waits_inside_handlers_leave_the_outer_one_alone();
    masks_of_waits_are_atomic();
    return promises_kept();
}
