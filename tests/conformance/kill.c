/* SPDX-License-Identifier: BSD-2-Clause */
/* kill.c: signals to processes and threads that there are, and are not. */
#include "conform.h"

static volatile int times;

static void note(int number)
{
    times += number != 0;
}

CONFORM(kill)
{
    long pid = sys(SYS_getpid), tid = sys(SYS_gettid);

    result("is it there", sys(SYS_kill, pid, 0));
    result("nobody", sys(SYS_kill, 4000000, 0));
    result("no such signal", sys(SYS_kill, pid, 65));
    result("signal -1", sys(SYS_kill, pid, -1));
    result("what is ignored by default", sys(SYS_kill, pid, SIGWINCH));
    result("tkill, is it there", sys(SYS_tkill, tid, 0));
    result("tkill, nobody", sys(SYS_tkill, 4000000, 0));
    result("tkill, number 0", sys(SYS_tkill, 0, 0));
    result("tkill, no such signal", sys(SYS_tkill, tid, 65));
    result("tgkill, is it there", sys(SYS_tgkill, pid, tid, 0));
    result("tgkill, another process's", sys(SYS_tgkill, 4000000, tid, 0));
    result("tgkill, number 0", sys(SYS_tgkill, pid, 0, 0));
    result("tgkill, process -1", sys(SYS_tgkill, -1, tid, 0));
    signal(SIGUSR1, note);
    if (signal(SIGUSR1, note) != note)
        return;
    sys(SYS_kill, pid, SIGUSR1);
    sys(SYS_kill, 0, SIGUSR1);
    sys(SYS_tkill, tid, SIGUSR1);
    sys(SYS_tgkill, pid, tid, SIGUSR1);
    result("all four came", times);
}
