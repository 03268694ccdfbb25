/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * big.c MEBIBYTES: maps this much memory at once, writes a mark every 2 MiB, and finds each mark again: no
 * two of them are the same memory.
 */
#include "promise.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int count, char **arguments)
{
    const size_t step = 2 << 20;
    size_t bytes = (size_t)(count > 1 ? atol(arguments[1]) : 1) << 20;
    unsigned wrong = 0, dirty = 0;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    PROMISE(memory != MAP_FAILED, "%zu MiB", bytes >> 20);
    if (memory == MAP_FAILED)
        return promises_kept();
    for (size_t at = 0; at < bytes; at += step) {
        dirty += *(uint64_t *)(memory + at) != 0;
        *(uint64_t *)(memory + at) = at + 1;
    }
    for (size_t at = 0; at < bytes; at += step)
        wrong += *(uint64_t *)(memory + at) != at + 1;
    PROMISE(dirty == 0, "%u words were not zero", dirty);
    PROMISE(wrong == 0, "%u marks are missing", wrong);
    PROMISE(munmap(memory, bytes) == 0, "unmapped");
    return promises_kept();
}
