/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.h: the credentials of the other end of a Unix socket, as the kernel knows them, unix(7): SO_PEERCRED
 * and SO_PEERGROUPS (Linux 4.13); and this process's own.
 */
#ifndef TACET_SERVICE_PEER_H
#define TACET_SERVICE_PEER_H

#include "lib/credentials.h"
#include <stdbool.h>
#include <sys/types.h>

struct peer {
    pid_t pid;
    struct credentials who; /* as they were when it connected */
};

/* Returns 0, or -1 with errno; ERANGE: the peer has more than CREDENTIALS_GROUPS_MAX groups. */
int peer_read(int socket, struct peer *peer);

/* Returns as peer_read does. */
int credentials_own(struct credentials *who);

/* Returns whether a group is the main one, or a supplementary one. */
bool credentials_have(const struct credentials *who, gid_t group);

#endif
