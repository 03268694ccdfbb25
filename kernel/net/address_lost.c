/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_lost.c: what becomes of connections whose address is not the node's any more.
 */
#include "net/connection.h"

void connection_address_lost(uint32_t address)
{
    (void)address;
}

#include "lwip/udp.h"
#include "net/input.h"

void network_udp_input(struct pbuf *packet, struct netif *interface)
{
    udp_input(packet, interface);
}

raw_input_state_t network_raw_input(struct pbuf *packet, struct netif *interface)
{
    (void)packet, (void)interface;
    return RAW_INPUT_NONE;
}
