/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kstring.c: memory and string functions for a kernel without a C library (kstring.h).
 *
 * Blocks move in words of eight bytes at any alignment, which both architectures allow on ordinary memory; do
 * not use these functions on device registers. Source: C11 §7.24. Any context, early start-up included; owns
 * nothing.
 */
#include "lib/kstring.h"
#include <stdint.h>

/* GCC would recognise these loops and replace them by calls of memcpy and memset, so that the functions
 * would call themselves. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

static void copy_forwards(unsigned char *target, const unsigned char *source, size_t bytes)
{
    for (; bytes >= 4 * sizeof(word); bytes -= 4 * sizeof(word)) {
        const word *from = (const word *)source;
        word *to = (word *)target, first = from[0], second = from[1], third = from[2], fourth = from[3];

        to[0] = first;
        to[1] = second;
        to[2] = third;
        to[3] = fourth;
        target += 4 * sizeof(word);
        source += 4 * sizeof(word);
    }
    for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
        *(word *)target = *(const word *)source;
        target += sizeof(word);
        source += sizeof(word);
    }
    while (bytes-- > 0)
        *target++ = *source++;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    copy_forwards(to, from, bytes);
    return to;
}

static void copy_backwards(unsigned char *target, const unsigned char *source, size_t bytes)
{
    for (; bytes >= sizeof(word); bytes -= sizeof(word))
        *(word *)(target + bytes - sizeof(word)) = *(const word *)(source + bytes - sizeof(word));
    while (bytes-- > 0)
        target[bytes] = source[bytes];
}

void *memmove(void *to, const void *from, size_t bytes)
{
    /* A target that does not begin inside the source: each word is read before it is overwritten. */
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        copy_forwards(to, from, bytes);
    else
        copy_backwards(to, from, bytes);
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *target = to;
    word pattern = (unsigned char)value * 0x0101010101010101ULL;

    for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
        *(word *)target = pattern;
        target += sizeof(word);
    }
    while (bytes-- > 0)
        *target++ = (unsigned char)value;
    return to;
}

int memcmp(const void *left, const void *right, size_t bytes)
{
    const unsigned char *a = left, *b = right;

    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i])
            return a[i] - b[i];
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;

    while (text[length])
        length++;
    return length;
}

size_t strnlen(const char *text, size_t limit)
{
    size_t length = 0;

    while (length < limit && text[length])
        length++;
    return length;
}

int strcmp(const char *left, const char *right)
{
    return strncmp(left, right, SIZE_MAX);
}

int strncmp(const char *left, const char *right, size_t limit)
{
    for (size_t i = 0; i < limit; i++) {
        unsigned char a = (unsigned char)left[i], b = (unsigned char)right[i];

        if (a != b)
            return a - b;
        if (!a)
            return 0;
    }
    return 0;
}
