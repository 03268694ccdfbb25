/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.c: computes noise figures from FWQ samples, by the definitions in analysis.h. Pure C: no system
 * call, no allocation. Runs after the measuring window and in the host tests.
 */
#include "analysis.h"

#include "order.h"

#include <string.h>

/* Without a floor, the nominal length is the quantile that a twentieth of the samples does not exceed. */
#define NOMINAL_PER_MILLION 50000

/* Longer samples might overflow order_floor_find. */
#define TICKS_MAX ((uint64_t)1 << 48)

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Finds the nominal length, and the excess above which a sample is disturbed. */
static void nominal_find(const uint64_t *sorted, size_t count, uint64_t threshold_ticks,
                         struct fwq_analysis *result)
{
    if (sorted[count - 1] < TICKS_MAX) {
        const struct order_floor floor = order_floor_find(sorted, count);

        result->separable = order_floor_separable(&floor, sorted, count);
        result->nominal = floor.mode;
        result->disturbed_above = larger(threshold_ticks, floor.reach);
    }
    if (!result->separable) {
        result->nominal = order_quantile(sorted, count, NOMINAL_PER_MILLION);
        result->disturbed_above = larger(threshold_ticks, result->nominal);
    }
}

bool fwq_analyse(const uint64_t *samples, size_t count, uint64_t threshold_ticks, uint64_t *scratch,
                 struct fwq_analysis *result)
{
    memset(result, 0, sizeof *result);
    if (count == 0)
        return false;
    memcpy(scratch, samples, count * sizeof *samples);
    order_sort(scratch, count);
    result->minimum = scratch[0];
    nominal_find(scratch, count, threshold_ticks, result);
    result->median = order_quantile(scratch, count, 500000);
    result->maximum = scratch[count - 1];
    if (result->nominal == 0)
        return false;
    while (samples[result->maximum_at] != result->maximum)
        result->maximum_at++;
    for (size_t i = 0; i < count; i++) {
        uint64_t excess = samples[i] > result->nominal ? samples[i] - result->nominal : 0;

        result->total += samples[i];
        result->raw_excess += excess;
        if (excess > result->disturbed_above) {
            result->disturbed++;
            result->disturbed_excess += excess;
        }
    }
    result->noise_ratio = (double)result->disturbed_excess / (double)result->total;
    result->raw_ratio = (double)result->raw_excess / (double)result->total;
    return true;
}
