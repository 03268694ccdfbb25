/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.h: where lwIP's IP layer hands packets on (the Makefile renames its calls of tcp_input, udp_input and
 * raw_input so): checked, reassembled, addressed to this node. The payload is at the header of TCP or UDP
 * (for network_raw_input: of IP), the addresses are ip_current_src_addr() and ip_current_dest_addr(). With
 * the network's lock held; each finds its connection by hash and links that one into lwIP's lists, if it
 * calls lwIP at all. What is for no connection of ours may be lwIP's own: DHCP's port, 68,
 * and input_port.
 */
#ifndef TACET_NETWORK_INPUT_H
#define TACET_NETWORK_INPUT_H

#include "lwip/priv/raw_priv.h"

struct netif;
struct pbuf;

/* These take the packet. */
void network_tcp_input(struct pbuf *packet, struct netif *interface);
void network_udp_input(struct pbuf *packet, struct netif *interface);

/* One more UDP port whose packets lwIP gets, where no socket has it; 0: none. */
extern uint16_t input_port;

/* Every packet comes here first, ICMP's errors too: for raw and ICMP sockets. It leaves the packet as it was,
 * and with RAW_INPUT_NONE to the others. */
raw_input_state_t network_raw_input(struct pbuf *packet, struct netif *interface);

#endif
