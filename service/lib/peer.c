/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.c: see peer.h.
 */
#include "service/lib/peer.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are read in place");

int peer_read(int socket, struct peer *peer)
{
    struct ucred one;
    socklen_t bytes = sizeof(one), group_bytes = sizeof(peer->who.groups);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &one, &bytes) ||
        getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer->who.groups, &group_bytes))
        return -1;
    peer->pid = one.pid;
    peer->who.uid = one.uid;
    peer->who.gid = one.gid;
    peer->who.group_count = group_bytes / sizeof(gid_t);
    return 0;
}

int credentials_own(struct credentials *who)
{
    const int count = getgroups(CREDENTIALS_GROUPS_MAX, who->groups);

    if (count < 0) {
        errno = ERANGE; /* the only error that getgroups(2) has here */
        return -1;
    }
    who->uid = getuid();
    who->gid = getgid();
    who->group_count = (unsigned)count;
    return 0;
}

bool credentials_have(const struct credentials *who, gid_t group)
{
    for (unsigned i = 0; i < who->group_count; i++)
        if (who->groups[i] == group)
            return true;
    return who->gid == group;
}
