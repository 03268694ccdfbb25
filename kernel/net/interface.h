/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interface.h: the node's network interfaces, as lwIP's netifs: loopback (loopback.c), and `eth0` over the
 * one network device that the node uses. Frames go to and from the device here. With the network's lock held,
 * unless said otherwise.
 */
#ifndef TACET_NETWORK_INTERFACE_H
#define TACET_NETWORK_INTERFACE_H

#include "lwip/netif.h"
#include "net/beat_wire.h"
#include <stdbool.h>
#include <stdint.h>

struct network_device;

#define INTERFACE_MTU (ETHERNET_FRAME_BYTES_MAX - ETHERNET_HEADER_BYTES)
extern struct netif ethernet_interface;       /* its MTU may be lower */
extern struct network_device *network_device; /* that the node uses; NULL: loopback alone */

/* Makes the interface of a device, after lwip_init. */
void interface_start(struct network_device *device);

/* Receives the oldest frame. Returns false if there is none. *beat says what is left to do once the lock is
 * released. With `keeps`, in the interrupt of a CPU that computes, a frame that is no heartbeat is kept
 * (beat_wire.h), and received by a later call without it. */
#define INTERFACE_KEPT_MAX 128
bool interface_receive(enum beat_taken *beat, bool keeps);
bool interface_has_kept(void);

/* What the node sends to itself: to 127.0.0.0/8 or to its own address, within a rank and between ranks. A
 * packet is copied, with its memory charged to the sender, and received when the network is unlocked: one at
 * a time, with the lock released in between, so that handling a packet never nests. */
extern struct netif loopback_interface;
extern uint64_t loopback_packets, loopback_bytes, loopback_dropped; /* so far */
extern unsigned loopback_sent; /* packets that were queued since the last network_unlock */

/* Makes the loopback interface, after lwip_init. loopback.c */
void loopback_start(void);

/* Receives the oldest packet. Returns false if there is none. */
bool loopback_receive(void);
bool loopback_pending(void);

/* Returns a packet of `bytes` bytes for lwIP to look at, its contents undefined; NULL if there is no
 * memory. */
struct pbuf;
struct pbuf *interface_packet(uint16_t bytes);

/* Has the driver look after its interrupts and its link; prints changes of the link. */
void interface_service(void);

/* Returns whether the driver has seen a change of the link that interface_service has not handled yet.
 * Without the lock, at any time. */
bool interface_link_has_changed(void);

/* Returns the address from which the node sends to another one, in network byte order: its own if it sends to
 * itself; 0 if no interface leads there. */
uint32_t interface_source(uint32_t destination);

/* Returns whether an address, in network byte order, is one of the node's. */
bool interface_owns(uint32_t address);

/* Frames that were dropped for lack of memory, or because lwIP does not know them. */
extern uint64_t interface_receive_dropped, interface_send_dropped;

/* Writes "10.0.2.15" for an address in network byte order, at most ADDRESS_TEXT_BYTES with its NUL. */
#define ADDRESS_TEXT_BYTES 16
const char *address_text(uint32_t address, char text[ADDRESS_TEXT_BYTES]);

#endif
