/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_pair.h: two sockets of a process that are connected to each other, unix(7) as socketpair(2) makes
 * them: without names, and without ancillary data. And pipes, pipe(7), which are pairs of one direction: the
 * first end reads, the second writes.
 */
#ifndef TACET_SOCKET_PAIR_H
#define TACET_SOCKET_PAIR_H

#include "fs/file.h"

enum socket_type { SOCKET_PIPE = 0, SOCKET_STREAM = 1, SOCKET_DATAGRAM = 2, SOCKET_PACKETS = 5 };

#define SOCKET_BYTES      65536 /* that have not been received, in each direction */
#define PIPE_ATOMIC_BYTES 4096  /* PIPE_BUF: writes of up to so many bytes are atomic */

/* Flags of send and recv, Linux's. */
#define MSG_PEEK     0x2
#define MSG_TRUNC    0x20
#define MSG_DONTWAIT 0x40
#define MSG_WAITALL  0x100
#define MSG_NOSIGNAL 0x4000

/* Makes both, each with one reference, which is the caller's. Of `flags`, O_NONBLOCK counts. -EMFILE,
 * -ENOMEM. */
int socket_pair_create(struct process *process, enum socket_type type, unsigned flags, struct file *ends[2]);

bool file_is_pipe(const struct file *file);
bool file_is_socket(const struct file *file);
enum socket_type socket_type(const struct file *file);

/* Linux's errors of send(2) and recv(2). *truncated: the rest of a message was lost. */
int64_t socket_send(struct file *file, struct user_vector *vector, unsigned flags);
int64_t socket_receive(struct file *file, struct user_vector *vector, unsigned flags, bool *truncated);

/* Ends directions: the file's own receiving, sending or both. */
void socket_shut(struct file *file, bool receiving, bool sending);

/* What setsockopt sets of an end; any thread may at any time, and each field is read and written alone. */
struct socket_options {
    uint64_t receive_limit_ns, send_limit_ns; /* how long a call waits; 0: for as long as it takes */
    uint32_t switches;                        /* a bit for each option that is on, by its number */
};

struct socket_options *socket_options(struct file *file);

/* A pending error, 0 or negative, which is not pending any more. */
int socket_error_take(struct file *file);

/* Bytes that can be received; of datagrams those of the next one. */
uint64_t socket_unread(struct file *file);

#endif
