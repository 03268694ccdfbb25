/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * siphash.c: see siphash.h. The message is taken in little-endian words of 8 bytes; the last one has the
 * bytes that are left, and the message's length in its highest byte.
 */
#include "lib/siphash.h"
#include "lib/bytes.h"

/* Optimised for size, this takes three times as many instructions. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2")
#endif

struct state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static inline void round_once(struct state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 = rotate(s->v2, 32);
}

static inline void word_add(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    round_once(s);
    round_once(s);
    s->v0 ^= word;
}

/* Loads the last bytes, fewer than 8. */
static inline uint64_t tail_load(const uint8_t *at, size_t bytes)
{
    uint64_t tail = 0;

    if (bytes & 1)
        tail = at[bytes - 1];
    if (bytes & 2)
        tail = tail << 16 | load_le16(at + (bytes & 4));
    if (bytes & 4)
        tail = tail << 32 | load_le32(at);
    return tail;
}

static inline uint64_t result(struct state *s)
{
    for (unsigned i = 0; i < 4; i++)
        round_once(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Hashes a message. `second` gets the second half of a result of 128 bits; NULL: one of 64. */
__attribute__((always_inline)) static inline uint64_t hash(const uint8_t *key, const uint8_t *at,
                                                           size_t bytes, uint8_t *second)
{
    const uint64_t k0 = load_le64(key), k1 = load_le64(key + 8), wide = second ? 0xee : 0;
    const uint8_t *end = at + bytes / 8 * 8;

    /* "somepseudorandomlygeneratedbytes" */
    struct state s = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ wide, k0 ^ 0x6c7967656e657261,
                       k1 ^ 0x7465646279746573 };
    for (; at < end; at += 8)
        word_add(&s, load_le64(at));
    word_add(&s, (uint64_t)bytes << 56 | tail_load(at, bytes % 8));
    s.v2 ^= second ? wide : 0xff;
    const uint64_t first = result(&s);
    if (second) {
        s.v1 ^= 0xdd;
        store_le64(second, result(&s));
    }
    return first;
}

uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void *message, size_t bytes)
{
    return hash(key, message, bytes, NULL);
}

void siphash_128(uint8_t out[SIPHASH_128_BYTES], const uint8_t key[SIPHASH_KEY_BYTES], const void *message,
                 size_t bytes)
{
    store_le64(out, hash(key, message, bytes, out + 8));
}
