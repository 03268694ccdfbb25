/* SPDX-License-Identifier: BSD-2-Clause */
/* eintr.c: a signal ends a wait with EINTR; with SA_RESTART those waits that can be begun again are
 * (signal(7)). */
#include "conform.h"

static volatile int times;
static volatile bool feeds;
static int ends[2];

/* In the last check the third signal feeds the pipe, so that a read that was begun again comes to an end. */
static void note(int number)
{
    times += number == SIGALRM;
    if (feeds && times == 3)
        sys(SYS_write, ends[1], "x", 1);
}

static void timer(long every_us)
{
    struct itimerval when = { { 0, every_us }, { 0, every_us } };

    times = 0;
    sys(SYS_setitimer, ITIMER_REAL, &when, NULL);
}

CONFORM(eintr)
{
    struct sigaction action = { .sa_handler = note };
    struct timespec t = { 100, 0 }, left = { 0, 0 }, ages = { 1L << 33, 0 };
    struct pollfd set;
    char byte;
    int word = 0;

    sys(SYS_pipe2, ends, 0);
    if (sigaction(SIGALRM, &action, NULL) != 0 || sys(SYS_setitimer, ITIMER_REAL, NULL, NULL) != 0) {
        holds("a handler and a timer", false);
        return;
    }
    set = (struct pollfd){ ends[0], POLLIN, 0 };
    timer(20000);
    result("nanosleep", sys(SYS_nanosleep, &t, &left));
    holds("what is left", left.tv_sec >= 95 && left.tv_sec <= 100);
    timer(20000);
    result("clock_nanosleep up to a time",
           sys(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &ages, NULL));
    timer(20000);
    result("poll", sys(SYS_poll, &set, 1, -1));
    timer(20000);
    result("futex", sys(SYS_futex, &word, FUTEX_WAIT, 0, &t));
    timer(20000);
    result("read of a pipe", sys(SYS_read, ends[0], &byte, 1));
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    timer(20000);
    result("poll, SA_RESTART", sys(SYS_poll, &set, 1, -1));
    timer(20000);
    result("nanosleep, SA_RESTART", sys(SYS_nanosleep, &t, &left));
    feeds = true;
    timer(20000);
    result("read of a pipe, SA_RESTART", sys(SYS_read, ends[0], &byte, 1));
    holds("after three signals", times >= 3);
    timer(0);
}
