/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * size.h: numbers that lwIP, or a header of a protocol, takes in 16 bits. A caller with a number of more bits
 * has checked before that it fits. If it does not all the same, the node stops here instead of working on
 * with what is left of it. No other file of kernel/net casts to unsigned 16 bits (tests/structure).
 */
#ifndef TACET_NETWORK_SIZE_H
#define TACET_NETWORK_SIZE_H

#include <stdint.h>

uint16_t size_16(uint64_t number);

#endif
