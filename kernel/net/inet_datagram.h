/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet_datagram.h: options of datagram sockets (inet_option.c), for inet_datagram.c.
 */
#ifndef TACET_NETWORK_INET_DATAGRAM_H
#define TACET_NETWORK_INET_DATAGRAM_H

#include "net/datagram.h"

int datagram_option_set(struct file *file, int level, int option, const void *value, uint32_t bytes);
int datagram_option_get(struct file *file, int level, int option, void *value, uint32_t *bytes);

/* Leaves all multicast groups. With the lock. */
void datagram_memberships_drop(struct datagram_socket *socket);

#endif
