/* SPDX-License-Identifier: BSD-2-Clause */
/* rt_sigpending.c: what has come and is held back. */
#include "conform.h"

CONFORM(rt_sigpending)
{
    uint64_t usr1 = 1UL << (SIGUSR1 - 1), pending = 9;

    sys(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, SIGSET_BYTES);
    result("read", sys(SYS_rt_sigpending, &pending, SIGSET_BYTES));
    result("none", (long)pending);
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    sys(SYS_rt_sigpending, &pending, SIGSET_BYTES);
    holds("one", pending == usr1);
    result("too large a size", sys(SYS_rt_sigpending, &pending, 16));
    result("to nobody's memory", sys(SYS_rt_sigpending, NOWHERE, SIGSET_BYTES));
    signal(SIGUSR1, SIG_IGN);
    sys(SYS_rt_sigpending, &pending, SIGSET_BYTES);
    result("ignoring it takes it away", (long)pending);
}
