/* SPDX-License-Identifier: BSD-2-Clause */
/* nanosleep.c: never too short, and only for a time that is one. */
#include "conform.h"

CONFORM(nanosleep)
{
    struct timespec t = { 0, 3000000 }, left = { 7, 7 };
    uint64_t begin = now_ns();

    result("3 ms", sys(SYS_nanosleep, &t, &left));
    holds("not before they are over", now_ns() - begin >= 3000000);
    holds("nothing was left, so nothing written", left.tv_sec == 7);
    t = (struct timespec){ 0, 0 };
    result("no time", sys(SYS_nanosleep, &t, NULL));
    t = (struct timespec){ 0, 1000000000 };
    result("a thousand million nanoseconds", sys(SYS_nanosleep, &t, NULL));
    t = (struct timespec){ 0, -1 };
    result("nanoseconds below 0", sys(SYS_nanosleep, &t, NULL));
    t = (struct timespec){ -1, 0 };
    result("seconds below 0", sys(SYS_nanosleep, &t, NULL));
    result("a time at nobody's", sys(SYS_nanosleep, NOWHERE, NULL));
}
