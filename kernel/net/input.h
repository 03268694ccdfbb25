/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h: where lwIP's IP layer hands packets on (the build renames its calls of tcp_input, udp_input and
 * raw_input to these): checked, reassembled, addressed to this node. The payload is at the header of TCP or
 * UDP (for network_raw_input: of IP), the addresses are ip_current_src_addr() and ip_current_dest_addr().
 * With the network's lock held. Each finds its connection or socket by addresses and ports, and links only
 * that connection into lwIP's lists, if it calls lwIP at all. Packets for none of them may be for lwIP: to
 * DHCP's port, 68, and to input_port.
 */
#ifndef TACET_NETWORK_INPUT_H
#define TACET_NETWORK_INPUT_H

#include "lwip/priv/raw_priv.h"

struct netif;
struct pbuf;

/* Handles a TCP segment; network_udp_input, a UDP datagram. Both take ownership of the packet. */
void network_tcp_input(struct pbuf *packet, struct netif *interface);
void network_udp_input(struct pbuf *packet, struct netif *interface);

/* One more UDP port whose packets lwIP gets, if no socket has it; 0: none. */
extern uint16_t input_port;

/* Hands a packet to raw and ICMP sockets. Every packet comes here first, ICMP's errors too. Leaves it as it
 * was, and with RAW_INPUT_NONE to the other functions. */
raw_input_state_t network_raw_input(struct pbuf *packet, struct netif *interface);

#endif
