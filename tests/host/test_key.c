/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_key.c: SipHash-2-4 with 128 bits gives what its authors publish, and the keys made of a master key
 * depend on each byte of it, of the label and of the id.
 */
#include "check.h"
#include "lib/key.h"

#define TEXT "tacet ticket\0id"

static const uint8_t master[KEY_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static void hexadecimal(const uint8_t bytes[16], char text[33])
{
    for (unsigned i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

/* From the reference's vectors.h: messages 00, 00 01, … under the key 00 … 0f. */
TEST(siphash_of_128_bits_answers_the_published_vectors)
{
    static const struct {
        unsigned bytes;
        const char *tag;
    } vectors[] = {
        { 0, "a3817f04ba25a8e66df67214c7550293" },  { 1, "da87c1d86b99af44347659119b22fc45" },
        { 2, "8177228da4a45dc7fca38bdef60affe4" },  { 7, "a1f1ebbed8dbc153c0b84aa61ff08239" },
        { 8, "3b62a9ba6258f5610f83e264f31497b4" },  { 9, "264499060ad9baabc47f8b02bb6d71ed" },
        { 15, "5493e99933b0a8117e08ec0f97cfc3d9" }, { 16, "6ee2a4ca67b054bbfd3315bf85230577" },
        { 62, "5853542321f567a005d547a4f04759bd" }, { 63, "5150d1772f50834a503e069a973fbd7c" },
    };
    uint8_t message[64], tag[SIPHASH_128_BYTES];
    char text[33];

    for (unsigned i = 0; i < sizeof(message); i++)
        message[i] = (uint8_t)i;
    for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        siphash_128(tag, master, message, vectors[i].bytes);
        hexadecimal(tag, text);
        CHECK_TEXT(text, vectors[i].tag);
    }
}

TEST(a_derived_key_is_the_hash_of_label_and_id)
{
    uint8_t expected[KEY_BYTES], derived[KEY_BYTES], same[KEY_BYTES];

    siphash_128(expected, master, TEXT, sizeof(TEXT) - 1);
    key_derive(derived, master, KEY_TICKET, "id", 2);
    CHECK_EQUAL(memcmp(derived, expected, sizeof(derived)), 0);
    siphash_128(expected, master, KEY_BEATS, sizeof(KEY_BEATS));
    key_derive(derived, master, KEY_BEATS, NULL, 0);
    CHECK_EQUAL(memcmp(derived, expected, sizeof(derived)), 0);
    memcpy(same, master, sizeof(same));
    key_derive(same, same, KEY_BEATS, NULL, 0);
    CHECK_EQUAL(memcmp(same, derived, sizeof(same)), 0);
}

TEST(keys_of_other_labels_ids_and_masters_differ)
{
    static const struct {
        const char *label, *id;
        unsigned bytes, flip; /* flip: this bit of the master key, but for 128 */
    } ways[] = { { KEY_BEATS, "", 0, 128 },   { KEY_TICKET, "", 0, 128 },   { KEY_TICKET, "a", 1, 128 },
                 { KEY_TICKET, "b", 1, 128 }, { KEY_TICKET, "ab", 2, 128 }, { KEY_TICKET, "a\0", 2, 128 },
                 { KEY_TICKET, "a", 1, 0 },   { KEY_TICKET, "a", 1, 127 } };
    enum { COUNT = sizeof(ways) / sizeof(ways[0]) };
    uint8_t keys[COUNT][KEY_BYTES], changed[KEY_BYTES];

    for (unsigned i = 0; i < COUNT; i++) {
        memcpy(changed, master, sizeof(changed));
        if (ways[i].flip < 128)
            changed[ways[i].flip / 8] ^= (uint8_t)(1 << ways[i].flip % 8);
        key_derive(keys[i], changed, ways[i].label, ways[i].id, ways[i].bytes);
        for (unsigned k = 0; k < i; k++)
            CHECK(memcmp(keys[i], keys[k], KEY_BYTES) != 0);
    }
}

int main(void)
{
    RUN(siphash_of_128_bits_answers_the_published_vectors);
    RUN(a_derived_key_is_the_hash_of_label_and_id);
    RUN(keys_of_other_labels_ids_and_masters_differ);
    return check_report("key");
}
