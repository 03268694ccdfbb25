/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_socket.h: what the files of AF_UNIX share (unix_*.c). A socket receives from a ring of its own; it
 * sends to the ring of its peer, or of whom a datagram is addressed to. What peers of different ranks share
 * is allocated from the slice of the one that connects, so who leaks sockets harms nobody else; a ring is as
 * large as it is, so who never reads makes the others wait, and no memory is used up.
 */
#ifndef TACET_UNIX_SOCKET_H
#define TACET_UNIX_SOCKET_H

#include "fs/socket.h"
#include "lib/list.h"
#include "process/event.h"

#define RING_BYTES 65536

struct rights;

/* The ring of bytes that pipes and sockets of AF_UNIX keep what was sent in. Positions count all bytes ever
 * sent. Nothing that another rank can wait for is held while bytes are copied. The locks of either direction
 * are: they are of those who share one end of a stream, or receive from one socket. Who sends a message,
 * which many may at a time, reserves its place with `lock`, copies without, and then commits it. */
struct unix_ring {
    struct spinlock lock; /* guards the flags, the rights and, of messages, the head; held shortly */
    struct spinlock send_lock, receive_lock;
    unsigned references; /* of the receiver, and of all that may send */
    struct process *payer;
    struct event_audience audience;      /* of both */
    int error;                           /* pending of who sends: 0 or negative */
    bool has_messages;                   /* instead of the bytes of a stream or a pipe */
    bool ended;                          /* by the peer: an end of file */
    bool unwanted;                       /* the receiver has shut it down, */
    bool closed;                         /* or is no more */
    uint32_t sender;                     /* of the latest bytes of a stream: a pid */
    uint64_t head, tail;                 /* bytes ever sent and received, with the headers of messages */
    uint64_t unread;                     /* bytes of the programs' in messages */
    struct rights *rights, *rights_last; /* of a stream: sent and not received, by position */
    char bytes[RING_BYTES];
};

enum unix_state { UNIX_FRESH, UNIX_CONNECTING, UNIX_CONNECTED, UNIX_LISTENING, UNIX_CLOSED };

/* A page. The lock guards all below it. Of streams and sequences of packets the rings are set once, before
 * the state becomes UNIX_CONNECTED; of datagrams `in` from the start, and `out` may change. */
struct unix_socket {
    struct socket socket;
    unsigned references;
    struct process *payer;
    struct event_audience audience; /* of a listener */
    struct spinlock lock;
    enum unix_state state;
    struct unix_ring *in, *out;
    struct socket_address name, peer_name; /* without one: 2 bytes, the family */
    uint32_t pid, peer_pid;                /* who made it, listens, or connected; 0: nobody yet */
    bool is_named, is_listed;              /* by bind; and among the abstract names */
    bool sends_no_more;                    /* datagrams: it was shut down */
    struct inode *inode;                   /* where its name is in the tree, with a reference */
    struct list_link named;                /* in its list of abstract names */
    struct list waiting;                   /* of a listener: its ends of connections, by `queued` */
    struct list_link queued;
    unsigned waiting_count, backlog;
    uint64_t arrivals; /* so many connections so far */
};

static inline struct unix_socket *unix_of(const struct file *file)
{
    return file->object;
}

void unix_socket_put(struct unix_socket *socket);

/* ---- unix_transfer.c ---- */

struct unix_ring *unix_ring_create(bool has_messages);
struct unix_ring *unix_ring_get(struct unix_ring *ring); /* adds a reference, and returns it; NULL: nothing */
void unix_ring_put(struct unix_ring *ring);              /* NULL: nothing */
void unix_ring_notify(struct unix_ring *ring);

/* Ends what its sender, or its receiver, does with it; `reset`: its sender learns that what it sent is lost.
 * Notifies the others. */
void unix_ring_end(struct unix_ring *ring);
void unix_ring_unwant(struct unix_ring *ring, bool closed, bool reset);

/* Takes all rights that were sent to it. */
struct rights *unix_rights_of(struct unix_ring *ring);

/* Bytes that can be received; of datagrams those of the next one. */
int32_t unix_unread(struct unix_ring *ring, unsigned type);

/* Whether something can be received; whether a quarter of the ring is taken at most. */
bool unix_ring_has(struct unix_ring *ring);
bool unix_ring_has_room(struct unix_ring *ring);

/* Of the bytes of a pipe, without waiting: -EAGAIN; 0 at the end. Sends at least `whole` bytes or none;
 * -EPIPE. */
int64_t unix_bytes_receive(struct unix_ring *ring, struct user_vector *vector);
int64_t unix_bytes_send(struct unix_ring *ring, struct user_vector *vector, uint64_t whole);

int64_t unix_send(struct file *file, struct socket_message *message);
int64_t unix_receive(struct file *file, struct socket_message *message);

/* Of datagrams: who is connected receives from its peer alone. */
bool unix_accepts_from(struct unix_socket *socket, const struct unix_socket *sender);

/* The error that is pending because the peer did not receive all: 0 or negative. */
int unix_error_take(struct unix_socket *socket);

/* Before a step that answered -EAGAIN is tried again: waits for events of a ring or a listener, whose
 * audience this is. -EAGAIN, -EINTR. */
int unix_wait(const struct file *file, unsigned flags, struct event_audience *audience, const void *object,
              uint64_t deadline_ns);

/* ---- unix_name.c ---- */

/* A name from the program, made canonical; -EINVAL where it is none of AF_UNIX. */
int unix_name_check(const struct socket_address *address, struct socket_address *name);

int unix_bind(struct file *file, const struct socket_address *address);

/* Whom a canonical name belongs to, with a reference. -ECONNREFUSED, -ENOENT and a path's other errors. */
int unix_name_find(const struct socket_address *name, struct unix_socket **out);

/* The socket ends: nobody finds it any more. */
void unix_name_end(struct unix_socket *socket);

#endif
