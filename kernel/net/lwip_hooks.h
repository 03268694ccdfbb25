/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwip_hooks.h: what lwIP asks the kernel while it handles a packet (LWIP_HOOK_* of lwipopts.h); with the
 * network's lock held. interface.c
 */
#ifndef TACET_NETWORK_LWIP_HOOKS_H
#define TACET_NETWORK_LWIP_HOOKS_H

#include "lwip/ip4_addr.h"

struct netif;

/* The interface towards an address; NULL: lwIP chooses. Own addresses lead to loopback. */
struct netif *network_ip_route(const ip4_addr_t *source, const ip4_addr_t *destination);

#endif
