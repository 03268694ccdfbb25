/* SPDX-License-Identifier: BSD-2-Clause */
/* dup2.c: a second number of one's choice. */
#include "conform.h"

CONFORM(dup2)
{
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("to a free number", sys(SYS_dup2, file, 20));
    result("to one in use", sys(SYS_dup2, file, 0));
    result("which now is the file", sys(SYS_lseek, 0, 0, SEEK_END));
    result("to itself", sys(SYS_dup2, file, file));
    result("a closed one to itself", sys(SYS_dup2, 40, 40));
    result("a closed one", sys(SYS_dup2, 40, 20));
    result("to -1", sys(SYS_dup2, file, -1));
    result("beyond the table", sys(SYS_dup2, file, 1 << 30));
    sys(SYS_dup2, sys(SYS_open, "/dev/null", O_RDWR), 0);
}
