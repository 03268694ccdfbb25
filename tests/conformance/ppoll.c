/* SPDX-License-Identifier: BSD-2-Clause */
/* ppoll.c: poll by a timespec and with a mask. */
#include "conform.h"

CONFORM(ppoll)
{
    struct pollfd set[1] = { { 0, POLLIN, 0 } };
    struct timespec t = { 0, 2000000 };
    uint64_t mask = 0, begin = now_ns();

    result("none, 2 ms", sys(SYS_ppoll, NULL, 0, &t, NULL, SIGSET_BYTES));
    holds("not before they are over", now_ns() - begin >= 2000000);
    result("/dev/null", sys(SYS_ppoll, set, 1, NULL, NULL, SIGSET_BYTES));
    result("with a mask", sys(SYS_ppoll, set, 1, &t, &mask, SIGSET_BYTES));
    result("with a mask of another size", sys(SYS_ppoll, set, 1, &t, &mask, 4));
    result("a mask at nobody's", sys(SYS_ppoll, set, 1, &t, NOWHERE, SIGSET_BYTES));
    t.tv_nsec = -1;
    result("no time at all", sys(SYS_ppoll, set, 1, &t, NULL, SIGSET_BYTES));
    result("a time at nobody's", sys(SYS_ppoll, set, 1, NOWHERE, NULL, SIGSET_BYTES));
}
