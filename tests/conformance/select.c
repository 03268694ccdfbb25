/* SPDX-License-Identifier: BSD-2-Clause */
/* select.c: sets of bits, and the time that is left. */
#include "conform.h"

#include <sys/select.h>

#ifdef SYS__newselect /* POWER: SYS_select is another call, of old programs */
#define SELECT SYS__newselect
#else
#define SELECT SYS_select
#endif

CONFORM(select)
{
    fd_set in, out;
    struct timeval t = { 0, 2000 };
    struct timespec ts = { 0, 1000000 };
    uint64_t begin = now_ns();

    result("none, 2 ms", sys(SELECT, 0, NULL, NULL, NULL, &t));
    holds("not before they are over", now_ns() - begin >= 2000000);
    result("no time is left", t.tv_sec * 1000000 + t.tv_usec);
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(0, &in);
    FD_SET(0, &out);
    result("/dev/null both ways", sys(SELECT, 1, &in, &out, NULL, NULL));
    holds("its bits", FD_ISSET(0, &in) && FD_ISSET(0, &out));
    FD_SET(40, &in);
    result("a closed descriptor", sys(SELECT, 41, &in, NULL, NULL, &t));
    result("fewer than none", sys(SELECT, -1, NULL, NULL, NULL, &t));
    result("a set at nobody's", sys(SELECT, 1, NOWHERE, NULL, NULL, &t));
    t.tv_usec = -1;
    result("no time at all", sys(SELECT, 0, NULL, NULL, NULL, &t));
    result("pselect6", sys(SYS_pselect6, 0, NULL, NULL, NULL, &ts, NULL));
    ts.tv_nsec = 1000000000;
    result("pselect6, no time at all", sys(SYS_pselect6, 0, NULL, NULL, NULL, &ts, NULL));
}
