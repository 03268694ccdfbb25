/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clocks.c: every clock goes forward, all agree with each other and with the TSC at the rate that the node
 * reports. Prints the node's rate in Hz, and the time of day at the start in seconds since 1970.
 */
#include "promise.h"

#include <errno.h>
#include <stdint.h>
#include <sys/time.h>
#include <tacet.h>
#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec time = { 0, -1 };

    if (clock_gettime(clock, &time))
        return -1;
    return time.tv_nsec < 0 || time.tv_nsec > 999999999 ? -1 : time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint64_t ticks(void)
{
    uint32_t low, high;

    __asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

int main(void)
{
    static const clockid_t clocks[] = { CLOCK_REALTIME,           CLOCK_MONOTONIC,
                                        CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
                                        CLOCK_MONOTONIC_RAW,      CLOCK_REALTIME_COARSE,
                                        CLOCK_MONOTONIC_COARSE,   CLOCK_BOOTTIME };
    const struct tacet_node *node = tacet_node();
    struct timespec resolution;
    struct timeval day;

    for (unsigned c = 0; c < sizeof(clocks) / sizeof(clocks[0]); c++) {
        int64_t last = read_ns(clocks[c]), begun = last;
        unsigned backwards = 0;

        PROMISE(last >= 0, "clock %d", clocks[c]);
        for (int i = 0; i < 5000; i++) {
            int64_t now = read_ns(clocks[c]);

            backwards += now < last;
            last = now;
        }
        PROMISE(backwards == 0, "clock %d went back %u times", clocks[c], backwards);
        PROMISE(last > begun, "clock %d moved", clocks[c]);
        PROMISE(clock_getres(clocks[c], &resolution) == 0 && resolution.tv_sec == 0 &&
                    resolution.tv_nsec >= 1,
                "its resolution");
    }
    errno = 0;
    PROMISE(clock_gettime(99, &resolution) == -1 && errno == EINVAL, "no such clock, errno %d", errno);

    /* 20 ms of the monotonic clock are 20 ms of the TSC. */
    int64_t start = read_ns(CLOCK_MONOTONIC), end;
    int64_t day_start = read_ns(CLOCK_REALTIME);
    uint64_t from = ticks();
    do
        end = read_ns(CLOCK_MONOTONIC);
    while (end - start < 20000000);
    uint64_t passed = ticks() - from;
    double expected = (double)(end - start) * (double)(node ? node->clock_hz : 0) / 1e9;
    PROMISE((double)passed > expected * 0.9 && (double)passed < expected * 1.1,
            "%lu ticks in %ld ns at %lu Hz", (unsigned long)passed, (long)(end - start),
            (unsigned long)(node ? node->clock_hz : 0));
    int64_t day_passed = read_ns(CLOCK_REALTIME) - day_start;
    PROMISE(day_passed > 18000000 && day_passed < 200000000, "the time of day went on %ld ns",
            (long)day_passed);

    PROMISE(gettimeofday(&day, NULL) == 0 && day.tv_usec >= 0 && day.tv_usec < 1000000, "gettimeofday");
    int64_t apart = day.tv_sec - (int64_t)time(NULL);
    PROMISE(apart >= -1 && apart <= 1, "time and gettimeofday are %ld s apart", (long)apart);
    printf("clock_hz: %lu\nseconds: %ld\n", (unsigned long)(node ? node->clock_hz : 0), (long)day.tv_sec);
    return promises_kept();
}
