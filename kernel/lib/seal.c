/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seal.c: see seal.h. HChaCha20 is the state of ChaCha20 before its last step, which adds the first state:
 * known constants, counter and nonce in the words that count.
 */
#include "lib/seal.h"
#include "lib/kstring.h"
#include <bearssl_block.h>
#include <bearssl_ec.h>

void wipe(void *secret, size_t bytes)
{
    memset(secret, 0, bytes);
    __asm__ volatile("" : : "r"(secret) : "memory"); /* else the compiler may leave it out */
}

void curve_public(uint8_t public[CURVE_BYTES], const uint8_t secret[CURVE_BYTES])
{
    br_ec_c25519_m31.mulgen(public, secret, CURVE_BYTES, BR_EC_curve25519);
}

bool curve_agree(uint8_t key[SEAL_KEY_BYTES], const uint8_t secret[CURVE_BYTES],
                 const uint8_t public[CURVE_BYTES])
{
    static const uint32_t constants[4] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
    static const uint8_t nonce[SEAL_NONCE_BYTES];
    uint8_t shared[CURVE_BYTES], any = 0;
    uint32_t block[16] = { 0 };

    memcpy(shared, public, sizeof(shared));
    br_ec_c25519_m31.mul(shared, sizeof(shared), secret, CURVE_BYTES, BR_EC_curve25519);
    for (unsigned i = 0; i < sizeof(shared); i++)
        any |= shared[i];
    br_chacha20_ct_run(shared, nonce, 0, block, sizeof(block));
    for (unsigned i = 0; i < 4; i++)
        block[i] -= constants[i];
    memcpy(key, block, 16);
    memcpy(key + 16, block + 12, 16);
    wipe(shared, sizeof(shared));
    wipe(block, sizeof(block));
    return any != 0;
}

void seal(const uint8_t key[SEAL_KEY_BYTES], const uint8_t nonce[SEAL_NONCE_BYTES], const void *header,
          size_t header_bytes, void *text, size_t bytes, uint8_t tag[SEAL_TAG_BYTES])
{
    br_poly1305_ctmul_run(key, nonce, text, bytes, header, header_bytes, tag, br_chacha20_ct_run, 1);
}

bool unseal(const uint8_t key[SEAL_KEY_BYTES], const uint8_t nonce[SEAL_NONCE_BYTES], const void *header,
            size_t header_bytes, void *text, size_t bytes, const uint8_t tag[SEAL_TAG_BYTES])
{
    uint8_t right[SEAL_TAG_BYTES], differs = 0;

    br_poly1305_ctmul_run(key, nonce, text, bytes, header, header_bytes, right, br_chacha20_ct_run, 0);
    for (unsigned i = 0; i < sizeof(right); i++)
        differs |= right[i] ^ tag[i];
    return differs == 0;
}
