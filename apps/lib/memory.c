/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c: memory that is there before the measuring window opens [Tsafrir05 §3.1, footnote 2].
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
    /* Ones first, and seen: else the compiler may make this a calloc(), whose pages are not there yet. */
    memset(memory, 0xff, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
    memset(memory, 0, bytes);
    /* Without locking (no such call, no right to) the pages are there all the same; only swap could take
     * them. */
    if (mlock(memory, bytes))
        errno = 0;
    return memory;
}
