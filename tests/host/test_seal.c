/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_seal.c: X25519 and ChaCha20-Poly1305 give what their standards print, both sides of an agreement make
 * the same key, and nothing that was changed is unsealed.
 */
#include "check.h"
#include "lib/bytes.h"
#include "lib/seal.h"
#include <string.h>

#define TEXT                                                                                                 \
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen " \
    "would be it."

static void read_hexadecimal(uint8_t *bytes, const char *text)
{
    for (; *text; text += 2)
        *bytes++ = (uint8_t)(hexadecimal_digit(text[0]) << 4 | hexadecimal_digit(text[1]));
}

static void check_bytes(const uint8_t *bytes, const char *expected)
{
    char text[512] = "";

    for (size_t i = 0; i < strlen(expected) / 2; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    CHECK_TEXT(text, expected);
}

/* RFC 7748 §5.2: the first of the iterations, whose secret is the base point. */
TEST(a_public_key_is_that_of_rfc_7748)
{
    uint8_t secret[CURVE_BYTES] = { 9 }, public[CURVE_BYTES];

    curve_public(public, secret);
    check_bytes(public, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
}

/* RFC 7748 §5.2, the first vector; its result, c3da5537…, goes through HChaCha20 (tests/key_frames.py, which
 * answers the vector of draft-irtf-cfrg-xchacha §2.2.1). */
TEST(a_shared_key_is_made_of_the_point_of_rfc_7748)
{
    uint8_t secret[CURVE_BYTES], public[CURVE_BYTES], key[SEAL_KEY_BYTES];

    read_hexadecimal(secret, "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    read_hexadecimal(public, "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
    CHECK(curve_agree(key, secret, public));
    check_bytes(key, "c7328db7e9756741bf3eb4f082c5bc57c58c77a5be31df0a02340cf235f81828");
}

TEST(both_sides_agree_on_one_key)
{
    uint8_t secrets[2][CURVE_BYTES], publics[2][CURVE_BYTES], keys[2][SEAL_KEY_BYTES];

    for (unsigned round = 0; round < 20; round++) {
        for (unsigned side = 0; side < 2; side++) {
            for (unsigned i = 0; i < CURVE_BYTES; i++)
                secrets[side][i] = (uint8_t)(i * i * 7 + 91 * round + 13 * side);
            curve_public(publics[side], secrets[side]);
        }
        CHECK(curve_agree(keys[0], secrets[0], publics[1]) && curve_agree(keys[1], secrets[1], publics[0]));
        CHECK_EQUAL(memcmp(keys[0], keys[1], SEAL_KEY_BYTES), 0);
    }
}

/* Points of small order, with which every secret gives the same: 0, 1, and p - 1. */
TEST(a_public_key_that_gives_the_same_for_every_secret_is_refused)
{
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    };
    uint8_t secret[CURVE_BYTES] = { 77, 1, 2, 3 }, public[CURVE_BYTES], key[SEAL_KEY_BYTES];

    for (unsigned i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        read_hexadecimal(public, points[i]);
        CHECK(!curve_agree(key, secret, public));
    }
}

/* Makes what RFC 8439 §2.8.2 shows. */
static void sealed_make(uint8_t *text, uint8_t *tag, uint8_t *key, uint8_t *nonce, uint8_t *header)
{
    read_hexadecimal(key, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
    read_hexadecimal(nonce, "070000004041424344454647");
    read_hexadecimal(header, "50515253c0c1c2c3c4c5c6c7");
    memcpy(text, TEXT, sizeof(TEXT) - 1);
    seal(key, nonce, header, 12, text, sizeof(TEXT) - 1, tag);
}

TEST(a_sealed_text_is_that_of_rfc_8439)
{
    uint8_t text[sizeof(TEXT)], tag[SEAL_TAG_BYTES], key[SEAL_KEY_BYTES], nonce[SEAL_NONCE_BYTES], header[12];

    sealed_make(text, tag, key, nonce, header);
    check_bytes(text,
                "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69"
                "da92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad67594"
                "5585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116");
    check_bytes(tag, "1ae10b594f09e26a7e902ecbd0600691");
    CHECK(unseal(key, nonce, header, 12, text, sizeof(TEXT) - 1, tag));
    CHECK_EQUAL(memcmp(text, TEXT, sizeof(TEXT) - 1), 0);
}

TEST(nothing_that_was_changed_is_unsealed)
{
    uint8_t text[sizeof(TEXT)], tag[SEAL_TAG_BYTES], key[SEAL_KEY_BYTES], nonce[SEAL_NONCE_BYTES], header[12];
    const struct {
        uint8_t *bytes;
        size_t count;
    } parts[] = { { text, sizeof(TEXT) - 1 },
                  { tag, sizeof(tag) },
                  { key, sizeof(key) },
                  { nonce, sizeof(nonce) },
                  { header, sizeof(header) } };

    for (unsigned part = 0; part < sizeof(parts) / sizeof(parts[0]); part++)
        for (size_t bit = 0; bit < 8 * parts[part].count; bit += 5) {
            sealed_make(text, tag, key, nonce, header);
            parts[part].bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            CHECK(!unseal(key, nonce, header, 12, text, sizeof(TEXT) - 1, tag));
        }
}

int main(void)
{
    RUN(a_public_key_is_that_of_rfc_7748);
    RUN(a_shared_key_is_made_of_the_point_of_rfc_7748);
    RUN(both_sides_agree_on_one_key);
    RUN(a_public_key_that_gives_the_same_for_every_secret_is_refused);
    RUN(a_sealed_text_is_that_of_rfc_8439);
    RUN(nothing_that_was_changed_is_unsealed);
    return check_report("seal");
}
