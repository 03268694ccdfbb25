/* SPDX-License-Identifier: BSD-2-Clause */
/* timerfd.c: a timer that is read. */
#include "conform.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* Sets a timer to times in ns. */
static long set(int timer, int flags, uint64_t value, uint64_t interval, struct itimerspec *old)
{
    struct itimerspec when = { { (time_t)(interval / 1000000000), (long)(interval % 1000000000) },
                               { (time_t)(value / 1000000000), (long)(value % 1000000000) } };

    return sys(SYS_timerfd_settime, timer, flags, &when, old);
}

static void *later_set(void *timer)
{
    rest_ms(3);
    set(*(int *)timer, 0, 1000000, 0, NULL);
    return NULL;
}

/* A thread that waits notices when another sets the timer. */
static void set_while_awaited(int timer)
{
    uint64_t times = 0;
    pthread_t thread;

    set(timer, 0, 0, 0, NULL);
    pthread_create(&thread, NULL, later_set, &timer);
    result("set while another thread reads", sys(SYS_read, timer, &times, 8));
    pthread_join(thread, NULL);
    set(timer, 0, 0, 0, NULL);
    pthread_create(&thread, NULL, later_set, &timer);
    struct pollfd ready = { timer, POLLIN, 0 };
    result("set while another thread polls", sys(SYS_poll, &ready, 1, -1));
    pthread_join(thread, NULL);
}

