/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h: TCP connections, for sockets of programs (inet_stream.c) and for the kernel's own use
 * (ninep/stream.c, launch/). Bytes pass through queues of the connection's own, charged to its account;
 * copies between these and a program or a caller are made without the network's lock.
 *
 * A stream has one owner. Its connection may outlive the owner's use, until what was sent has been
 * acknowledged or given up.
 */
#ifndef TACET_STREAM_H
#define TACET_STREAM_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct stream;

/* Opens a connection to address:port (host byte order), with its memory charged to a process that has no
 * thread yet. Waits, by polling, until it is made, at most until the deadline. -ECONNREFUSED, -ETIMEDOUT,
 * -ENETUNREACH, -EHOSTUNREACH, -ENOMEM, -EINTR.
 *
 * With `process` NULL it is for the kernel itself, as for a mount: its memory is the kernel's, and threads of
 * any process may use it, or the kernel before there are any. The process that has waited last is the one
 * that is woken. */
int stream_open(struct process *process, struct stream **out, uint32_t address, uint16_t port,
                uint64_t deadline_ns);

/* Begins that without waiting, so that several connections are made at once. Until there is one, stream_write
 * returns -EAGAIN. */
int stream_open_begin(struct process *process, struct stream **out, uint32_t address, uint16_t port);

/* Listens at a port of all of the node's addresses, for the kernel itself. Connections have `room` bytes in
 * either direction. -EADDRINUSE, -ENOMEM. */
int stream_listen_kernel(struct stream **out, uint16_t port, uint32_t room);

/* Returns the oldest connection that has come to a listener; NULL if there is none. */
struct stream *stream_accept(struct stream *listener);

/* Makes a visitor a connection like others: it gets the listener's room, and the kernel's account pays from
 * now on. A visitor is a connection to a listener of the kernel's: the account NETWORK_VISITORS pays for it,
 * it has little room, and there are at most STREAM_VISITORS_MAX. A new one replaces the oldest of the peer
 * that has more than the others, also one that has been accepted: its stream has ended then. */
#define STREAM_VISITORS_MAX 16
void stream_trust(struct stream *stream);

/* Returns the address of the other end, in host byte order. */
uint32_t stream_peer_address(const struct stream *stream);

/* Has the hook called after changes of a stream of the kernel's, or stops that. It is called without the
 * network's lock, on any CPU, perhaps more than once for one change. */
void stream_watch(struct stream *stream, bool on);
extern void (*stream_watch_hook)(void);

/* Moves bytes of kernel memory, at least one, and waits for that at most until the deadline (0: does not
 * wait). Returns the bytes moved; 0 from stream_read if the peer has ended its direction; -EAGAIN if the
 * deadline has come, -ECONNRESET, -EPIPE, -ETIMEDOUT (the peer does not acknowledge), -EINTR. */
int64_t stream_write(struct stream *stream, const void *bytes, uint64_t count, uint64_t deadline_ns);
int64_t stream_read(struct stream *stream, void *bytes, uint64_t count, uint64_t deadline_ns);

/* Copies what stream_read would return without waiting, and leaves it to be read. */
int64_t stream_peek(struct stream *stream, void *bytes, uint64_t count);

/* Waits until stream_read would not return -EAGAIN; with `write_too`, until one of the two would not. Returns
 * 0, -EAGAIN if the deadline has come, -EINTR. */
int stream_wait(struct stream *stream, bool write_too, uint64_t deadline_ns);

/* Ends a direction, that of sending after what was written. The other one goes on. -ENOTCONN. */
int stream_shutdown(struct stream *stream, bool receiving, bool sending);

/* Ends the owner's use, and the connection: with a reset if `abort`, or if bytes are left unread. */
void stream_end(struct stream *stream, bool abort);

#endif
