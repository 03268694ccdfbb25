/* SPDX-License-Identifier: BSD-2-Clause */
/* fstat.c: what a descriptor is. */
#include "conform.h"

CONFORM(fstat)
{
    struct stat status, same;
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("a file", sys(SYS_fstat, file, &status));
    result("its size", status.st_size);
    sys(SYS_stat, TEXT, &same);
    holds("the same file as by its name", status.st_ino == same.st_ino && status.st_dev == same.st_dev);
    result("/dev/null", sys(SYS_fstat, 0, &status));
    holds("a device of characters", S_ISCHR(status.st_mode));
    result("a path alone", sys(SYS_fstat, sys(SYS_open, TEXT, O_PATH), &status));
    result("a closed descriptor", sys(SYS_fstat, 40, &status));
    result("into nobody's memory", sys(SYS_fstat, file, NOWHERE));
}
