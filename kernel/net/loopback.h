/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loopback.h: what the node sends to itself: to 127.0.0.0/8 or to its own address, within a rank and between
 * ranks. A packet is copied, with its memory charged to the sender, and received when the network is
 * unlocked: one at a time, with the lock released in between, so that handling a packet never nests. With the
 * network's lock held.
 */
#ifndef TACET_NETWORK_LOOPBACK_H
#define TACET_NETWORK_LOOPBACK_H

#include <stdbool.h>
#include <stdint.h>

struct netif;

extern struct netif loopback_interface;
extern uint64_t loopback_packets, loopback_bytes, loopback_dropped; /* so far */
extern unsigned loopback_sent; /* packets that were queued since the last network_unlock */

/* Makes the loopback interface, after lwip_init. */
void loopback_start(void);

/* Receives the oldest packet. Returns false if there is none. */
bool loopback_receive(void);
bool loopback_pending(void);

#endif
