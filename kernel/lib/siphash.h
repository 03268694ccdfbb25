/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * siphash.h: SipHash-2-4, a keyed hash of 64 or 128 bits: without the key, the tag of a message that was not
 * seen cannot be made. Some hundred instructions for a short message. Any context.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, §2; the variant of 128
 * bits is in the reference implementation, github.com/veorq/SipHash.
 */
#ifndef TACET_SIPHASH_H
#define TACET_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY_BYTES 16
#define SIPHASH_128_BYTES 16

uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void *message, size_t bytes);

void siphash_128(uint8_t out[SIPHASH_128_BYTES], const uint8_t key[SIPHASH_KEY_BYTES], const void *message,
                 size_t bytes);

#endif
