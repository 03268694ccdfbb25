/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_checksum.c: the Internet's checksum, compared with the sum that RFC 1071 defines, pair by pair.
 */
#include "check.h"
#include "lib/checksum.h"

#define ARENA_BYTES 4096

static uint64_t seed = 5;
static unsigned char arena[ARENA_BYTES];

/* Sums by §1: pairs of bytes, an odd last byte with a zero; carries of 16 bits are added again. */
static uint16_t defined(const unsigned char *at, unsigned bytes)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < bytes; i += 2) {
        const unsigned char pair[2] = { at[i], i + 1 < bytes ? at[i + 1] : 0 };
        uint16_t word;

        memcpy(&word, pair, sizeof(word));
        sum += word;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

TEST(each_length_at_each_alignment_has_the_defined_sum)
{
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < ARENA_BYTES; i++)
            arena[i] = round == 3 ? 0xff : (unsigned char)check_random(&seed);
        for (unsigned begin = 0; begin < 9; begin++)
            for (unsigned bytes = 0; bytes < 1600; bytes++)
                CHECK_EQUAL(checksum_add(arena + begin, (int)bytes), defined(arena + begin, bytes));
    }
}

TEST(the_example_of_the_rfc)
{
    static const unsigned char example[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
    static const unsigned char sum[] = { 0xdd, 0xf2 };
    uint16_t expected;

    memcpy(&expected, sum, sizeof(expected));
    CHECK_EQUAL(checksum_add(example, sizeof(example)), expected);
}

int main(void)
{
    RUN(each_length_at_each_alignment_has_the_defined_sum);
    RUN(the_example_of_the_rfc);
    return check_report("checksum");
}
