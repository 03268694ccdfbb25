/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.c: computes figures of detours, and the threshold, by the definitions in analysis.h. Pure C: no
 * system call, no allocation.
 */
#include "analysis.h"

#include "order.h"

#include <string.h>

void selfish_analyse(uint64_t *lengths, size_t count, struct selfish_analysis *result)
{
    static const uint32_t quantiles[SELFISH_QUANTILE_COUNT] = SELFISH_QUANTILES;
    double sum = 0;

    memset(result, 0, sizeof *result);
    if (count == 0)
        return;
    order_sort(lengths, count);
    for (size_t i = 0; i < count; i++)
        sum += (double)lengths[i];
    result->minimum = lengths[0];
    result->maximum = lengths[count - 1];
    result->mean = sum / (double)count;
    for (size_t i = 0; i < SELFISH_QUANTILE_COUNT; i++)
        result->quantiles[i] = order_quantile(lengths, count, quantiles[i]);
}

uint64_t selfish_threshold_ticks(uint64_t requested_ticks, double loop_ticks, uint64_t step_ticks)
{
    const uint64_t by_loop_ticks = (uint64_t)(4 * loop_ticks);
    const uint64_t by_step_ticks = (uint64_t)loop_ticks + 4 * step_ticks;
    const uint64_t minimum_ticks = by_loop_ticks > by_step_ticks ? by_loop_ticks : by_step_ticks;

    return requested_ticks > minimum_ticks ? requested_ticks : minimum_ticks;
}
