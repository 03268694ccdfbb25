/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checksum.c: see checksum.h. Eight bytes at a time: the sum's carries come in again at the bottom, and what
 * was added in 64 bits is folded to 16 at the end [RFC 1071 §2].
 */
#include "lib/checksum.h"

/* Each byte that is sent or received is added here: so this is optimised for speed, not for size. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

static inline uint64_t add(uint64_t sum, uint64_t value)
{
    sum += value;
    return sum + (sum < value);
}

uint16_t checksum_add(const void *data, int bytes)
{
    const unsigned char *at = data;
    uint64_t sum = 0, rest = 0;

    for (; bytes >= 32; bytes -= 32, at += 32) {
        const word *words = (const word *)at;

        sum = add(add(add(add(sum, words[0]), words[1]), words[2]), words[3]);
    }
    for (; bytes >= 8; bytes -= 8, at += 8)
        sum = add(sum, *(const word *)at);
    __builtin_memcpy(&rest, at, (unsigned)bytes);
    sum = add(sum, rest);
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}
