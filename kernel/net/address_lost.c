/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_lost.c: what becomes of connections whose address is not the node's any more.
 */
#include "net/connection.h"

void connection_address_lost(uint32_t address)
{
    (void)address;
}
