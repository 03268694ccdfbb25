/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * size.c: see size.h.
 */
#include "net/size.h"
#include "debug/stop.h"

uint16_t size_16(uint64_t number)
{
    ASSERT(number <= UINT16_MAX);
    return (uint16_t)number;
}
