/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_mask.h: sets of CPUs in one word, bit n for CPU n.
 */
#ifndef TACET_CPU_MASK_H
#define TACET_CPU_MASK_H

#include <stdint.h>

/* For each CPU of a set, in ascending order. */
#define CPU_MASK_EACH(cpu, mask)                \
    for (uint64_t cpu##_left = (mask), cpu = 0; \
         cpu##_left && (cpu = (uint64_t)__builtin_ctzll(cpu##_left), 1); cpu##_left &= cpu##_left - 1)

static inline uint64_t cpu_mask_bit(unsigned cpu)
{
    return 1ULL << cpu;
}

/* CPUs 0 to count - 1. */
static inline uint64_t cpu_mask_below(unsigned count)
{
    return count < 64 ? cpu_mask_bit(count) - 1 : UINT64_MAX;
}

static inline unsigned cpu_mask_count(uint64_t mask)
{
    unsigned count = 0;

    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

#endif
