/* SPDX-License-Identifier: BSD-2-Clause */
/* dup3.c: dup2 that can set FD_CLOEXEC and does not take a number for itself. */
#include "conform.h"

CONFORM(dup3)
{
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("plain", sys(SYS_dup3, file, 20, 0));
    result("without FD_CLOEXEC", sys(SYS_fcntl, 20, F_GETFD));
    result("with O_CLOEXEC", sys(SYS_dup3, file, 20, O_CLOEXEC));
    result("with FD_CLOEXEC", sys(SYS_fcntl, 20, F_GETFD));
    result("to itself", sys(SYS_dup3, file, file, 0));
    result("another flag", sys(SYS_dup3, file, 20, O_NONBLOCK));
    result("a closed one", sys(SYS_dup3, 40, 20, 0));
    result("to -1", sys(SYS_dup3, file, -1, 0));
}
