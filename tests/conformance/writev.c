/* SPDX-License-Identifier: BSD-2-Clause */
/* writev.c: one write from several places. */
#include "conform.h"

CONFORM(writev)
{
    struct iovec parts[3] = { { "ab", 2 }, { NULL, 0 }, { "cde", 3 } };
    int null = (int)sys(SYS_open, "/dev/null", O_WRONLY);

    result("three places", sys(SYS_writev, null, parts, 3));
    result("no place", sys(SYS_writev, null, parts, 0));
    result("fewer than none", sys(SYS_writev, null, parts, -1));
    result("more than 1024", sys(SYS_writev, null, parts, 1025));
    result("a list at nobody's", sys(SYS_writev, null, NOWHERE, 1));
    result("opened to read", sys(SYS_writev, sys(SYS_open, TEXT, O_RDONLY), parts, 3));
    parts[1].iov_len = (size_t)-1;
    result("a length below 0", sys(SYS_writev, null, parts, 3));
    result("a closed descriptor", sys(SYS_writev, 40, parts, 1));
}
