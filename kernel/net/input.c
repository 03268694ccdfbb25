/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.c: see input.h.
 */
#include "net/input.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/udp.h"

void network_tcp_input(struct pbuf *packet, struct netif *interface)
{
    tcp_input(packet, interface);
}

void network_udp_input(struct pbuf *packet, struct netif *interface)
{
    udp_input(packet, interface);
}

raw_input_state_t network_raw_input(struct pbuf *packet, struct netif *interface)
{
    return raw_input(packet, interface);
}

void connection_work(void)
{
}

void connection_address_lost(uint32_t address)
{
    (void)address;
}

void tcp_timer_needed(void)
{
}
