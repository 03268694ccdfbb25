/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_string.c: kernel/lib/kstring.c compared with libc's functions. The kernel's own are compiled in under
 * other names.
 */
#include "check.h"

#define memcpy  kernel_memcpy
#define memmove kernel_memmove
#define memset  kernel_memset
#define memcmp  kernel_memcmp
#define strlen  kernel_strlen
#define strnlen kernel_strnlen
#define strcmp  kernel_strcmp
#define strncmp kernel_strncmp
#include "../../kernel/lib/kstring.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen
#undef strnlen
#undef strcmp
#undef strncmp

#define ARENA_BYTES 96

static uint64_t seed = 1;

static void fill(unsigned char *arena)
{
    for (size_t i = 0; i < ARENA_BYTES; i++)
        arena[i] = (unsigned char)check_random(&seed);
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

TEST(overlapping_moves_equal_libc)
{
    unsigned char ours[ARENA_BYTES], theirs[ARENA_BYTES];

    for (size_t to = 0; to < 24; to++) {
        for (size_t from = 0; from < 24; from++) {
            for (size_t bytes = 0; bytes < 40; bytes++) {
                fill(ours);
                memcpy(theirs, ours, ARENA_BYTES);
                CHECK(kernel_memmove(ours + to, ours + from, bytes) == ours + to);
                memmove(theirs + to, theirs + from, bytes);
                CHECK(memcmp(ours, theirs, ARENA_BYTES) == 0);
            }
        }
    }
}

TEST(copies_and_fills_equal_libc_and_touch_nothing_else)
{
    unsigned char source[ARENA_BYTES], ours[ARENA_BYTES], theirs[ARENA_BYTES];

    for (size_t at = 0; at < 16; at++) {
        for (size_t bytes = 0; bytes < 64; bytes++) {
            int value = (int)check_random(&seed);

            fill(source);
            fill(ours);
            memcpy(theirs, ours, ARENA_BYTES);
            CHECK(kernel_memcpy(ours + at, source + (at + bytes) % 8, bytes) == ours + at);
            memcpy(theirs + at, source + (at + bytes) % 8, bytes);
            CHECK(memcmp(ours, theirs, ARENA_BYTES) == 0);
            CHECK(kernel_memset(ours + at, value, bytes) == ours + at);
            memset(theirs + at, value, bytes);
            CHECK(memcmp(ours, theirs, ARENA_BYTES) == 0);
        }
    }
}

TEST(comparisons_have_the_sign_of_libc)
{
    unsigned char left[16], right[16];

    for (int round = 0; round < 20000; round++) {
        size_t bytes = check_random(&seed) % 16;

        for (size_t i = 0; i < 15; i++) {
            left[i] = (unsigned char)(check_random(&seed) % 3 * 127);
            right[i] = check_random(&seed) % 4 ? left[i] : (unsigned char)(check_random(&seed) % 3 * 127);
        }
        left[15] = right[15] = 0;
        const char *a = (const char *)left, *b = (const char *)right;
        CHECK_EQUAL(sign(kernel_memcmp(left, right, bytes)), sign(memcmp(left, right, bytes)));
        CHECK_EQUAL(sign(kernel_strcmp(a, b)), sign(strcmp(a, b)));
        CHECK_EQUAL(sign(kernel_strncmp(a, b, bytes)), sign(strncmp(a, b, bytes)));
        CHECK_EQUAL(kernel_strlen(a), strlen(a));
        CHECK_EQUAL(kernel_strnlen(a, bytes), strnlen(a, bytes));
    }
}

int main(void)
{
    RUN(overlapping_moves_equal_libc);
    RUN(copies_and_fills_equal_libc_and_touch_nothing_else);
    RUN(comparisons_have_the_sign_of_libc);
    return check_report("string");
}
