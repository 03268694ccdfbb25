/* SPDX-License-Identifier: BSD-2-Clause */
/* clocks.c: what the clocks say, in order, and which there are. */
#include "conform.h"

CONFORM(clocks)
{
    struct timespec a, b;
    struct timeval tv;
    long t = 0;

    result("CLOCK_REALTIME", sys(SYS_clock_gettime, CLOCK_REALTIME, &a));
    holds("nanoseconds below a second", a.tv_nsec >= 0 && a.tv_nsec < 1000000000);
    result("CLOCK_MONOTONIC", sys(SYS_clock_gettime, CLOCK_MONOTONIC, &a));
    rest_ms(2);
    sys(SYS_clock_gettime, CLOCK_MONOTONIC, &b);
    holds("goes on", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >= 2000000);
    for (int clock = 2; clock <= 7; clock++) {
        char name[32];

        snprintf(name, sizeof(name), "clock %d", clock);
        result(name, sys(SYS_clock_gettime, clock, &a));
    }
    result("CLOCK_TAI", sys(SYS_clock_gettime, CLOCK_TAI, &a));
    result("no such clock", sys(SYS_clock_gettime, 99, &a));
    result("clock -1", sys(SYS_clock_gettime, -1, &a));
    result("to nobody's memory", sys(SYS_clock_gettime, CLOCK_MONOTONIC, NOWHERE));
    result("to read-only memory", sys(SYS_clock_gettime, CLOCK_MONOTONIC, read_only()));
    result("the resolution", sys(SYS_clock_getres, CLOCK_MONOTONIC, &a));
    result("is a nanosecond", a.tv_sec * 1000000000 + a.tv_nsec);
    result("the resolution, to nowhere", sys(SYS_clock_getres, CLOCK_MONOTONIC, NULL));
    result("the resolution of no clock", sys(SYS_clock_getres, 99, &a));
    result("gettimeofday", sys(SYS_gettimeofday, &tv, NULL));
    sys(SYS_clock_gettime, CLOCK_REALTIME, &a);
    holds("is the real time", a.tv_sec - tv.tv_sec >= 0 && a.tv_sec - tv.tv_sec <= 60);
    result("gettimeofday to nobody's memory", sys(SYS_gettimeofday, NOWHERE, NULL));
    result("gettimeofday that asks nothing", sys(SYS_gettimeofday, NULL, NULL));
    holds("time is the same", sys(SYS_time, &t) == t && t - tv.tv_sec <= 60);
    result("time to nobody's memory", sys(SYS_time, NOWHERE));
    result("set the real time from nobody's memory", sys(SYS_clock_settime, CLOCK_REALTIME, NOWHERE));
    result("set the monotonic clock", sys(SYS_clock_settime, CLOCK_MONOTONIC, &a));
}
