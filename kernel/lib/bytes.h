/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes.h: little-endian numbers out of bytes at any alignment, for parsers of outside data.
 *
 * Both architectures run little-endian, so a load is a copy. The caller has checked that the bytes are there.
 * Any context.
 */
#ifndef TACET_BYTES_H
#define TACET_BYTES_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "loads are plain copies");

static inline uint16_t load_le16(const void *at)
{
    uint16_t value;

    __builtin_memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint32_t load_le32(const void *at)
{
    uint32_t value;

    __builtin_memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint64_t load_le64(const void *at)
{
    uint64_t value;

    __builtin_memcpy(&value, at, sizeof(value));
    return value;
}

#endif
