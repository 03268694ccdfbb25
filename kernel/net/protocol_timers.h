/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protocol_timers.h: time for the small protocols of lwIP (ARP, DHCP, IGMP, IP fragments). Each has a
 * function that must be called in fixed steps while something is pending. A smart timer is armed for that
 * long and no longer, and not for what can be found out later: ages of ARP entries are added when the table
 * is used again. TCP's timers are in connection_timer.c.
 *
 * Functions need the network's lock, except sys_now, and unless said otherwise.
 */
#ifndef TACET_NETWORK_PROTOCOL_TIMERS_H
#define TACET_NETWORK_PROTOCOL_TIMERS_H

#include <stdint.h>

/* Returns lwIP's clock: ms since boot, modulo 2^32. */
uint32_t sys_now(void);

/* Returns a number that cannot be guessed: for ports, transaction numbers, initial sequence numbers. */
uint32_t network_random(void);

/* Notes that ARP has asked for an address; protocol_timers_igmp, that a group may have to be reported. When
 * the network is unlocked, protocol_timers_update arms a timer for these. */
void protocol_timers_arp(void);
void protocol_timers_igmp(void);
void protocol_timers_update(void);

/* Does what is due, at most a bounded number of steps. Without the lock. */
void protocol_timers_run(void);

#endif
