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
    ns_per_tick = (NS_PER_S << SHIFT) / arch_clock_hz();
    wall_offset_ns = arch_wall_clock_s() * NS_PER_S - clock_now_ns();
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * ns_per_tick >> SHIFT);
}

uint64_t clock_now_ns(void)
{
    return clock_ticks_to_ns(arch_ticks() - arch_boot_ticks());
}

uint64_t clock_ticks_at(uint64_t ns)
{
    uint64_t rest = (ns % NS_PER_S * arch_clock_hz() + NS_PER_S - 1) / NS_PER_S;
    uint64_t ticks;

    if (__builtin_mul_overflow(ns / NS_PER_S, arch_clock_hz(), &ticks) ||
        __builtin_add_overflow(ticks, rest, &ticks))
        return UINT64_MAX;
    /* The way back is rounded; what that lacks, a part in 2^32 or so, is made up for. */
    while (clock_ticks_to_ns(ticks) < ns) {
        uint64_t lacking_ns = ns - clock_ticks_to_ns(ticks);

        ticks +=
            lacking_ns / NS_PER_S * arch_clock_hz() + lacking_ns % NS_PER_S * arch_clock_hz() / NS_PER_S + 1;
    }
    return __builtin_add_overflow(ticks, arch_boot_ticks(), &ticks) ? UINT64_MAX : ticks;
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
