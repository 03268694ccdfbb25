/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.h: pipes, pipe(7).
 */
#ifndef TACET_PIPE_H
#define TACET_PIPE_H

#include "fs/file.h"

#define PIPE_ATOMIC_BYTES 4096 /* PIPE_BUF: writes of up to this many bytes are atomic */

/* Makes both ends, the reading end first, each with one reference, the caller's. Of `flags`, O_NONBLOCK
 * counts. -EMFILE, -ENOMEM. */
int pipe_create(struct process *process, unsigned flags, struct file *ends[2]);

bool file_is_pipe(const struct file *file);

/* Returns the number of bytes that can be read. */
int32_t pipe_unread(struct file *file);

/* Sends SIGPIPE to the calling thread, as sockets do, too. */
void broken_pipe_signal(void);

#endif
