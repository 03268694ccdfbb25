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

#endif
