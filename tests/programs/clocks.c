/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clocks.c: every clock goes forward, all agree with each other and with the CPU's counter at the rate that
 * the node reports. Prints the node's rate in Hz, and the time of day at the start in seconds since 1970.
 */
#include "machine.h"
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

    /* 20 ms of the monotonic clock are 20 ms of the TSC and of the time of day. Those are read between two
     * readings of the monotonic clock each time: a pause of the host's lengthens the bounds, too. */
    double clock_hz = node ? (double)node->clock_hz : 0;
    int64_t start = read_ns(CLOCK_MONOTONIC), day_start = read_ns(CLOCK_REALTIME), end;
    uint64_t from = machine_ticks_ordered();
    int64_t started = read_ns(CLOCK_MONOTONIC);
    do
        end = read_ns(CLOCK_MONOTONIC);
    while (end - started < 20000000);
    uint64_t passed = machine_ticks_ordered() - from;
    int64_t day_passed = read_ns(CLOCK_REALTIME) - day_start;
    int64_t ended = read_ns(CLOCK_MONOTONIC);
    double least_ns = 0.9 * (double)(end - started), most_ns = 1.1 * (double)(ended - start);
    PROMISE((double)passed > least_ns * clock_hz / 1e9 && (double)passed < most_ns * clock_hz / 1e9,
            "%lu ticks in %ld to %ld ns at %.0f Hz", (unsigned long)passed, (long)(end - started),
            (long)(ended - start), clock_hz);
    PROMISE((double)day_passed > least_ns && (double)day_passed < most_ns,
            "the time of day went on %ld ns in %ld to %ld", (long)day_passed, (long)(end - started),
            (long)(ended - start));

    const time_t before = time(NULL);
    PROMISE(gettimeofday(&day, NULL) == 0 && day.tv_usec >= 0 && day.tv_usec < 1000000, "gettimeofday");
    const time_t after = time(NULL);
    PROMISE(day.tv_sec >= before && day.tv_sec <= after, "gettimeofday says %ld s, time %ld and %ld s",
            (long)day.tv_sec, (long)before, (long)after);
    printf("clock_hz: %lu\nseconds: %ld\n", (unsigned long)(node ? node->clock_hz : 0), (long)day.tv_sec);
    return promises_kept();
}
