/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ninep_mount.h: mounting what a server of 9P2000.L has: see mount.h for what can be done with it then.
 */
#ifndef TACET_NINEP_MOUNT_H
#define TACET_NINEP_MOUNT_H

#include "fs/mount.h"

/* Connects to the server and asks for its export; *mount is for mount_add. At boot, on the first CPU, after
 * network_start and before any process. -EINVAL, -ENOMEM, -EIO with `why`. */
int ninep_mount_make(const char *place, uint32_t address, uint16_t port, const char *export,
                     uint64_t timeout_ns, struct mount **mount, struct message *why);

#endif
