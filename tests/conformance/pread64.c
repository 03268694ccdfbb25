/* SPDX-License-Identifier: BSD-2-Clause */
/* pread64.c: read at a place, the offset stays. */
#include "conform.h"

CONFORM(pread64)
{
    char bytes[32];
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("the second line", sys(SYS_pread64, file, bytes, 6, 6));
    holds("is it", memcmp(bytes, "second", 6) == 0);
    result("the offset has stayed", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("over the end", sys(SYS_pread64, file, bytes, 32, 15));
    result("beyond the end", sys(SYS_pread64, file, bytes, 32, 1000));
    result("before the beginning", sys(SYS_pread64, file, bytes, 1, -1));
    result("nothing", sys(SYS_pread64, file, bytes, 0, 0));
    result("to nobody's memory", sys(SYS_pread64, file, NOWHERE, 4, 0));
    result("a closed descriptor", sys(SYS_pread64, 40, bytes, 4, 0));
    result("a folder", sys(SYS_pread64, sys(SYS_open, DATA, O_RDONLY), bytes, 4, 0));
}
