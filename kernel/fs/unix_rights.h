/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_rights.h: open files in messages, SCM_RIGHTS of unix(7).
 *
 * An open file stays in the table of the process that opened it, also if other processes get descriptors for
 * it: tables keep their memory when their processes have ended, and a file stays there until its last
 * reference is dropped. So offset, flags and locks are the same for all processes, as on Linux, and a file
 * that a process passes on counts among its open files until all processes have closed it. Files of kinds
 * that wake only threads of their own process (without file_operations.travels) are left out if another
 * process receives them.
 */
#ifndef TACET_UNIX_RIGHTS_H
#define TACET_UNIX_RIGHTS_H

#include "fs/file.h"

#define RIGHTS_FILES_MAX 253 /* in one message, as on Linux */

struct rights {
    struct rights *next;
    struct process *sender;   /* the process whose memory it is */
    uint64_t position, above; /* in the ring: the bytes that they were sent with; above, of a stream */
    unsigned count;
    struct file *files[RIGHTS_FILES_MAX]; /* each with a reference */
};

/* Collects the files of `count` descriptors, read from `address` on; all are in flight then. -EBADF, -EINVAL
 * if they are too many, -ETOOMANYREFS if the process has as many in flight as it may have open, -ENOMEM,
 * -EFAULT. */
int rights_create(uint64_t address, uint64_t count, struct rights **out);

/* Installs as many files as there is room for, and writes their descriptors to the program; returns how
 * many. */
unsigned rights_install(const struct rights *rights, uint64_t address, unsigned room, bool close_on_exec);

/* Drops rights, also if sockets with rights are nested in them, however deep; NULL: none. No locks may be
 * held. */
void rights_put(struct rights *rights);
void rights_put_all(struct rights *first); /* and those that follow it */

/* Drops what was sent to sockets of a process that no process can receive from any longer, because they are
 * in flight themselves, in a circle perhaps. Called at the end of the process, after it has closed its
 * descriptors. */
void unix_rights_abandon(struct process *process);

#endif
