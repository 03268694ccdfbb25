/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * together.c: a common start by the common clock; together.h documents it and its limit.
 */
#include "together.h"

#include "parse.h"

#include <stdlib.h>

bool together_parse(const char *rank, const char *size, struct together_place *place)
{
    uint64_t rank_number, size_number;

    place->rank = 0;
    place->size = 1;
    if (!rank && !size)
        return true;
    if (!rank || !size || parse_count(size, 1, TOGETHER_RANKS_MAX, &size_number) ||
        parse_count(rank, 0, size_number - 1, &rank_number))
        return false;
    place->rank = (uint32_t)rank_number;
    place->size = (uint32_t)size_number;
    return true;
}

bool together_find(struct together_place *place)
{
    return together_parse(getenv("TACET_RANK"), getenv("TACET_SIZE"), place);
}

uint64_t together_start_ticks(uint64_t now_ticks, uint64_t base_ticks, uint64_t interval_ticks,
                              uint64_t lead_ticks)
{
    const uint64_t earliest_ticks = now_ticks - base_ticks + lead_ticks;

    return base_ticks + (earliest_ticks + interval_ticks - 1) / interval_ticks * interval_ticks;
}

uint64_t together_end_ticks(uint64_t start_ticks, uint64_t planned_ticks, uint64_t lead_ticks)
{
    return start_ticks + planned_ticks + planned_ticks / 20 + lead_ticks;
}
