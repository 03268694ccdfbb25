/* SPDX-License-Identifier: BSD-2-Clause */
/* msync.c: a map written back; here there is no disk, only the arguments' rules. */
#include "conform.h"

CONFORM(msync)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    result("MS_SYNC", sys(SYS_msync, place, 2 * PAGE, MS_SYNC));
    result("MS_ASYNC", sys(SYS_msync, place, 2 * PAGE, MS_ASYNC));
    result("both", sys(SYS_msync, place, 2 * PAGE, MS_SYNC | MS_ASYNC));
    result("a flag that there is not", sys(SYS_msync, place, 2 * PAGE, 64));
    result("not at a page", sys(SYS_msync, place + 1, PAGE, MS_SYNC));
    result("no length", sys(SYS_msync, place, 0, MS_SYNC));
    result("nobody's memory", sys(SYS_msync, 0x10000, PAGE, MS_SYNC));
}
