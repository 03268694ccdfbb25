/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protocol_timers.h: time for the small protocols of lwIP (ARP, DHCP, IGMP, IP fragments). Each has a
 * function of its own that wants to be called in fixed steps while something is pending; a smart timer is
 * armed for that long and no longer, and not for what can be found out later: ages of ARP entries are added
 * when the table is used again. TCP's timers are connection.c's.
 *
 * Functions need the network's lock, but for sys_now.
 */
#ifndef TACET_NETWORK_PROTOCOL_TIMERS_H
#define TACET_NETWORK_PROTOCOL_TIMERS_H

#include <stdint.h>

/* lwIP's clock: ms since boot, modulo 2^32. */
uint32_t sys_now(void);

/* A number that nobody guesses: ports, transaction numbers, initial sequence numbers. */
uint32_t network_random(void);

/* ARP has asked for an address; a group may have to be reported: a timer is armed when the network is
 * unlocked. */
void protocol_timers_arp(void);
void protocol_timers_igmp(void);
void protocol_timers_update(void);

/* Does what is due, at most a bounded number of steps. Without the lock. */
void protocol_timers_run(void);

#endif
