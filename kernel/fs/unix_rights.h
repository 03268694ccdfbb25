/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_rights.h: open files in messages, SCM_RIGHTS of unix(7).
 *
 * An open file stays in the table of the process that opened it, whoever else gets descriptors for it: tables
 * keep their memory when their processes have ended, and a file stays there until its last reference is
 * dropped. So offset, flags and locks are the same for all, as on Linux, and what one passes on counts among
 * one's own open files until all have closed it. Files of kinds that wake only threads of their own process
 * (file_operations.travels) are left out where they come to another one.
 */
#ifndef TACET_UNIX_RIGHTS_H
#define TACET_UNIX_RIGHTS_H

#include "fs/file.h"

#define RIGHTS_FILES_MAX 253 /* in one message, as on Linux */

struct rights {
    struct rights *next;
    struct process *sender;   /* whose memory it is */
    uint64_t position, above; /* in the ring of a stream: of the bytes that they were sent with */
    unsigned count;
    struct file *files[RIGHTS_FILES_MAX]; /* each with a reference */
};

/* The files of these descriptors, `count` of them from `address` on, all in flight. -EBADF, -EINVAL where
 * they are too many, -ETOOMANYREFS where the process has as many in flight as it may have open, -ENOMEM,
 * -EFAULT. */
int rights_create(uint64_t address, uint64_t count, struct rights **out);

/* Installs as many as there is room for, and writes their descriptors to the program: how many. */
unsigned rights_install(const struct rights *rights, uint64_t address, unsigned room, bool close_on_exec);

/* Drops them, however deep sockets with rights are nested in sockets; NULL: none. No locks may be held. */
void rights_put(struct rights *rights);
void rights_put_all(struct rights *first); /* and those that follow it */

/* At the end of a process, when it has closed its descriptors: drops what has been sent to its sockets that
 * nobody can receive from any more, as they are in flight themselves, in a circle perhaps. */
void unix_rights_abandon(struct process *process);

/* Takes all that were sent to a socket, where the file is one of AF_UNIX. unix_socket.c */
struct rights *unix_rights_take(const struct file *file);

#endif
