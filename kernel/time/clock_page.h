/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_page.h: the parameters of the clock, on pages that every program may read, and the one way to turn
 * them into a time. The kernel's clock.c and the vDSO (arch/<name>/vdso/) both include this file, so that the
 * two give the same number for the same reading of the clock source.
 *
 * The layout is private to a kernel and the vDSO that is built into it. The kernel alone writes: it makes
 * a sequence number odd, changes what it likes, and makes it even again; a reader that saw an odd number, or
 * a different one afterwards, begins again. A writer must not be interrupted by code on its own CPU that
 * reads the same. Wall time has a number and a cache line of its own: while programs run, it alone changes,
 * and readers of monotonic time do not notice.
 */
#ifndef TACET_CLOCK_PAGE_H
#define TACET_CLOCK_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S 1000000000ULL

#define CLOCK_PAGE_SHIFT 32
#define CLOCK_PAGE_CPUS  1024

/* CLOCK_REALTIME, UTC since 1970, as a line over monotonic time. */
struct clock_wall {
    uint32_t sequence;
    uint64_t base_ns;    /* the monotonic time at which the line begins … */
    uint64_t offset_ns;  /* … how far wall time is ahead of it there … */
    int64_t slope;       /* … and what it gains from there on, times 2^CLOCK_PAGE_SHIFT */
    uint64_t floor_ns;   /* the latest time read of earlier lines; below it, time stands still */
    uint64_t tai_utc_ns; /* by which CLOCK_TAI is ahead */
} __attribute__((aligned(64)));

struct clock_page {
    uint32_t sequence;
    uint32_t features;      /* how the vDSO may read the clock source and the CPU's number; the
                               architecture's bits, constant once programs run */
    uint64_t base_ticks;    /* a reading of the first CPU's clock source … */
    uint64_t base_ns;       /* … and the monotonic time then */
    uint64_t ns_per_tick;   /* times 2^CLOCK_PAGE_SHIFT */
    uint64_t resolution_ns; /* a tick, rounded up to at least 1 */
    struct clock_wall wall;
    uint64_t ticks_offset[CLOCK_PAGE_CPUS]; /* what to add to each CPU's own reading to get the first CPU's */
};

/* Multiplies once and shifts, in 128 bits so that it never wraps. */
static inline uint64_t clock_page_duration_ns(const struct clock_page *page, uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * page->ns_per_tick >> CLOCK_PAGE_SHIFT);
}

/* Returns monotonic time at a reading of the first CPU's clock source. */
static inline uint64_t clock_page_ns(const struct clock_page *page, uint64_t ticks)
{
    return page->base_ns + clock_page_duration_ns(page, ticks - page->base_ticks);
}

/* Returns what the line is at a monotonic time; clock_wall_at: wall time then. */
static inline uint64_t clock_wall_line_at(const struct clock_wall *wall, uint64_t ns)
{
    const int64_t passed_ns = (int64_t)(ns - wall->base_ns);

    return ns + wall->offset_ns + (uint64_t)((__int128)passed_ns * wall->slope >> CLOCK_PAGE_SHIFT);
}

static inline uint64_t clock_wall_at(const struct clock_wall *wall, uint64_t ns)
{
    const uint64_t line_ns = clock_wall_line_at(wall, ns);

    return line_ns < wall->floor_ns ? wall->floor_ns : line_ns;
}

/* Begins a reading, which the second one ends: `do number = begin; … while (changed(number));` */
static inline uint32_t clock_sequence_begin(const uint32_t *sequence)
{
    return __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
}

static inline bool clock_sequence_changed(const uint32_t *sequence, uint32_t number)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (number & 1) || __atomic_load_n(sequence, __ATOMIC_RELAXED) != number;
}

#endif