static void absolute(void)
{
    int timer = (int)sys(SYS_timerfd_create, CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    struct pollfd ready = { timer, POLLIN, 0 };
    struct itimerspec left;
    struct timespec now;
    uint64_t times = 0;

    result("its flags", sys(SYS_fcntl, timer, F_GETFL) & ~O_LARGEFILE);
    result("closed on exec", sys(SYS_fcntl, timer, F_GETFD));
    sys(SYS_clock_gettime, CLOCK_REALTIME, &now);
    result("at a time", set(timer, TFD_TIMER_ABSTIME, ns_of(&now) + 3000000, 0, NULL));
    result("polled until then", sys(SYS_poll, &ready, 1, -1));
    uint64_t at = ns_of(&now) + 3000000;
    sys(SYS_clock_gettime, CLOCK_REALTIME, &now);
    holds("not before it", ns_of(&now) >= at);
    sys(SYS_timerfd_gettime, timer, &left);
    holds("nothing is left", ns_of(&left.it_value) == 0);
    result("once", sys(SYS_read, timer, &times, 8));
    result("and no more", sys(SYS_read, timer, &times, 8));
    result("in the past, every second",
           set(timer, TFD_TIMER_ABSTIME, ns_of(&now) - 10500000000, 1000000000, NULL));
    rest_ms(2);
    sys(SYS_read, timer, &times, 8);
    holds("all that were missed", times == 11);
    sys(SYS_timerfd_gettime, timer, &left);
    holds("the next one", ns_of(&left.it_value) > 300000000 && ns_of(&left.it_value) <= 500000000);
    result("cancelled by steps",
           set(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, ~0ULL >> 2, 0, &left));
    holds("what it was before", ns_of(&left.it_interval) == 1000000000);
    result("no step", sys(SYS_read, timer, &times, 8));
    result("in 3 s, then every ns", set(timer, 0, 3000000000, 1, NULL));
    sys(SYS_timerfd_gettime, timer, &left);
    holds("most of it is left", ns_of(&left.it_value) > 1000000000 && ns_of(&left.it_interval) == 1);
}

static void edges(void)
{
    int timer = (int)sys(SYS_timerfd_create, CLOCK_BOOTTIME, TFD_NONBLOCK),
        set_of = (int)sys(SYS_epoll_create1, 0);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    uint64_t times;

    sys(SYS_epoll_ctl, set_of, EPOLL_CTL_ADD, timer, &event);
    set(timer, 0, 1000000, 1000000, NULL);
    result("an edge", sys(SYS_epoll_pwait, set_of, &event, 1, -1, NULL, SIGSET_BYTES));
    rest_ms(5);
    result("none for those that were not read",
           sys(SYS_epoll_pwait, set_of, &event, 1, 0, NULL, SIGSET_BYTES));
    sys(SYS_read, timer, &times, 8);
    rest_ms(5);
    result("another after a read", sys(SYS_epoll_pwait, set_of, &event, 1, 0, NULL, SIGSET_BYTES));
    set(timer, 0, 1000000, 0, NULL);
    result("and after it was set again", sys(SYS_epoll_pwait, set_of, &event, 1, -1, NULL, SIGSET_BYTES));
}

CONFORM(timerfd)
{
    struct itimerspec when = { { 0, 2000000 }, { 0, 2000000 } }, now;
    uint64_t times = 0, begin = now_ns();
    int timer = (int)sys(SYS_timerfd_create, CLOCK_MONOTONIC, 0);
    struct pollfd ready = { timer, POLLIN | POLLOUT, 0 };
    char name[64] = "";

    result("made", timer);
    if (timer < 0)
        return;
    result("never set, polled", sys(SYS_poll, &ready, 1, 0));
    sys(SYS_timerfd_gettime, timer, &now);
    holds("never set", ns_of(&now.it_value) == 0 && ns_of(&now.it_interval) == 0);
    result("set", sys(SYS_timerfd_settime, timer, 0, &when, NULL));
    result("get", sys(SYS_timerfd_gettime, timer, &now));
    holds("what is left is no more", now.it_interval.tv_nsec == 2000000 && now.it_value.tv_nsec <= 2000000);
    result("read waits", sys(SYS_read, timer, &times, 8));
    holds("not before it is over", now_ns() - begin >= 2000000 && times >= 1);
    rest_ms(7);
    sys(SYS_read, timer, &times, 8);
    holds("counts what was missed", times >= 3);
    rest_ms(3);
    result("polled", sys(SYS_poll, &ready, 1, -1));
    result("for", ready.revents);
    result("read 4 bytes", sys(SYS_read, timer, &times, 4));
    result("write", sys(SYS_write, timer, &times, 8));
    result("read to nobody's", sys(SYS_read, timer, NOWHERE, 8));
    when = (struct itimerspec){ { 0, 0 }, { 0, 0 } };
    result("off", sys(SYS_timerfd_settime, timer, 0, &when, &now));
    holds("what it was", now.it_interval.tv_nsec == 2000000);
    set_while_awaited(timer);
    sys(SYS_fcntl, timer, F_SETFL, O_NONBLOCK);
    set(timer, 0, 0, 0, NULL);
    result("read, off", sys(SYS_read, timer, &times, 8));
    sys(SYS_readlink, "/proc/self/fd/3", name, sizeof(name) - 1);
    text("where the link leads", name);
    absolute();
    edges();
    when.it_value.tv_nsec = 1000000000;
    result("no time at all", sys(SYS_timerfd_settime, timer, 0, &when, NULL));
    when = (struct itimerspec){ { -1, 0 }, { 1, 0 } };
    result("a negative interval", sys(SYS_timerfd_settime, timer, 0, &when, NULL));
    when = (struct itimerspec){ { 0, 0 }, { LONG_MAX, 0 } };
    result("the longest", sys(SYS_timerfd_settime, timer, 0, &when, NULL));
    sys(SYS_timerfd_gettime, timer, &now);
    holds("almost all of it is left", now.it_value.tv_sec >= 9000000000 && now.it_value.tv_sec < 9300000000);
    result("at nobody's", sys(SYS_timerfd_settime, timer, 0, NOWHERE, NULL));
    result("no such flags", sys(SYS_timerfd_settime, timer, 4, &when, NULL));
    result("no such clock", sys(SYS_timerfd_create, 99, 0));
    result("of the process's CPU time", sys(SYS_timerfd_create, CLOCK_PROCESS_CPUTIME_ID, 0));
    result("no such flag", sys(SYS_timerfd_create, CLOCK_MONOTONIC, 1));
    result("of what is none", sys(SYS_timerfd_gettime, 0, &now));
    result("set what is none", sys(SYS_timerfd_settime, 0, 0, &when, NULL));
    result("set a closed one", sys(SYS_timerfd_settime, 40, 0, &when, NULL));
}
