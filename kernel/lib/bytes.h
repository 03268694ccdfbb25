/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bytes.h: for outside data: numbers of either byte order at any alignment, hexadecimal digits, and kinds of
 * files known by their first bytes.
 *
 * Both architectures run little-endian, so a load is a copy. The caller of a load has checked that the bytes
 * are there, that of a store that there is room. Any context.
 */
#ifndef TACET_BYTES_H
#define TACET_BYTES_H

#include <stdbool.h>
#include <stddef.h>
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

static inline void store_le64(void *at, uint64_t value)
{
    __builtin_memcpy(at, &value, sizeof(value));
}

static inline uint16_t load_be16(const void *at)
{
    return __builtin_bswap16(load_le16(at));
}

static inline uint32_t load_be32(const void *at)
{
    return __builtin_bswap32(load_le32(at));
}

static inline uint64_t load_be64(const void *at)
{
    return __builtin_bswap64(load_le64(at));
}

/* Stores the lowest `bytes` of a value, in network byte order. */
static inline void store_be(uint8_t *at, unsigned bytes, uint64_t value)
{
    while (bytes > 0) {
        at[--bytes] = (uint8_t)value;
        value >>= 8;
    }
}

/* Returns the value of a hexadecimal digit, 16 for any other byte. */
static inline unsigned hexadecimal_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return (unsigned)(byte - '0');
    if (byte >= 'a' && byte <= 'f')
        return (unsigned)(byte - 'a' + 10);
    return byte >= 'A' && byte <= 'F' ? (unsigned)(byte - 'A' + 10) : 16;
}

/* Reads a text of `count` bytes, each of two hexadecimal digits, and nothing else. */
static inline bool hexadecimal_read(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < 2 * count; i++) {
        const unsigned digit = hexadecimal_digit(text[i]);

        if (digit > 15)
            return false;
        bytes[i / 2] = (uint8_t)((i % 2 ? 16U * bytes[i / 2] : 0) + digit);
    }
    return !text[2 * count];
}

/* A kind of file that begins with certain bytes, and what a message says about it. */
struct file_magic {
    const char *magic;
    unsigned bytes;
    const char *text;
};

static inline bool bytes_begin_with(const void *at, uint64_t bytes, const char *magic, unsigned magic_bytes)
{
    return bytes >= magic_bytes && __builtin_memcmp(at, magic, magic_bytes) == 0;
}

/* Returns the text of the first of `count` kinds that the bytes begin as, or NULL. */
static inline const char *file_magic_find(const struct file_magic *magics, size_t count, const void *at,
                                          uint64_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_begin_with(at, bytes, magics[i].magic, magics[i].bytes))
            return magics[i].text;
    return NULL;
}

#endif
