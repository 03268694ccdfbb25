/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_page.h: the parameters of the clock, on pages that every program may read, and the one way to turn
 * them into a time. The kernel's clock.c and the vDSO (arch/<name>/vdso/) both include this file, so that the
 * two give the same number for the same reading of the clock source.
 *
 * The layout is private to a kernel and the vDSO that is built into it. The kernel alone writes: it makes
 * `sequence` odd, changes what it likes, and makes it even again; a reader that saw an odd number, or another
 * one afterwards, begins anew. A writer must not be interrupted by something that reads the clock on its own
 * CPU.
 */
#ifndef TACET_CLOCK_PAGE_H
#define TACET_CLOCK_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S 1000000000ULL

#define CLOCK_PAGE_SHIFT 32
#define CLOCK_PAGE_CPUS  1024
#define CLOCK_PAGE_BYTES (3 * 4096) /* of whole pages, in which it stands */

struct clock_page {
    uint32_t sequence;
    uint32_t features;       /* how the vDSO may read the clock source and the CPU's number; the
                                architecture's bits, constant once programs run */
    uint64_t base_ticks;     /* a reading of the first CPU's clock source … */
    uint64_t base_ns;        /* … and the monotonic time then */
    uint64_t ns_per_tick;    /* times 2^CLOCK_PAGE_SHIFT */
    uint64_t wall_offset_ns; /* of CLOCK_REALTIME: since 1970 UTC */
    uint64_t resolution_ns;
    uint64_t ticks_offset[CLOCK_PAGE_CPUS]; /* what to add to each CPU's own reading to get the first CPU's */
};

/* One multiplication and a shift, in 128 bits so that it never wraps. */
static inline uint64_t clock_page_duration_ns(const struct clock_page *page, uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * page->ns_per_tick >> CLOCK_PAGE_SHIFT);
}

/* Monotonic time at a reading of the first CPU's clock source. */
static inline uint64_t clock_page_ns(const struct clock_page *page, uint64_t ticks)
{
    return page->base_ns + clock_page_duration_ns(page, ticks - page->base_ticks);
}

/* Around a reading, both: `do sequence = begin; … while (changed(sequence));` */
static inline uint32_t clock_page_begin(const struct clock_page *page)
{
    return __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);
}

static inline bool clock_page_changed(const struct clock_page *page, uint32_t sequence)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (sequence & 1) || __atomic_load_n(&page->sequence, __ATOMIC_RELAXED) != sequence;
}

#endif
