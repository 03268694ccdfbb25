/* SPDX-License-Identifier: BSD-2-Clause */
/* rt_sigtimedwait.c: a signal that is taken, not handled. */
#include "conform.h"

CONFORM(rt_sigtimedwait)
{
    uint64_t set = 1UL << (SIGUSR1 - 1) | 1UL << (SIGUSR2 - 1);
    struct timespec t = { 0, 3000000 };
    siginfo_t info, sent;
    uint64_t begin;

    sys(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, SIGSET_BYTES);
    begin = now_ns();
    result("none comes", sys(SYS_rt_sigtimedwait, &set, &info, &t, SIGSET_BYTES));
    holds("not before the time is over", now_ns() - begin >= 3000000);
    sys(SYS_kill, sys(SYS_getpid), SIGUSR2);
    result("one is there", sys(SYS_rt_sigtimedwait, &set, &info, &t, SIGSET_BYTES));
    result("its code", info.si_code);
    memset(&sent, 0, sizeof(sent));
    sent.si_code = SI_QUEUE;
    sent.si_value.sival_int = 77;
    result("with a value", sys(SYS_rt_sigqueueinfo, sys(SYS_getpid), SIGUSR1, &sent));
    result("is taken", sys(SYS_rt_sigtimedwait, &set, &info, NULL, SIGSET_BYTES));
    result("its value", info.si_value.sival_int);
    result("another size", sys(SYS_rt_sigtimedwait, &set, &info, &t, 4));
    result("a set at nobody's", sys(SYS_rt_sigtimedwait, NOWHERE, &info, &t, SIGSET_BYTES));
    t.tv_nsec = -1;
    result("no time at all", sys(SYS_rt_sigtimedwait, &set, &info, &t, SIGSET_BYTES));
    result("queue to nobody", sys(SYS_rt_sigqueueinfo, 4000000, SIGUSR1, &sent));
    result("queue from nobody's memory", sys(SYS_rt_sigqueueinfo, sys(SYS_getpid), SIGUSR1, NOWHERE));
}
