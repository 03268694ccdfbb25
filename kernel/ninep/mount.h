/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.h: the files of a 9P2000.L server (for example diod) as a mount (fs/mount.h). All calls on one mount
 * share one connection, its tags and fids (session.h). The memory of a mount, allocated when it is made, is
 * NINEP_MOUNT_BYTES of the kernel's pool; the two queues of its connection are the network's. Memory for
 * calls and open files is the calling rank's.
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

/* Connects to a server, at boot, before there are processes. `place` is where it is to be mounted, `export`
 * is the server's name for it, `timeout_ns` is how long a call waits for the server. -EINVAL, -ENOMEM,
 * -EPROTO or -EOPNOTSUPP (not a server of 9P2000.L), the error of the connection or of the server, with
 * `why`. */
int ninep_mount_make(const char *place, uint32_t address, uint16_t port, const char *export,
                     uint64_t timeout_ns, struct mount **mount, struct message *why);

/* Does the same in the caller's memory, which is zeroed. */
int ninep_mount_begin(struct ninep_mount *mount, const char *place, uint32_t address, uint16_t port,
                      const char *export, uint64_t timeout_ns, struct message *why);

#endif
