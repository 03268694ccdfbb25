/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c: memory that is present before the measuring window opens [Tsafrir05 §3.1, footnote 2].
 */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *memory_ready(size_t bytes)
{
    void *memory = malloc(bytes);

    if (!memory)
        return NULL;
    /* Ones first, and visibly: else the compiler may turn this into calloc(), whose pages are not present. */
    memset(memory, 0xff, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
    memset(memory, 0, bytes);
    /* If locking fails (no such call, no right), the pages are present all the same, unless swapped out. */
    if (mlock(memory, bytes))
        errno = 0;
    return memory;
}
