/* SPDX-License-Identifier: BSD-2-Clause */
/* poll.c: which descriptors are ready, within a time. */
#include "conform.h"

CONFORM(poll)
{
    struct pollfd set[2] = { { 0, POLLIN | POLLOUT, 99 }, { 40, POLLIN, 99 } };
    uint64_t begin = now_ns();

    result("none, 3 ms", sys(SYS_poll, NULL, 0, 3));
    holds("not before they are over", now_ns() - begin >= 3000000);
    result("/dev/null", sys(SYS_poll, set, 1, -1));
    result("its events", set[0].revents);
    result("and a closed one", sys(SYS_poll, set, 2, 0));
    result("events of the closed", set[1].revents);
    set[1].fd = -1;
    set[1].revents = 99;
    result("a number below 0 is passed over", sys(SYS_poll, set, 2, 0));
    result("and has no events", set[1].revents);
    set[0] = (struct pollfd){ (int)sys(SYS_open, TEXT, O_RDONLY), POLLIN, 0 };
    result("a file", sys(SYS_poll, set, 1, 0));
    set[0] = (struct pollfd){ 1, POLLOUT, 0 };
    result("standard output", sys(SYS_poll, set, 1, 100));
    result("a list at nobody's", sys(SYS_poll, NOWHERE, 1, 0));
    result("more than there can be", sys(SYS_poll, set, 1UL << 30, 0));
}
