/* SPDX-License-Identifier: BSD-2-Clause */
/* preadv.c: readv and writev at a place; version 2 takes -1 for the offset of the descriptor. */
#include "conform.h"

CONFORM(preadv)
{
    char a[4], b[4];
    struct iovec to[2] = { { a, 4 }, { b, 4 } }, from[2] = { { "AB", 2 }, { "CD", 2 } };
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "0123456789");
    result("preadv", sys(SYS_preadv, file, to, 2, 1, 0));
    holds("its bytes", memcmp(a, "1234", 4) == 0 && memcmp(b, "5678", 4) == 0);
    result("pwritev", sys(SYS_pwritev, file, from, 2, 3, 0));
    result("the offset has stayed", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("preadv2 at the offset", sys(SYS_preadv2, file, to, 2, -1, -1, 0));
    holds("has the new bytes", memcmp(a, "012A", 4) == 0 && memcmp(b, "BCD7", 4) == 0);
    result("the offset has moved", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("before the beginning", sys(SYS_preadv, file, to, 2, -1, -1));
    result("a flag that there is not", sys(SYS_preadv2, file, to, 2, 0, 0, 1 << 20));
    result("a closed descriptor", sys(SYS_preadv, 40, to, 2, 0, 0));
}
