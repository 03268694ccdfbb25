/* SPDX-License-Identifier: BSD-2-Clause */
/* signalfd.c: signals that are read. */
#include "conform.h"

#include <sys/signalfd.h>

CONFORM(signalfd)
{
    uint64_t mask = 1UL << (SIGUSR1 - 1);
    struct signalfd_siginfo info;
    int file;

    sys(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, SIGSET_BYTES);
    file = (int)sys(SYS_signalfd4, -1, &mask, SIGSET_BYTES, SFD_NONBLOCK);
    result("made", file);
    if (file < 0)
        return;
    result("none pending", sys(SYS_read, file, &info, sizeof(info)));
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("read", sys(SYS_read, file, &info, sizeof(info)));
    result("the signal", info.ssi_signo);
    result("its code", info.ssi_code);
    result("a size that is none", sys(SYS_signalfd4, -1, &mask, 4, 0));
}
