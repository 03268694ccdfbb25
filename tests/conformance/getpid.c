/* SPDX-License-Identifier: BSD-2-Clause */
/* getpid.c: numbers of the process and of the thread, which for the first thread are one. */
#include "conform.h"

CONFORM(getpid)
{
    long pid = sys(SYS_getpid);

    holds("a number", pid > 0);
    holds("always the same", sys(SYS_getpid) == pid);
    holds("that of the first thread", sys(SYS_gettid) == pid);
    holds("a parent's, or 0", sys(SYS_getppid) >= 0);
    result("a group", sys(SYS_getpgid, 0) < 0);
    result("a session", sys(SYS_getsid, 0) < 0);
    holds("getpgrp is getpgid", sys(SYS_getpgrp) == sys(SYS_getpgid, 0));
    result("the group of nobody", sys(SYS_getpgid, 4000000));
    result("the group of -1", sys(SYS_getpgid, -1));
}
