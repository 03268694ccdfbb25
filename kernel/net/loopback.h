/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loopback.h: what the node sends to itself: to 127.0.0.0/8 or to an address of its own, within a rank and
 * between ranks. A packet is copied, its memory charged to who sends it, and received when the network is
 * unlocked: one at a time, the lock released between two, so that nothing recurs under it. With the network's
 * lock held.
 */
#ifndef TACET_NETWORK_LOOPBACK_H
#define TACET_NETWORK_LOOPBACK_H

#include <stdbool.h>
#include <stdint.h>

struct netif;

extern struct netif loopback_interface;
extern uint64_t loopback_packets, loopback_bytes, loopback_dropped; /* so far */
extern unsigned loopback_sent; /* packets that were queued since the last network_unlock */

/* After lwip_init. */
void loopback_start(void);

/* Receives the oldest packet. False: there is none. */
bool loopback_receive(void);
bool loopback_pending(void);

#endif
