/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_server.h: sets the wall clock once, at boot, by a server of SNTP [RFC 4330]: that of `ntp=ADDRESS`, or
 * else the first one that DHCP names [RFC 2132 §8.3], unless there is `ntp=off`. Asks up to three times, a
 * second each; an invalid answer counts as none. Leaves no timer and no socket: the node's clock keeps the
 * rate that it has measured at its start.
 */
#ifndef TACET_NETWORK_TIME_SERVER_H
#define TACET_NETWORK_TIME_SERVER_H

#include "lib/command_line.h"
#include "lib/format.h"

/* Reads the option. -EINVAL with `why`. */
int time_server_configure(const struct command_line *line, struct message *why);

/* Sets the clock, once the node has an address, and says so. Without the network's lock, before programs. */
void time_server_start(void);

#endif
