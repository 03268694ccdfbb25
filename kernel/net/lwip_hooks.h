/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwip_hooks.h: what lwIP asks the kernel while it handles a packet (LWIP_HOOK_* of lwipopts.h). With the
 * network's lock held.
 */
#ifndef TACET_NETWORK_LWIP_HOOKS_H
#define TACET_NETWORK_LWIP_HOOKS_H

#include "lwip/err.h"
#include "lwip/ip4_addr.h"
#include "lwip/ip_addr.h"

struct netif;
struct pbuf;

/* Sends a packet to an address of the node itself (instead of ip4.c's netif_loop_output). loopback.c */
err_t network_loop_output(struct netif *interface, struct pbuf *packet);

/* Returns the interface to an address that is in no interface's net; NULL: lwIP chooses. interface.c */
struct netif *network_ip_route(const ip4_addr_t *source, const ip4_addr_t *destination);

/* Returns the first sequence number of a TCP connection. connection.c */
uint32_t connection_first_number(uint32_t local, uint16_t local_port, uint32_t remote, uint16_t remote_port);

/* Appends more options to ask for to those of a DHCP message, and returns the new count of bytes.
 * network_dhcp_option takes an option of an answer of type `type`. address.c */
uint16_t network_dhcp_request(uint8_t *options, uint16_t count);
void network_dhcp_option(uint8_t type, uint8_t number, uint8_t bytes, const struct pbuf *packet,
                         uint16_t offset);

#endif
