/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwip_hooks.h: what lwIP asks the kernel while it handles a packet (LWIP_HOOK_* of lwipopts.h); with the
 * network's lock held. interface.c
 */
#ifndef TACET_NETWORK_LWIP_HOOKS_H
#define TACET_NETWORK_LWIP_HOOKS_H

#include "lwip/err.h"
#include "lwip/ip4_addr.h"
#include "lwip/ip_addr.h"

struct netif;
struct pbuf;

/* A packet to an address of the node itself (ip4.c's netif_loop_output). loopback.c */
err_t network_loop_output(struct netif *interface, struct pbuf *packet);

/* The interface towards an address where none has it in its net; NULL: lwIP chooses. */
struct netif *network_ip_route(const ip4_addr_t *source, const ip4_addr_t *destination);

/* The first sequence number of a TCP connection. connection.c */
uint32_t connection_first_number(uint32_t local, uint16_t local_port, uint32_t remote, uint16_t remote_port);

/* DHCP: more options to ask for, appended to those of a message (the new count of bytes); an option of an
 * answer of this type. address.c */
uint16_t network_dhcp_request(uint8_t *options, uint16_t count);
void network_dhcp_option(uint8_t type, uint8_t number, uint8_t bytes, const struct pbuf *packet,
                         uint16_t offset);

#endif
