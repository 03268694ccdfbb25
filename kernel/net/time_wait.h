/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_wait.h: connections that this node has closed first (TIME_WAIT). For a minute a record keeps their
 * addresses and ports, so that a segment that is still in the network meets no new connection of the same
 * addresses, and so that the node acknowledges a FIN that the peer repeats. The record needs nothing of the
 * stream or of its rank. The node has a fixed number of records; a new one replaces the oldest. No timer
 * removes a record: each lookup checks its age. With the network's lock held. [RFC 9293 §3.6.1, §3.10.7.4;
 * RFC 1337]
 */
#ifndef TACET_NETWORK_TIME_WAIT_H
#define TACET_NETWORK_TIME_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct connection;
struct netif;
struct pbuf;
struct wait_record;

/* Allocates the records, once. */
void time_wait_start(void);

/* Makes a record of a connection whose pcb is in TIME_WAIT, and frees the pcb. */
void time_wait_enter(const struct connection *connection);

/* Returns the record of these addresses; NULL if there is none. */
struct wait_record *time_wait_find(uint32_t local_address, uint16_t local_port, uint32_t remote_address,
                                   uint16_t remote_port);

/* Returns whether there is a record of this local port. */
bool time_wait_uses_port(uint16_t port);

/* Returns whether a connection request with this number is a new one, and not an old segment. */
bool time_wait_is_past(const struct wait_record *record, uint32_t number);

/* Handles a segment for the record. Takes the packet. */
void time_wait_input(struct wait_record *record, struct pbuf *packet, struct netif *interface);

void time_wait_remove(struct wait_record *record);

/* Removes the records of processes, which own no connections any longer. */
void time_wait_processes_drop(void);

#endif
