/* SPDX-License-Identifier: BSD-2-Clause */
/* rt_sigprocmask.c: signals held back, and let in. */
#include "conform.h"

static volatile int times;

static void note(int number)
{
    times += number != 0;
}

CONFORM(rt_sigprocmask)
{
    uint64_t usr1 = 1UL << (SIGUSR1 - 1), mask = 0, all = UINT64_MAX;

    result("read back", sys(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SIGSET_BYTES));
    result("none", (long)mask);
    result("block", sys(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, &mask, SIGSET_BYTES));
    sys(SYS_rt_sigprocmask, 99, NULL, &mask, SIGSET_BYTES);
    holds("is blocked", mask == usr1);
    result("all", sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, SIGSET_BYTES));
    sys(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SIGSET_BYTES);
    holds("but SIGKILL and SIGSTOP", mask == ~(1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1)));
    result("no such way", sys(SYS_rt_sigprocmask, 99, &usr1, NULL, SIGSET_BYTES));
    result("another size", sys(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, 4));
    result("from nobody's memory", sys(SYS_rt_sigprocmask, SIG_BLOCK, NOWHERE, NULL, SIGSET_BYTES));
    result("to nobody's memory", sys(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NOWHERE, SIGSET_BYTES));
    signal(SIGUSR1, note);
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("held back", times);
    result("let in", sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &usr1, NULL, SIGSET_BYTES));
    result("came once", times);
}
