/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.h: the node's address, and what came with it: `ip=`, DHCP [RFC 2131]. An infinite lease arms
 * nothing. A finite one is renewed when the network is used, or by an idle CPU; no computing CPU is
 * interrupted for it. If it has expired meanwhile, the address is probed before it is used again [RFC 5227]:
 * nothing is sent until it is known whether another node has it. If another node does, connections from the
 * address get errors, and DHCP begins again. Callers hold the network's lock, unless said otherwise.
 */
#ifndef TACET_NETWORK_ADDRESS_H
#define TACET_NETWORK_ADDRESS_H

#include "lib/command_line.h"
#include "net/address_option.h"
#include "net/dhcp_option.h"
#include <stdbool.h>
#include <stdint.h>

#define NAME_SERVERS_MAX 8
#define ROUTES_MAX       16
#define SEARCH_BYTES     256

/* What came with the address. */
struct node_facts {
    char name[HOST_NAME_BYTES]; /* empty: none */
    char search[SEARCH_BYTES];  /* domains, separated by blanks; empty: none */
    uint32_t name_servers[NAME_SERVERS_MAX];
    uint32_t time_server; /* 0: none */
    uint16_t mtu;         /* 0: the card's */
    struct route routes[ROUTES_MAX];
    unsigned route_count;
};
extern struct node_facts node_facts;

/* Returns the address of Ethernet to send to for this one: itself, that of a route, or else the router; 0 if
 * no way leads there. */
uint32_t address_next(uint32_t destination);

/* Reads `ip=` and `ip_wait=`; `ip=dhcp` is the default. -EINVAL with `why`. */
int address_configure(const struct command_line *line, struct message *why);

/* Gives the interface its address, or waits for DHCP's, at most ip_wait. Called without the lock, before
 * programs. */
void address_start(void);

/* Returns whether an answer is awaited: DHCP's, or another node's to a probe. */
bool address_is_busy(void);

/* Renews the lease or probes the address, if either is due. */
void address_update(uint64_t now_ns);

/* Takes the sender's address of an ARP packet of another node: the probe fails if it is this node's. */
void address_conflict(uint32_t address);

/* Returns whether the address is being probed: only ARP may send then. */
bool address_is_probed(void);

/* ---- The wall clock, set once at boot by a server of SNTP [RFC 4330]: time_server.c ----
 *
 * The server is that of `ntp=ADDRESS`, or else the first one that DHCP names [RFC 2132 §8.3], unless there is
 * `ntp=off`. It is asked up to three times, a second each; an invalid answer counts as none. Leaves no timer
 * and no socket: the node's clock keeps the rate that it has measured at its start. */

/* Reads the option. -EINVAL with `why`. */
int time_server_configure(const struct command_line *line, struct message *why);

/* Sets the clock, once the node has an address, and says so. Without the network's lock, before programs. */
void time_server_start(void);

#endif
