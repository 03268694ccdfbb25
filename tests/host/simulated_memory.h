/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulated_memory.h: a stretch of physical memory for the tests and fuzzers of boot-time parsers, written
 * field by field. Reads outside of it answer NULL, as physical_reader demands.
 */
#ifndef TACET_SIMULATED_MEMORY_H
#define TACET_SIMULATED_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMULATED_BYTES 65536
#define SIMULATED_BASE  0x10000

struct simulated_memory {
    uint64_t base;
    uint64_t bytes; /* readable ones */
    const uint8_t *data;
};

static inline const void *simulated_read(void *context, uint64_t address, uint64_t bytes)
{
    const struct simulated_memory *memory = context;

    if (address < memory->base || address - memory->base > memory->bytes)
        return NULL;
    uint64_t offset = address - memory->base;
    return bytes <= memory->bytes - offset ? memory->data + offset : NULL;
}

static inline void store(uint8_t *at, uint64_t value, size_t bytes)
{
    memcpy(at, &value, bytes);
}

#endif
