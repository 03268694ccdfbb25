/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.h: pipes between the threads of a process, pipe(7). Each end is an open file.
 */
#ifndef TACET_PIPE_H
#define TACET_PIPE_H

#include "fs/file.h"

#define PIPE_BYTES        65536
#define PIPE_ATOMIC_BYTES 4096 /* PIPE_BUF: writes of up to so many bytes are atomic */

/* Makes a pipe: ends[0] reads, ends[1] writes, each with one reference, which is the caller's. Of `flags`,
 * O_NONBLOCK counts. -EMFILE, -ENOMEM. */
int pipe_create(struct process *process, unsigned flags, struct file *ends[2]);

bool file_is_pipe(const struct file *file);

/* For files like pipes: copies between a ring of PIPE_BYTES, from a position on, and the program; sends
 * SIGPIPE to the calling thread. */
int ring_copy(char *ring, uint64_t position, struct user_vector *vector, uint64_t bytes, bool to_program);
void broken_pipe_signal(void);

/* Bytes that can be read. */
uint64_t pipe_unread(struct file *file);

#endif
