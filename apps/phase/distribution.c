/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * distribution.c: computes figures of phase durations, by the definitions in distribution.h. Pure C: no
 * system call, no allocation.
 */
#include "distribution.h"

#include <math.h>

double distribution_second_decile(const uint64_t *sorted, size_t count)
{
    const size_t first = count / 10, end = count / 5 > first ? count / 5 : first + 1;

    return distribution_mean(sorted + first, end - first);
}

double distribution_mean(const uint64_t *sorted, size_t count)
{
    double excess = 0;

    /* Sums distances from the shortest, so that the mean of a million equal values is exact. */
    for (size_t i = 0; i < count; i++)
        excess += (double)(sorted[i] - sorted[0]);
    return (double)sorted[0] + excess / (double)count;
}

double distribution_deviation(const uint64_t *sorted, size_t count)
{
    const double mean = distribution_mean(sorted, count);
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        squares += ((double)sorted[i] - mean) * ((double)sorted[i] - mean);
    return sqrt(squares / (double)count);
}

struct order_floor distribution_floor(const uint64_t *sorted, size_t count, uint64_t threshold_ticks)
{
    struct order_floor floor = order_floor_find(sorted, count);

    if (floor.reach < threshold_ticks)
        floor.reach = threshold_ticks;
    return floor;
}

size_t distribution_delayed(const uint64_t *sorted, size_t count, uint64_t threshold_ticks, double delay)
{
    const struct order_floor floor = distribution_floor(sorted, count, threshold_ticks);
    const double limit = fmax((double)floor.mode * (1 + delay), (double)(floor.mode + floor.reach));
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((double)sorted[middle] > limit)
            high = middle;
        else
            low = middle + 1;
    }
    return count - low;
}

bool distribution_separable(const uint64_t *sorted, size_t count, uint64_t threshold_ticks)
{
    struct order_floor floor = distribution_floor(sorted, count, threshold_ticks);

    if (floor.reach < floor.mode / 100)
        floor.reach = floor.mode / 100;
    return order_floor_separable(&floor, sorted, count);
}

double distribution_expected_longest(const uint64_t *sorted, size_t count, uint64_t nodes)
{
    double expected_excess = 0, below = 0;
    size_t i = 0;

    while (i < count) {
        const uint64_t value = sorted[i];
        double not_above;

        while (i < count && sorted[i] == value)
            i++;
        not_above = pow((double)i / (double)count, (double)nodes);
        expected_excess += (double)(value - sorted[0]) * (not_above - below);
        below = not_above;
    }
    return (double)sorted[0] + expected_excess;
}
