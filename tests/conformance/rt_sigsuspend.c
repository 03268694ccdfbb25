/* SPDX-License-Identifier: BSD-2-Clause */
/* rt_sigsuspend.c: another mask and a wait in one step. */
#include "conform.h"

static volatile int times;

static void note(int number)
{
    times += number != 0;
}

CONFORM(rt_sigsuspend)
{
    uint64_t usr1 = 1UL << (SIGUSR1 - 1), none = 0, mask = 0;

    result("another size", sys(SYS_rt_sigsuspend, &none, 4));
    result("a mask at nobody's", sys(SYS_rt_sigsuspend, NOWHERE, SIGSET_BYTES));
    if (signal(SIGUSR1, note) == SIG_ERR)
        return;
    sys(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, SIGSET_BYTES);
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("not before it is let in", times);
    result("a signal that is there already", sys(SYS_rt_sigsuspend, &none, SIGSET_BYTES));
    result("came", times);
    sys(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SIGSET_BYTES);
    holds("the old mask again", mask == usr1);
}
