/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.c: order statistics; order.h defines them.
 */
#include "order.h"

#include <stdlib.h>

static int values_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void order_sort(uint64_t *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, values_compare);
}

uint64_t order_quantile(const uint64_t *sorted, size_t count, uint32_t per_million)
{
    const uint64_t rank = ((uint64_t)count * per_million + 999999) / 1000000;

    return sorted[rank ? rank - 1 : 0];
}

size_t order_above(const uint64_t *sorted, size_t count, uint64_t limit)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sorted[middle] > limit)
            high = middle;
        else
            low = middle + 1;
    }
    return count - low;
}

/* Returns the length of the range of `window` values that begins at `first`. */
static uint64_t range(const uint64_t *sorted, size_t first, size_t window)
{
    return sorted[first + window - 1] - sorted[first];
}

static uint64_t step_find(const uint64_t *sorted, size_t count)
{
    uint64_t step = 0;

    for (size_t i = 1; i < count; i++) {
        uint64_t difference = sorted[i] - sorted[i - 1];

        if (difference && (!step || difference < step))
            step = difference;
    }
    return step;
}

struct order_floor order_floor_find(const uint64_t *sorted, size_t count)
{
    const size_t window = (count + 7) / 8, last = count - window;
    const uint64_t step = step_find(sorted, count);
    struct order_floor found;
    size_t low = 0, high, below;
    uint64_t longest;

    for (size_t i = 1; i <= last; i++) {
        if (range(sorted, i, window) < range(sorted, low, window))
            low = i;
    }
    longest = 2 * range(sorted, low, window) + step;
    high = low;
    while (low > 0 && range(sorted, low - 1, window) <= longest)
        low--;
    while (high < last && range(sorted, high + 1, window) <= longest)
        high++;
    found.mode = sorted[low + (high - low) / 2 + window / 2];
    below = count - order_above(sorted, count, found.mode);
    found.spread = found.mode - sorted[below - 1 - below / 2];
    if (found.spread < step && sorted[count / 20] < found.mode)
        found.spread = step;
    found.reach = found.spread * 44478 / 10000;
    return found;
}

bool order_floor_separable(const struct order_floor *floor, const uint64_t *sorted, size_t count)
{
    size_t below = 0;

    if (floor->mode > floor->reach)
        below = count - order_above(sorted, count, floor->mode - floor->reach - 1);
    return floor->reach < floor->mode / 2 && below <= count / 20;
}
