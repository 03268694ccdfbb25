/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c: see clock.h. The clock's parameters stand on a page of their own (clock_page.h), which programs
 * see, too. Written by the first CPU, before programs run.
 */
#include "time/clock.h"
#include "arch.h"

static union {
    struct clock_page clock;
    uint8_t bytes[CLOCK_PAGE_BYTES];
} page __attribute__((aligned(4096)));

_Static_assert(sizeof(struct clock_page) <= CLOCK_PAGE_BYTES, "the clock's parameters fit on their pages");
_Static_assert(ARCH_CPUS_MAX <= CLOCK_PAGE_CPUS, "each CPU has its place on the pages");

/* ---- Writing ---- */

static void page_change_begin(void)
{
    __atomic_store_n(&page.clock.sequence, page.clock.sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void page_change_end(void)
{
    __atomic_store_n(&page.clock.sequence, page.clock.sequence + 1, __ATOMIC_RELEASE);
}

void clock_start(void)
{
    uint64_t wall_ns = arch_wall_clock_s() * NS_PER_S, tick_ns = NS_PER_S / arch_clock_hz();

    page_change_begin();
    page.clock.features = arch_vdso_features();
    page.clock.base_ticks = arch_boot_ticks();
    page.clock.ns_per_tick = (NS_PER_S << CLOCK_PAGE_SHIFT) / arch_clock_hz();
    page.clock.resolution_ns = tick_ns ? tick_ns : 1;
    page.clock.wall_offset_ns = wall_ns - clock_page_ns(&page.clock, arch_ticks());
    page_change_end();
}

void clock_moved(unsigned from, unsigned to)
{
    if (page.clock.ticks_offset[from] != page.clock.ticks_offset[to])
        __atomic_fetch_add(&page.clock.sequence, 2, __ATOMIC_RELEASE);
}

void clock_offsets_set(void)
{
    page_change_begin();
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        page.clock.ticks_offset[cpu] = arch_clock_offset(cpu);
    page_change_end();
}

void clock_wall_offset_set(uint64_t offset_ns)
{
    page_change_begin();
    page.clock.wall_offset_ns = offset_ns;
    page_change_end();
}

const void *clock_page(void)
{
    return &page;
}

/* ---- Reading ---- */

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
    return clock_page_duration_ns(&page.clock, ticks);
}

uint64_t clock_now_ns(void)
{
    uint32_t sequence;
    uint64_t ns;

    do {
        sequence = clock_page_begin(&page.clock);
        ns = clock_page_ns(&page.clock, arch_ticks_ordered()); /* as the vDSO reads it */
    } while (clock_page_changed(&page.clock, sequence));
    return ns;
}

uint64_t clock_ticks_at(uint64_t ns)
{
    uint64_t part_ticks = (ns % NS_PER_S * arch_clock_hz() + NS_PER_S - 1) / NS_PER_S;
    uint64_t ticks;

    if (__builtin_mul_overflow(ns / NS_PER_S, arch_clock_hz(), &ticks) ||
        __builtin_add_overflow(ticks, part_ticks, &ticks))
        return UINT64_MAX;
    /* clock_ticks_to_ns rounds down: add what is still missing, one part in 2^32 or so. */
    while (clock_ticks_to_ns(ticks) < ns) {
        uint64_t missing_ns = ns - clock_ticks_to_ns(ticks);

        ticks +=
            missing_ns / NS_PER_S * arch_clock_hz() + missing_ns % NS_PER_S * arch_clock_hz() / NS_PER_S + 1;
    }
    return __builtin_add_overflow(ticks, arch_boot_ticks(), &ticks) ? UINT64_MAX : ticks;
}

uint64_t clock_wall_offset_ns(void)
{
    return page.clock.wall_offset_ns;
}

uint64_t clock_resolution_ns(void)
{
    return page.clock.resolution_ns;
}
