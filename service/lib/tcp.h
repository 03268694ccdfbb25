/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp.h: connections between a job's launcher, its nodes and its ranks. tcp(7).
 */
#ifndef TACET_SERVICE_TCP_H
#define TACET_SERVICE_TCP_H

#include <netinet/in.h>
#include <stdint.h>

/* Listens at an address and port; port 0: a free port, returned in *here. Returns the socket, or -1 with
 * errno. */
int tcp_listen(struct sockaddr_in *here);

/* Sets a connection's time-out: it fails if the peer's system does not acknowledge, or has no room for data,
 * for `silence_ns` (0: never). An idle connection lasts as long as the peer answers keep-alives. Also turns
 * off Nagle's delay. */
void tcp_keep(int connection, uint64_t silence_ns);

#endif
