/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_threads.c: a signal to one thread comes to that thread; masks are each thread's own. */
#include "conform.h"

static volatile int phase;
static volatile long handled_by;
static long thread_number;

static void note(int number)
{
    handled_by = number ? sys(SYS_gettid) : 0;
}

static void *other(void *unused)
{
    sigset_t mask;

    thread_number = sys(SYS_gettid);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    phase = sigismember(&mask, SIGUSR2) ? 2 : 1;
    while (phase != 3)
        sched_yield();
    return unused;
}

CONFORM(signal_threads)
{
    sigset_t mask;
    pthread_t thread;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    signal(SIGUSR1, note);
    signal(SIGUSR2, note);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    phase = 0;
    if (pthread_create(&thread, NULL, other, NULL) != 0) {
        holds("a thread", false);
        return;
    }
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    while (phase == 0)
        rest_ms(1);
    result("a thread begins with its maker's mask", phase == 2);
    handled_by = 0;
    result("a signal to the thread", sys(SYS_tgkill, sys(SYS_getpid), thread_number, SIGUSR1));
    for (int i = 0; i < 10000 && handled_by == 0; i++)
        rest_ms(1);
    holds("comes to it, while it computes", handled_by == thread_number);
    handled_by = 0;
    sys(SYS_kill, sys(SYS_getpid), SIGUSR2);
    for (int i = 0; i < 10000 && handled_by == 0; i++)
        rest_ms(1);
    holds("what it blocks comes to the other", handled_by == sys(SYS_gettid));
    phase = 3;
    pthread_join(thread, NULL);
}
