/* SPDX-License-Identifier: BSD-2-Clause */
/* setitimer.c: a timer that sends SIGALRM, once or again and again; alarm, which is the same in seconds. */
#include "conform.h"

static volatile int times;

static void note(int number)
{
    times += number == SIGALRM;
}

CONFORM(setitimer)
{
    struct itimerval when = { { 0, 2000 }, { 0, 2000 } }, old;
    uint64_t begin;
    long left;

    result("read back", sys(SYS_getitimer, ITIMER_REAL, &old));
    result("off", old.it_value.tv_sec * 1000000 + old.it_value.tv_usec);
    if (signal(SIGALRM, note) == SIG_ERR)
        return;
    result("every 2 ms", sys(SYS_setitimer, ITIMER_REAL, &when, NULL));
    while (times < 3 && sys(SYS_pause) == -EINTR)
        ;
    holds("came three times", times >= 3);
    when = (struct itimerval){ { 0, 0 }, { 0, 0 } };
    result("off again", sys(SYS_setitimer, ITIMER_REAL, &when, &old));
    result("what it was", old.it_interval.tv_usec);
    result("alarm", sys(SYS_alarm, 100));
    /* once more if the host paused for longer than what is rounded off */
    do {
        begin = now_ns();
        sys(SYS_alarm, 100);
        left = sys(SYS_alarm, 0);
    } while (now_ns() - begin > 300000000);
    result("what was left, rounded", left);
    when.it_value.tv_usec = 1000000;
    result("no time at all", sys(SYS_setitimer, ITIMER_REAL, &when, NULL));
    result("no such timer", sys(SYS_setitimer, 9, &when, NULL));
    result("from nobody's memory", sys(SYS_setitimer, ITIMER_REAL, NOWHERE, NULL));
    result("to nobody's memory", sys(SYS_getitimer, ITIMER_REAL, NOWHERE));
    result("no such timer read", sys(SYS_getitimer, 9, &old));
}
