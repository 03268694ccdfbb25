/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checksum.h: the Internet's checksum, RFC 1071: the ones' complement sum of 16-bit words. Any context.
 */
#ifndef TACET_CHECKSUM_H
#define TACET_CHECKSUM_H

#include <stdint.h>

/* The sum of `bytes` bytes (0 to 2^31 - 1) at any alignment, as pairs from the first one on, an odd last one
 * with a zero after it; not complemented. In the order of bytes in which the pairs stand in memory, whatever
 * that of the machine is. lwIP's LWIP_CHKSUM. */
uint16_t checksum_add(const void *data, int bytes);

#endif
