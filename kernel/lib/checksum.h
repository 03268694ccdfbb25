/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checksum.h: the Internet's checksum, RFC 1071: the ones' complement sum of 16-bit words. Any context.
 */
#ifndef TACET_CHECKSUM_H
#define TACET_CHECKSUM_H

#include <stdint.h>

/* Returns the sum of `bytes` bytes (0 to 2^31 - 1) at any alignment, as pairs from the first one on, an odd
 * last one with a zero after it; not complemented. The sum's byte order is that of the pairs in memory,
 * whatever the machine's is. lwIP's LWIP_CHKSUM. */
uint16_t checksum_add(const void *data, int bytes);

#endif
