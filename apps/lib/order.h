/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h: order statistics of whole numbers: sorting and quantiles. Pure; no allocation.
 */
#ifndef ORDER_H
#define ORDER_H

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

#endif /* ORDER_H */
