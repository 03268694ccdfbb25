/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calibrate.c: ticks per nanosecond, the clock's grain, the length of the basic operation. Everything here
 * takes the minimum or the median of many readings, because the calibration suffers the same detours as the
 * measurement that follows it. Runs before the measuring window; spins.
 */
#include "calibrate.h"

#include "cycles.h"
#include "order.h"
#include "tacet.h"

#include <time.h>

/* The two clocks at one moment. */
struct clock_pair {
    uint64_t ticks, ns;
};

static uint64_t clock_ns(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
        return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Reads both clocks several times and keeps the quickest pair, so that no detour is between the two reads. */
static struct clock_pair clock_pair_read(void)
{
    struct clock_pair best = { 0, 0 };
    uint64_t best_gap = UINT64_MAX;

    for (int i = 0; i < 32; i++) {
        uint64_t before = cycles_now();
        uint64_t ns = clock_ns();
        uint64_t gap = cycles_now() - before;

        if (gap < best_gap) {
            best_gap = gap;
            best.ticks = before + gap / 2;
            best.ns = ns;
        }
    }
    return best;
}

double calibrate_ticks_per_ns(void)
{
    const uint64_t span_ns = 100000000;
    const struct tacet_node *node = tacet_node();
    struct clock_pair first, last;

    if (node)
        return (double)node->clock_hz / 1e9;
    first = clock_pair_read();
    if (!first.ns)
        return 0;
    while (clock_ns() - first.ns < span_ns)
        ;
    last = clock_pair_read();
    return (double)(last.ticks - first.ticks) / (double)(last.ns - first.ns);
}

uint64_t calibrate_ns_of(uint64_t ticks, double ticks_per_ns)
{
    const struct clock_pair now = clock_pair_read();

    return now.ns - (uint64_t)((double)(now.ticks - ticks) / ticks_per_ns);
}

struct clock_grain calibrate_clock_grain(void)
{
    enum { READS = 4096 };
    static uint64_t gaps[READS];
    struct clock_grain grain = { 0, 0 };

    for (int i = 0; i < READS; i++) {
        uint64_t before = cycles_now();

        gaps[i] = cycles_now() - before;
    }
    order_sort(gaps, READS);
    grain.read_ticks = gaps[READS / 2];
    for (int i = 0; i < READS && !grain.step_ticks; i++)
        grain.step_ticks = gaps[i];
    return grain;
}

double calibrate_operation_ticks(void)
{
    double minimum = 0;
    uint64_t now, span, first;

    /* The first run warms the caches and shows how long a run must be. */
    operations_until(0, &first);
    operations_until(0, &now);
    span = (now - first) * CALIBRATE_OPERATIONS;
    for (int run = 0; run < 40; run++) {
        uint64_t count;
        double mean;

        operations_until(0, &first);
        count = operations_until(first + span, &now);
        mean = (double)(now - first) / (double)count;
        if (run == 0 || mean < minimum)
            minimum = mean;
    }
    return minimum;
}
