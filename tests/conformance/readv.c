/* SPDX-License-Identifier: BSD-2-Clause */
/* readv.c: one read into several places. */
#include "conform.h"

CONFORM(readv)
{
    char a[4], b[8];
    struct iovec parts[3] = { { a, 3 }, { NULL, 0 }, { b, 8 } };
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("three places", sys(SYS_readv, file, parts, 3));
    holds("filled in order", memcmp(a, "fir", 3) == 0 && memcmp(b, "st\nsecon", 8) == 0);
    result("no place", sys(SYS_readv, file, parts, 0));
    result("fewer than none", sys(SYS_readv, file, parts, -1));
    result("more than 1024", sys(SYS_readv, file, parts, 1025));
    result("a list at nobody's", sys(SYS_readv, file, NOWHERE, 1));
    parts[2].iov_base = NOWHERE;
    result("the last place is nobody's", sys(SYS_readv, file, parts, 3));
    result("what was read counts", sys(SYS_lseek, file, 0, SEEK_CUR));
    parts[0].iov_len = (size_t)-1;
    result("a length below 0", sys(SYS_readv, file, parts, 1));
    result("a closed descriptor", sys(SYS_readv, 40, parts, 1));
}
