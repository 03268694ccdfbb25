/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * seal.h: agreement on a key between two that know each other's public keys (X25519, RFC 7748), and
 * encryption with a tag under such a key (ChaCha20-Poly1305, RFC 8439): by BearSSL (ports/bearssl), in
 * constant time. Portable C, for the kernel, the service programs, and tests; any context.
 *
 * curve_agree takes some two million instructions, seal and unseal a few thousand.
 */
#ifndef TACET_SEAL_H
#define TACET_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURVE_BYTES      32 /* of a secret, and of a public key */
#define SEAL_KEY_BYTES   32
#define SEAL_NONCE_BYTES 12
#define SEAL_TAG_BYTES   16

/* Makes the public key of a secret: 32 random bytes. */
void curve_public(uint8_t public[CURVE_BYTES], const uint8_t secret[CURVE_BYTES]);

/* Makes the key that this secret's owner shares with the owner of another one's public key: HChaCha20
 * [draft-irtf-cfrg-xchacha §2.2], with a nonce of zeros, of X25519's result. Returns false if that result
 * does not depend on the secret: the public key is one of a few that are no secret's. */
bool curve_agree(uint8_t key[SEAL_KEY_BYTES], const uint8_t secret[CURVE_BYTES],
                 const uint8_t public[CURVE_BYTES]);

/* Encrypts a text in place, and makes the tag of it and of a header that stays in clear. A nonce may be used
 * once under a key. */
void seal(const uint8_t key[SEAL_KEY_BYTES], const uint8_t nonce[SEAL_NONCE_BYTES], const void *header,
          size_t header_bytes, void *text, size_t bytes, uint8_t tag[SEAL_TAG_BYTES]);

/* Decrypts in place. Returns false, and leaves junk, if key, nonce, header, text and tag do not belong
 * together. */
bool unseal(const uint8_t key[SEAL_KEY_BYTES], const uint8_t nonce[SEAL_NONCE_BYTES], const void *header,
            size_t header_bytes, void *text, size_t bytes, const uint8_t tag[SEAL_TAG_BYTES]);

/* Overwrites a secret that is not needed any longer. */
void wipe(void *secret, size_t bytes);

#endif
