/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * per_cpu_areas.h: per-CPU variables (smp/per_cpu.h) for tests that play several CPUs: the first one's stand
 * where the linker has put them, each other CPU has an area of its own.
 */
#ifndef TACET_PER_CPU_AREAS_H
#define TACET_PER_CPU_AREAS_H

#include "arch/platform.h"
#include <stdlib.h>

extern char __bss_start[], _end[]; /* the linker's: the first CPU's variables lie between */

static inline uintptr_t per_cpu_areas_first(void)
{
    return (uintptr_t)__bss_start & ~63ULL;
}

static inline void per_cpu_areas_make(unsigned cpus)
{
    const size_t bytes = ((uintptr_t)_end - per_cpu_areas_first() + 63) & ~63ULL;

    for (unsigned cpu = 1; cpu < cpus; cpu++) {
        void *area = aligned_alloc(64, bytes);

        if (!area)
            exit(EXIT_FAILURE);
        __builtin_memset(area, 0, bytes);
        arena_distances[cpu] = (uintptr_t)area - per_cpu_areas_first();
    }
}

static inline void per_cpu_areas_free(unsigned cpus)
{
    for (unsigned cpu = 1; cpu < cpus; cpu++)
        free((void *)(per_cpu_areas_first() + arena_distances[cpu]));
}

#endif
