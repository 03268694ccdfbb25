/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.h: addresses and sizes in whole pages.
 */
#ifndef TACET_PAGE_H
#define TACET_PAGE_H

#include "arch/platform.h"
#include <stdint.h>

static inline uint64_t page_down(uint64_t value)
{
    return value & ~(ARCH_PAGE - 1);
}

/* Beyond the last whole page this is 0. */
static inline uint64_t page_up(uint64_t value)
{
    return page_down(value + ARCH_PAGE - 1);
}

#endif
