/* SPDX-License-Identifier: BSD-2-Clause */
/* lseek.c: where the next byte comes from. */
#include "conform.h"

CONFORM(lseek)
{
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("set", sys(SYS_lseek, file, 5, SEEK_SET));
    result("from here", sys(SYS_lseek, file, -2, SEEK_CUR));
    result("from the end", sys(SYS_lseek, file, -1, SEEK_END));
    result("beyond the end", sys(SYS_lseek, file, 100, SEEK_END));
    result("before the beginning", sys(SYS_lseek, file, -1, SEEK_SET));
    result("it has stayed", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("beyond all numbers", sys(SYS_lseek, file, INT64_MAX, SEEK_CUR));
    result("no such way", sys(SYS_lseek, file, 0, 9));
    result("the next data", sys(SYS_lseek, file, 3, SEEK_DATA));
    result("the next hole", sys(SYS_lseek, file, 3, SEEK_HOLE));
    result("data beyond the end", sys(SYS_lseek, file, 1000, SEEK_DATA));
    result("a closed descriptor", sys(SYS_lseek, 40, 0, SEEK_SET));
    result("/dev/null", sys(SYS_lseek, 0, 7, SEEK_SET));
    result("a folder", sys(SYS_lseek, sys(SYS_open, DATA, O_RDONLY), 0, SEEK_SET));
    result("a path alone", sys(SYS_lseek, sys(SYS_open, TEXT, O_PATH), 0, SEEK_SET));
}
