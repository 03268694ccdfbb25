/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h: "physical memory" for tests of the code that hands it out: address space of the test's process, of
 * which only what is touched costs memory. Physical addresses begin at ARENA_BASE, on a huge page's bound.
 * Included once per binary.
 */
#ifndef TACET_ARENA_H
#define TACET_ARENA_H

#include "arch/platform.h"
#include "check.h"
#include <sys/mman.h>

#define ARENA_BASE  (1ULL << 30)
#define ARENA_BYTES (6ULL << 30)

uintptr_t arena_origin;
uint32_t arena_cpu;
uint64_t arena_distances[ARCH_CPUS_MAX];

/* Begins a test with an arena full of zeroes. */
static inline void arena_begin(void)
{
    void *memory = arena_origin ? (void *)(arena_origin + ARENA_BASE) : NULL;

    if (memory)
        munmap(memory, ARENA_BYTES);
    memory =
        mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("arena");
        exit(EXIT_FAILURE);
    }
    arena_origin = (uintptr_t)memory - ARENA_BASE;
}

/* Zeroes without touching what is large. */
static inline void arena_zero(void *memory, uint64_t bytes)
{
    if (bytes < ARCH_LARGE_PAGE || (uintptr_t)memory % ARCH_PAGE || bytes % ARCH_PAGE)
        memset(memory, 0, bytes);
    else
        madvise(memory, bytes, MADV_DONTNEED);
}

#endif
