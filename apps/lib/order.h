/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h: order statistics of whole numbers: sorting and quantiles. Pure; no allocation.
 */
#ifndef ORDER_H
#define ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts in place, in rising order. */
void order_sort(uint64_t *values, size_t count);

/*
 * Returns a quantile by nearest rank: the smallest of `count` rising values that at least `per_million`
 * millionths of the values do not exceed. 500000 gives the median, 1000000 the largest. `count` is not 0.
 */
uint64_t order_quantile(const uint64_t *sorted, size_t count, uint32_t per_million);

/* Returns how many of `count` rising values are above `limit`. */
size_t order_above(const uint64_t *sorted, size_t count, uint64_t limit);

/*
 * The range of undisturbed values, if disturbance only ever raises a value.
 *
 * - Step: the smallest difference of two values, the grain of the clock that measured them.
 * - Mode: the densest range is the shortest that holds one value in eight (of several the lowest). Together
 *   with the ranges around it that hold as many values and are at most twice as long plus a step, it forms
 *   the top of the hump. The mode is the middle of the top.
 * - Spread: the median distance from the mode of the values that do not exceed it, as disturbance has moved
 *   none of these down. At least a step if more than one value in twenty is below the mode.
 * - Reach: three standard deviations of a normal distribution with that spread, 4.4478 times the spread.
 *
 * A value that exceeds the mode by more than the reach was disturbed.
 */
struct order_floor {
    uint64_t mode;
    uint64_t spread;
    uint64_t reach;
};

/* Finds the floor of `count` rising values (at least one) below 2^48. */
struct order_floor order_floor_find(const uint64_t *sorted, size_t count);

/* Returns whether the floor can tell disturbed values from undisturbed ones: the reach is less than half the
 * mode, and at most one value in twenty is below the mode by more than the reach. */
bool order_floor_separable(const struct order_floor *floor, const uint64_t *sorted, size_t count);

#endif /* ORDER_H */
