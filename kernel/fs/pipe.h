/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.h: pipes and event counters between the threads of a process; pipe(7), eventfd(2). Their system calls
 * are in pipe.c, too.
 */
#ifndef TACET_PIPE_H
#define TACET_PIPE_H

#include "fs/file.h"

#define PIPE_BYTES        65536
#define PIPE_ATOMIC_BYTES 4096 /* PIPE_BUF: so much is written in one piece */

bool file_is_pipe(const struct file *file);

/* Bytes that wait to be read. */
uint64_t pipe_unread(struct file *file);

#endif
