/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_socket.h: what the files of AF_UNIX share (unix_*.c). A socket receives from a ring of its own; it
 * sends to the ring of its peer, or of the socket to which a datagram is addressed. What peers of different
 * ranks share is allocated from the slice of the rank that connects, so a rank that leaks sockets harms no
 * other rank. The size of a ring is fixed, so a rank that never reads makes its senders wait, and uses up no
 * memory.
 */
#ifndef TACET_UNIX_SOCKET_H
#define TACET_UNIX_SOCKET_H

#include "fs/socket.h"
#include "lib/list.h"
#include "process/event.h"

#define RING_BYTES 65536

/* A ring of the bytes that were sent through a pipe or a socket of AF_UNIX and not received yet. Positions
 * count all bytes ever sent. `lock` is not held while bytes are copied, because other ranks wait for it.
 * send_lock and receive_lock are held: only threads that share one end of a stream, or receive from one
 * socket, take them. Several threads may send messages at a time: each reserves a place with `lock`, copies
 * without a lock, and then commits the message. */
struct unix_ring {
    struct spinlock lock; /* guards the flags, the rights and, of messages, the head; held briefly */
    struct spinlock send_lock, receive_lock;
    unsigned references; /* references of the receiver and of all senders */
    struct process *payer;
    struct event_audience audience; /* of senders and the receiver */
    int error;                      /* pending for the sender: 0 or negative */
    unsigned type;   /* the sockets' type: SOCK_STREAM, with bytes, also a pipe's; the others have messages */
    bool ended;      /* the sender has ended it: an end of file */
    bool unwanted;   /* the receiver has shut it down, or has ended */
    bool closed;     /* the receiver has ended */
    uint32_t sender; /* pid of the sender of a stream's latest bytes */
    uint64_t head, tail;                 /* bytes ever sent and received, with the headers of messages */
    uint64_t unread;                     /* bytes of programs in messages, without headers */
    unsigned readers, writers;           /* of a pipe: open files that can read, or write */
    uint32_t readers_ever, writers_ever; /* how many there have been */
    struct rights *rights, **rights_end; /* rights that were sent and not received; where the next go */
    char bytes[RING_BYTES];
};

enum unix_state { UNIX_FRESH, UNIX_CONNECTING, UNIX_CONNECTED, UNIX_LISTENING, UNIX_CLOSED };

/* A page. The lock guards all below it. The rings of streams and sequences of packets are set once, before
 * the state becomes UNIX_CONNECTED; a socket of datagrams has `in` from the start, and its `out` may
 * change. */
struct unix_socket {
    struct socket socket;
    unsigned references;
    struct process *payer;
    struct event_audience audience; /* a listener's audience */
    struct spinlock lock;
    enum unix_state state;
    struct unix_ring *in, *out;
    struct socket_address name, peer_name; /* without one: 2 bytes, the family */
    uint32_t pid, peer_pid;                /* of its maker, its listener or its connector; 0: none yet */
    bool is_named;                         /* by bind */
    bool sends_no_more;                    /* for datagrams: sending was shut down */
    struct inode *inode;                   /* where its name is in the tree, with a reference */
    struct list waiting; /* for a listener: ends of connections to accept, linked by `queued` */
    struct list_link queued;
    unsigned waiting_count, backlog;
    uint64_t arrivals; /* number of connections so far */
};

static inline struct unix_socket *unix_of(const struct file *file)
{
    return file->object;
}

void unix_socket_put(struct unix_socket *socket);

/* ---- unix_transfer.c ---- */

struct unix_ring *unix_ring_create(unsigned type);
struct unix_ring *unix_ring_get(struct unix_ring *ring); /* adds a reference, and returns it; NULL: nothing */
void unix_ring_put(struct unix_ring *ring);              /* NULL: nothing */
void unix_ring_notify(struct unix_ring *ring);

/* Ends the ring for its sender (unix_ring_end) or for its receiver (unix_ring_unwant), and notifies the
 * others. `closed`: the receiver has ended. `reset`: the sender gets ECONNRESET, because what it sent is
 * lost. */
void unix_ring_end(struct unix_ring *ring);
void unix_ring_unwant(struct unix_ring *ring, bool closed, bool reset);

/* Takes all rights that were sent to a ring. */
struct rights *unix_rights_of(struct unix_ring *ring);

/* Returns the number of bytes that can be received; of datagrams, those of the next one. */
int32_t unix_unread(struct unix_ring *ring);

/* Returns whether something can be received; the next, whether at most a quarter of the ring is taken. */
bool unix_ring_has(struct unix_ring *ring);
bool unix_ring_has_room(struct unix_ring *ring);

/* Reads from a pipe. */
int64_t unix_pipe_read(struct file *file, struct user_vector *vector);

/* Writes to a pipe: up to `atomic_bytes` as a whole. If no process reads, -EPIPE and SIGPIPE, also after a
 * part has been written. */
int64_t unix_pipe_write(struct file *file, struct user_vector *vector, uint64_t atomic_bytes);

int64_t unix_send(struct file *file, struct socket_message *message);
int64_t unix_receive(struct file *file, struct socket_message *message);

/* Returns whether a socket of datagrams receives from `sender`: if it is connected, only from its peer. */
bool unix_accepts_from(struct unix_socket *socket, const struct unix_socket *sender);

/* Takes the error that is pending because the peer did not receive all: 0 or negative. */
int unix_error_take(struct unix_socket *socket);

/* Waits for events of a ring or a listener, whose audience this is, before the caller repeats a step that
 * answered -EAGAIN. Returns -EAGAIN if it must not wait any longer; -EINTR. */
int unix_wait(const struct file *file, unsigned flags, struct event_audience *audience, const void *object,
              uint64_t deadline_ns);

/* ---- unix_name.c ---- */

/* Makes a name from the program canonical; -EINVAL if it is no name of AF_UNIX. */
int unix_name_check(const struct socket_address *address, struct socket_address *name);

int unix_bind(struct file *file, const struct socket_address *address);

/* Finds the socket with a canonical name, with a reference. -ECONNREFUSED, -ENOENT and a path's other
 * errors. */
int unix_name_find(const struct socket_address *name, struct unix_socket **out);

/* Takes the name from a socket that ends: no socket finds it any longer. */
void unix_name_end(struct unix_socket *socket);

#endif
