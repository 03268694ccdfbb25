/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_queue.c: real-time signals queue, in the order of their numbers and then of their coming; others
 * come once. */
#include "conform.h"

static volatile int order, times;

static void note(int number)
{
    order = order * 10 + number - SIGRTMIN;
    times++;
}

CONFORM(signal_queue)
{
    sigset_t all;

    signal(SIGRTMIN + 1, note);
    signal(SIGRTMIN + 2, note);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    sys(SYS_kill, sys(SYS_getpid), SIGRTMIN + 2);
    sys(SYS_kill, sys(SYS_getpid), SIGRTMIN + 1);
    sys(SYS_kill, sys(SYS_getpid), SIGRTMIN + 2);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    result("all of them", times);
    /* The last to be set up is the first to run: the lowest number's handler runs on top of the others. */
    result("in order", order);
}
