/* SPDX-License-Identifier: BSD-2-Clause */
/* dup.c: a second number for the same open file. */
#include "conform.h"

CONFORM(dup)
{
    int file = (int)sys(SYS_open, TEXT, O_RDONLY | O_CLOEXEC);
    int second = (int)sys(SYS_dup, file);

    result("the lowest number", second);
    sys(SYS_lseek, file, 5, SEEK_SET);
    result("one offset for both", sys(SYS_lseek, second, 0, SEEK_CUR));
    result("without FD_CLOEXEC", sys(SYS_fcntl, second, F_GETFD));
    sys(SYS_close, file);
    result("stays open without the first", sys(SYS_lseek, second, 0, SEEK_CUR));
    result("a closed descriptor", sys(SYS_dup, file));
    result("-1", sys(SYS_dup, -1));
}
