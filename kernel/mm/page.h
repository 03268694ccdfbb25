/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.h: addresses and sizes in whole pages, and in other powers of two.
 */
#ifndef TACET_PAGE_H
#define TACET_PAGE_H

#include "arch/platform.h"
#include <stdint.h>

/* Rounds down, or (align_up) up, to a multiple of `alignment`, a power of two. Above the last multiple of it,
 * align_up returns 0. */
static inline uint64_t align_down(uint64_t value, uint64_t alignment)
{
    return value & ~(alignment - 1);
}

static inline uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return align_down(value + alignment - 1, alignment);
}

static inline uint64_t page_down(uint64_t value)
{
    return align_down(value, ARCH_PAGE);
}

static inline uint64_t page_up(uint64_t value)
{
    return align_up(value, ARCH_PAGE);
}

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
