/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.h: pipes, pipe(7).
 */
#ifndef TACET_PIPE_H
#define TACET_PIPE_H

#include "fs/file.h"

#define PIPE_ATOMIC_BYTES 4096 /* PIPE_BUF: writes of up to this many bytes are atomic */

/* Makes two unused open files the ends of a pipe, the reading end first. Of `flags`, O_NONBLOCK counts.
 * -ENOMEM. */
int pipe_create(struct file *const ends[2], unsigned flags);

bool file_is_pipe(const struct file *file);

/* Returns the number of bytes that can be read. */
int32_t pipe_unread(struct file *file);

/* Sends SIGPIPE to the calling thread, as sockets do, too. */
void broken_pipe_signal(void);

#endif
