/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h: order statistics of whole numbers: sorting and quantiles. Pure; no allocation.
 */
#ifndef ORDER_H
#define ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts rising, in place. */
void order_sort(uint64_t *values, size_t count);

/*
 * The smallest of `count` rising values that at least `per_million` millionths of them do not exceed (the
 * nearest rank); 500000 is the median, 1000000 the largest. `count` is not 0.
 */
uint64_t order_quantile(const uint64_t *sorted, size_t count, uint32_t per_million);

/* How many of `count` rising values are above `limit`. */
size_t order_above(const uint64_t *sorted, size_t count, uint64_t limit);

/*
 * Where undisturbed values lie, if disturbance only ever raises one.
 *
 * Step: the smallest difference of two values, the grain of what they were measured with. Mode: the shortest
 * range that holds one value in eight (of several the lowest) is where they are densest; it and the ranges of
 * as many values around it that are at most twice as long and a step are the top of the hump, and the mode is
 * the middle of that. Spread: the median distance from it of the values that do not exceed it, as disturbance
 * has moved none of these down; at least a step where more than one value in twenty is below the mode. Reach:
 * three standard deviations of a normal distribution with that spread, 4.4478 times it. What exceeds the mode
 * by more than the reach was disturbed.
 */
struct order_floor {
    uint64_t mode;
    uint64_t spread;
    uint64_t reach;
};

/* Of `count` rising values below 2^48, at least one. */
struct order_floor order_floor_find(const uint64_t *sorted, size_t count);

/* Whether disturbed values can be told from undisturbed ones by their floor: the reach is less than half of
 * the mode, and at most one value in twenty is below the mode by more than the reach. */
bool order_floor_separable(const struct order_floor *floor, const uint64_t *sorted, size_t count);

#endif /* ORDER_H */
