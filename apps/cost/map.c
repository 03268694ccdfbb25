/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.c: see map.h. All three steps are timed, so it does not matter whether the system zeroes pages in mmap,
 * at the first touch or in advance.
 */
#define _GNU_SOURCE
#include "map.h"
#include "cycles.h"

#include <sys/mman.h>
#include <unistd.h>

bool map_measure(size_t bytes, unsigned times, uint64_t *ticks)
{
    const size_t page_bytes = (size_t)getpagesize();

    *ticks = UINT64_MAX;
    for (unsigned i = 0; i < times; i++) {
        uint64_t before = cycles_now(), after;
        volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
            return false;
        for (size_t at = 0; at < bytes; at += page_bytes)
            memory[at] = 1;
        if (munmap((void *)memory, bytes))
            return false;
        after = cycles_now();
        if (after - before < *ticks)
            *ticks = after - before;
    }
    return true;
}
