/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/platform.h: replaces an architecture's header of that name in host tests: "physical memory" is an
 * arena of the test (tests/host/arena.h).
 */
#ifndef ARCH_PLATFORM_H
#define ARCH_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#define TACET_KERNEL
#include "../../../../libc/include/tacet.h"

#define ARCH_NAME       "host"
#define ARCH_PAGE       4096ULL
#define ARCH_LARGE_PAGE (2ULL << 20)
#define ARCH_HUGE_PAGE  (1ULL << 30)

#define ARCH_CPUS_MAX 1024

#define ARCH_USER_LIMIT 0x00007ffffffff000ULL
#define ARCH_PIE_BASE   0x0000040000000000ULL
#define ARCH_MMAP_BASE  0x0000100000000000ULL

/* Where physical address 0 would be. */
extern uintptr_t arena_origin;

static inline void *arch_physical(uint64_t address)
{
    return (void *)(arena_origin + address);
}

static inline uint64_t arch_physical_of(const void *pointer)
{
    return (uintptr_t)pointer - arena_origin;
}

struct klog_ring;
struct arch_start;

/* Returns the memory of flight logs, in tests that have them. */
__attribute__((weak)) struct klog_ring *arena_klog(void);

static inline struct klog_ring *arch_klog(void)
{
    return arena_klog ? arena_klog() : NULL;
}

const struct klog_ring *arch_klog_of(unsigned cpu); /* likewise */

extern struct tacet_counters arena_counters[]; /* of each CPU, where a test counts */

static inline uint64_t arch_ticks(void)
{
    return 0;
}

extern uint32_t arena_cpu; /* which CPU the test plays */

uint64_t arch_ticks_ordered(void); /* of a test that reads the clock */

static inline uint32_t arch_cpu_index(void)
{
    return arena_cpu;
}

static inline struct tacet_counters *arch_counters_here(void)
{
    return &arena_counters[arena_cpu];
}

/* How far each CPU's variables lie above the first one's: all 0 where CPUs share them, which is for a test
 * that plays one at a time. */
extern uint64_t arena_distances[ARCH_CPUS_MAX];

static inline uint64_t arch_per_cpu_of(unsigned cpu)
{
    return arena_distances[cpu];
}

static inline uint64_t arch_per_cpu_here(void)
{
    return arch_per_cpu_of(arena_cpu);
}

static inline void arch_pause(void)
{
}

#endif
