/* SPDX-License-Identifier: BSD-2-Clause */
/* ninep_mounted.h: the export of diod, mounted (ninep_host.h). Included once per binary. */
#ifndef TACET_NINEP_MOUNTED_H
#define TACET_NINEP_MOUNTED_H

#include "ninep/mount.h"
#include "ninep_host.h"

static struct ninep_mount *mount;

/* Mounts the export of diod for this process's user. */
static inline bool mount_begin(uint64_t timeout_ns)
{
    struct message why = { "" };

    mount = calloc(1, sizeof(*mount));
    mount->session.user = getuid();
    int error = ninep_mount_begin(mount, "/home", INADDR_LOOPBACK, diod_port, diod_export, timeout_ns, &why);
    return CHECK_TEXT(why.text, "") && CHECK_EQUAL(error, 0);
}

static inline void mount_end(void)
{
    if (mount->session.transport.connection)
        ninep_transport_close(&mount->session.transport);
    free(mount);
    CHECK_EQUAL(host_memory, 0);
}

#endif
