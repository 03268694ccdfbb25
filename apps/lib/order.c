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
