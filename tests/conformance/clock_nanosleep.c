/* SPDX-License-Identifier: BSD-2-Clause */
/* clock_nanosleep.c: the same by a clock of one's choice, up to a time or for a time. */
#include "conform.h"

CONFORM(clock_nanosleep)
{
    struct timespec t;
    uint64_t until = now_ns() + 3000000;

    t = (struct timespec){ (time_t)(until / 1000000000), (long)(until % 1000000000) };
    result("up to a time", sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
    holds("not before it", now_ns() >= until);
    result("up to a time that is over", sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
    t = (struct timespec){ 0, 1000000 };
    result("by the real time", sys(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &t, NULL));
    result("by CLOCK_BOOTTIME", sys(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &t, NULL));
    result("by CLOCK_THREAD_CPUTIME_ID", sys(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &t, NULL));
    result("by CLOCK_MONOTONIC_RAW", sys(SYS_clock_nanosleep, CLOCK_MONOTONIC_RAW, 0, &t, NULL));
    result("by no clock", sys(SYS_clock_nanosleep, 99, 0, &t, NULL));
    t.tv_nsec = 1000000000;
    result("no time at all", sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL));
    result("a time at nobody's", sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, NOWHERE, NULL));
}
