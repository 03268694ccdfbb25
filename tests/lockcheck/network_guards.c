/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_guards.c: in a kernel that checks itself (make kernel LOCKCHECK=1) the linker puts this around the
 * network's memory (net/memory.h): a guard before and after each piece, which are checked when it is freed. A
 * free piece is full of FREED, so that code that still uses it reads pointers that fault.
 */
#include "debug/stop.h"
#include "lib/kstring.h"
#include <stddef.h>
#include <stdint.h>

#define MARK  0x05ca1ab1e0ddba11UL
#define FREED 0xdb

struct guard {
    uint64_t bytes, mark;
};

void *__real_network_allocate(size_t bytes);
void __real_network_free(void *memory);
void *__wrap_network_allocate(size_t bytes);
void *__wrap_network_allocate_array(size_t count, size_t bytes);
void __wrap_network_free(void *memory);

void *__wrap_network_allocate(size_t bytes)
{
    const struct guard guard = { bytes, MARK };
    struct guard *piece =
        bytes < SIZE_MAX - 2 * sizeof(guard) ? __real_network_allocate(bytes + 2 * sizeof(guard)) : NULL;

    if (!piece)
        return NULL;
    *piece++ = guard;
    memcpy((char *)piece + bytes, &guard, sizeof(guard));
    return piece;
}

void *__wrap_network_allocate_array(size_t count, size_t bytes)
{
    size_t all;
    void *memory = __builtin_mul_overflow(count, bytes, &all) ? NULL : __wrap_network_allocate(all);

    return memory ? memset(memory, 0, all) : NULL;
}

void __wrap_network_free(void *memory)
{
    struct guard *guard = (struct guard *)memory - 1, behind;

    if (!memory)
        return;
    ASSERT(guard->mark == MARK); /* it is in use, and was not written before its beginning, */
    memcpy(&behind, (char *)memory + guard->bytes, sizeof(behind));
    ASSERT(behind.mark == MARK && behind.bytes == guard->bytes); /* nor beyond its end */
    memset(memory, FREED, guard->bytes);
    guard->mark = 0;
    __real_network_free(guard);
}
