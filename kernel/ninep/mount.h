/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.h: the files of a 9P2000.L server (diod, for one) as a mount (fs/mount.h). All calls on one
 * mount share one connection, its tags and fids (session.h). Its memory, allocated when it is made, is
 * NINEP_MOUNT_BYTES of the kernel's pool; the two rings of its connection are the network's. What a call
 * needs, and an open file, is the calling rank's.
 */
#ifndef TACET_NINEP_MOUNT_H
#define TACET_NINEP_MOUNT_H

#include "lib/format.h"
#include "ninep/session.h"

struct ninep_mount {
    struct mount mount;
    struct ninep_session session;
    char export[256];
};

#define NINEP_MOUNT_BYTES 8192
_Static_assert(sizeof(struct ninep_mount) <= NINEP_MOUNT_BYTES, "a mount has that much");

extern const struct mount_operations ninep_operations;

/* Connects to a server: at boot, before there are processes. `place` is where it is to be mounted, `export`
 * what the server calls it; `timeout_ns` is how long a call waits for the server. -EINVAL, -ENOMEM, -EPROTO
 * or -EOPNOTSUPP (no server of 9P2000.L), the error of the connection or of the server, with `why`. */
int ninep_mount_make(const char *place, uint32_t address, uint16_t port, const char *export,
                     uint64_t timeout_ns, struct mount **mount, struct message *why);

/* The same in the caller's memory, zeroed. */
int ninep_mount_begin(struct ninep_mount *mount, const char *place, uint32_t address, uint16_t port,
                      const char *export, uint64_t timeout_ns, struct message *why);

#endif
