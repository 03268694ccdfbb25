/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c: ticks to nanoseconds by one multiplication and a shift, in 128 bits so that it never wraps.
 */
#include "clock.h"
#include "arch.h"

#define SHIFT 32

static uint64_t ns_per_tick; /* times 2^SHIFT */
static uint64_t wall_offset_ns;

void clock_start(void)
{
    ns_per_tick = (uint64_t)(((unsigned __int128)NS_PER_S << SHIFT) / arch_clock_hz());
    wall_offset_ns = arch_wall_clock_s() * NS_PER_S - clock_now_ns();
}

uint64_t clock_now_ns(void)
{
    return (uint64_t)((unsigned __int128)(arch_ticks() - arch_boot_ticks()) * ns_per_tick >> SHIFT);
}

uint64_t clock_wall_offset_ns(void)
{
    return wall_offset_ns;
}

uint64_t clock_resolution_ns(void)
{
    uint64_t ns = NS_PER_S / arch_clock_hz();

    return ns ? ns : 1;
}
