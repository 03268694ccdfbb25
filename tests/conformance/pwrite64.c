/* SPDX-License-Identifier: BSD-2-Clause */
/* pwrite64.c: write at a place, the offset stays; with O_APPEND the place does not count (pwrite(2),
 * BUGS). */
#include "conform.h"

CONFORM(pwrite64)
{
    char bytes[32];
    int file, appending;

    if (!in_tmp())
        return;
    file = file_made("file", "0123456789");
    result("in the middle", sys(SYS_pwrite64, file, "ab", 2, 4));
    result("the offset has stayed", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("before the beginning", sys(SYS_pwrite64, file, "ab", 2, -1));
    result("from nobody's memory", sys(SYS_pwrite64, file, NOWHERE, 2, 0));
    result("a closed descriptor", sys(SYS_pwrite64, 40, "ab", 2, 0));
    result("opened to read", sys(SYS_pwrite64, sys(SYS_open, "file", O_RDONLY), "ab", 2, 0));
    appending = (int)sys(SYS_open, "file", O_WRONLY | O_APPEND);
    result("appending, at 0", sys(SYS_pwrite64, appending, "yz", 2, 0));
    result("all of it", sys(SYS_pread64, file, bytes, 32, 0));
    holds("as written", memcmp(bytes, "0123ab6789yz", 12) == 0);
}
