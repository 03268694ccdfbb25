/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwip_hooks.h: what lwIP asks the kernel while it handles a packet (LWIP_HOOK_* of lwipopts.h). The caller
 * holds the network's lock.
 */
#ifndef TACET_NETWORK_LWIP_HOOKS_H
#define TACET_NETWORK_LWIP_HOOKS_H

#include "lwip/err.h"
#include "lwip/ip4_addr.h"
#include "lwip/priv/raw_priv.h"

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

/* ---- Packets ---- */

/* lwIP's IP layer hands packets on here (the build renames its calls of tcp_input, udp_input and raw_input):
 * checked, reassembled, addressed to this node. The payload is at the header of TCP or UDP (for
 * network_raw_input: of IP), the addresses are ip_current_src_addr() and ip_current_dest_addr(). Each finds
 * its connection or socket by addresses and ports, and links only that connection into lwIP's lists, if it
 * calls lwIP at all. Packets for none of them may be for lwIP: to DHCP's port, 68, and to input_port. */

/* Handles a TCP segment; network_udp_input, a UDP datagram. Both take ownership of the packet. */
void network_tcp_input(struct pbuf *packet, struct netif *interface);
void network_udp_input(struct pbuf *packet, struct netif *interface);

/* One more UDP port whose packets lwIP gets, if no socket has it; 0: none. */
extern uint16_t input_port;

/* Hands a packet to raw and ICMP sockets. Every packet comes here first, ICMP's errors too. Leaves it as it
 * was, and with RAW_INPUT_NONE to the other functions. */
raw_input_state_t network_raw_input(struct pbuf *packet, struct netif *interface);

#endif
