/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp.h: connections between a job's launcher, its nodes and its ranks. tcp(7).
 */
#ifndef TACET_SERVICE_TCP_H
#define TACET_SERVICE_TCP_H

#include <netinet/in.h>
#include <stdint.h>

/* Listens at an address and port; port 0: *here gets a free one. The socket, or -1 with errno. */
int tcp_listen(struct sockaddr_in *here);

/* A connection lasts although the other side says nothing, and is given up once the other system has not
 * answered, or has had no room for what is sent, for `silence_ns`; 0: never. What is sent goes at once. */
void tcp_keep(int connection, uint64_t silence_ns);

#endif
