/* SPDX-License-Identifier: BSD-2-Clause */
/* vector_pipe.c: a write from several places, or a read into several, is one operation of a pipe. */
#include "conform.h"

CONFORM(vector_pipe)
{
    static char block[1 << 20]; /* as much as any holds, or more */
    char a[4], b[4];
    struct iovec two[2] = { { "abcd", 4 }, { "ef", 2 } }, places[2] = { { a, 4 }, { b, 4 } };
    struct iovec large[2] = { { block, PAGE - 2096 }, { block, 2000 } },
                 small[2] = { { block, 60 }, { block, 60 } };
    struct iovec broken[2] = { { block, 10 }, { NOWHERE, 10 } };
    int ends[2] = { -1, -1 };

    sys(SYS_pipe2, ends, 0);
    result("two places", sys(SYS_writev, ends[1], two, 2));
    result("what is there comes at once", sys(SYS_readv, ends[0], places, 2));
    holds("in order", memcmp(a, "abcd", 4) == 0 && memcmp(b, "ef", 2) == 0);
    result("one place's worth", sys(SYS_write, ends[1], "1234", 4));
    result("the second place waits for nothing", sys(SYS_readv, ends[0], places, 2));
    sys(SYS_fcntl, ends[1], F_SETFL, O_NONBLOCK);
    holds("all that fits",
          sys(SYS_write, ends[1], block, sizeof(block)) == sys(SYS_fcntl, ends[1], F_GETPIPE_SZ));
    holds("a page is read", sys(SYS_read, ends[0], block, PAGE) == (long)PAGE);
    holds("room for both", sys(SYS_writev, ends[1], large, 2) == (long)PAGE - 96);
    result("room for one of two", sys(SYS_writev, ends[1], small, 2));
    while (sys(SYS_read, ends[0], block, sizeof(block)) == sizeof(block))
        ;
    result("nobody's place", sys(SYS_writev, ends[1], &broken[1], 1));
    broken[1].iov_base = KERNEL_SIDE;
    result("the kernel's place, of two", sys(SYS_writev, ends[1], broken, 2));
}
