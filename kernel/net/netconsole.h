/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netconsole.h: `netconsole=ADDRESS[:PORT]`: sends the console's lines as UDP datagrams, one a line, as
 * Linux's netconsole does. They wait in a ring, which the CPU that prints fills under the console's lock. A
 * holder of the network's lock empties it: the CPU that prints, if that lock is free at once, else the lock's
 * holder before it releases it. No CPU waits. A CPU that panics sends without the lock. Frames are made by
 * hand and go straight to the driver, because lwIP may be what has failed.
 */
#ifndef TACET_NETWORK_NETCONSOLE_H
#define TACET_NETWORK_NETCONSOLE_H

#include "lib/command_line.h"
#include "lib/format.h"
#include <stdbool.h>
#include <stdint.h>

/* Reads the option, and keeps the console's lines from now on. Called after console_configure. -EINVAL with
 * `why`. */
int netconsole_configure(const struct command_line *line, struct message *why);

/* Asks for the receiver's hardware address, once the node has its own address, and sends what has been kept.
 * Without the network's lock, before programs. */
void netconsole_start(void);

/* Sends the oldest line. Returns false if there is none, or if it cannot be sent now. With the network's
 * lock, or in a panic. */
bool netconsole_send(void);

/* Lines, or parts of long ones, that found the ring full. */
extern uint64_t netconsole_dropped;

#endif
