/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_state.h: what a stream is, for the files that implement it: stream.c (lwIP's side), stream_move.c
 * (bytes in and out), inet_stream.c (sockets of programs). All fields are guarded by the network's lock: a
 * call acts on them with the lock held, and checks them again after each wait. Without the lock they are read
 * as hints alone, whether it is worth looking.
 *
 *      CLOSED -- listen ------> LISTENING
 *        |  ^
 *     connect `-- attempt_clear -----.      a socket keeps its stream: a failed attempt leaves it as it was
 *        v                           |      made, under the lock, while other threads may use it
 *      CONNECTING -- fails -------> ENDED
 *        `-- handshake --> OPEN ----^
 *
 * A stream is freed when its owner has called stream_end and lwIP has no pcb for it.
 *
 *      program -> out: [ acknowledged | in flight: lwIP refers to them | unfed ] -> lwIP -> peer
 *      peer -> lwIP -> in: [ unread ] -> program; the window is what socket.receive_room leaves
 */
#ifndef TACET_NETWORK_STREAM_STATE_H
#define TACET_NETWORK_STREAM_STATE_H

#include "net/inet.h"
#include "lib/list.h"
#include "net/byte_queue.h"
#include "net/connection.h"

#define STREAM_ROOM_DEFAULT (256 * 1024U)
#define STREAM_ROOM_MAX     (8 * 1024 * 1024U)
#define STREAM_ROOM_MIN     4096U
#define STREAM_BACKLOG_MAX  4096U /* Linux's somaxconn */
#define STREAM_LINGER_S     60    /* Linux's tcp_fin_timeout */

enum stream_state {
    STREAM_CLOSED, /* not connected yet */
    STREAM_LISTENING,
    STREAM_CONNECTING,
    STREAM_OPEN,
    STREAM_ENDED, /* lwIP no longer has it */
};

/* Options of level TCP; incoming connections have their listener's. */
struct tcp_options {
    bool no_delay;
    bool corked;                              /* the program says that it will add to `out` */
    bool acknowledges_at_once, connects_fast; /* kept, but nothing depends on them */
    uint8_t syn_count;
    uint32_t keep_idle_s, keep_interval_s, keep_count;
    uint32_t user_timeout_ms, segment_max, window_clamp, unsent_low; /* 0: no limit */
    int32_t linger_s;    /* after close, for the peer's end; -1: not at all */
    int32_t defer_s;     /* for a connection's first bytes before accept returns it; 0: not at all */
    int32_t fast_queued; /* TCP_FASTOPEN; kept, but nothing depends on it */
};

struct stream {
    struct socket socket; /* of a program that has it as a file; this and the next three: inet.h */
    struct ip_options ip;
    int error;
    uint64_t changes;
    struct tcp_options tcp;
    struct connection connection;
    struct process *process; /* whose threads wait: of the kernel's streams, that which waited last */
    enum stream_state state;
    bool owned;        /* its owner will call stream_end */
    bool was_open;     /* bytes may have passed */
    bool is_pending;   /* connect(2) has answered EINPROGRESS */
    bool peer_ended;   /* the peer has ended its direction */
    bool receive_shut; /* shutdown(SHUT_RD) */
    bool send_ended;   /* shutdown(SHUT_WR), or closed */
    bool end_given;    /* lwIP was notified of the end */
    bool reading;      /* a thread copies from `in` */
    bool writing;      /* … into `out` */
    bool more;         /* a call will add to `out` at once */
    bool is_cut;       /* the last write found too little room, and may go on */
    bool is_deferred;  /* its listener waits for its first bytes, and it is still `incoming` */
    bool is_watched;   /* stream_watch */
    struct byte_queue in, out;
    struct byte_queue held; /* lines of the kernel, which go into `out` after a write that is_cut */
    struct byte_place fed;  /* lwIP has the bytes of `out` up to here */
    uint64_t unfed;
    struct stream *listener; /* the listener that it has come to, until it is accepted */
    struct list_link queued; /* in one of the listener's lists: */
    struct list incoming, complete;
    unsigned queued_count, backlog;
    bool is_visitor; /* in the list of visitors (stream.h), by: */
    struct list_link visit;
};

/* Bytes of a program or of the kernel. */
struct stream_bytes {
    struct user_vector *vector; /* or: */
    char *kernel;
};

/* Makes a stream, owned by the caller; NULL if there is no memory. Without the lock, as the functions below,
 * unless said otherwise. */
struct stream *stream_create(struct process *process);

/* Begins a connection of a CLOSED stream, from the address and port in connection.port, if set. The caller
 * holds the lock. -ENETUNREACH, -EADDRNOTAVAIL, -EADDRINUSE, -ENOMEM. */
int stream_connect_begin(struct stream *stream, uint32_t address, uint16_t port);

/* Makes an ENDED stream that was never open CLOSED again, as it was when it was bound, once connect(2) has
 * returned that its attempt has failed. The caller holds the lock. */
void stream_attempt_clear(struct stream *stream);

/* Listens at connection.port, or at a port that is chosen if none is held; or changes the backlog. Returns
 * -EINVAL if the stream is neither CLOSED nor LISTENING, -EADDRINUSE, -ENOMEM. */
int stream_listen(struct stream *stream, unsigned backlog);

/* Moves bytes once, without waiting: -EAGAIN. With `peek`, a read leaves them where they are. */
int64_t stream_receive(struct stream *stream, struct stream_bytes *to, uint64_t count, bool peek);
int64_t stream_send(struct stream *stream, struct stream_bytes *from, uint64_t count, bool more);

/* Appends a line of the kernel's to `out` or `held`; false: there is no room. With held lines, appends those
 * to `out`. The caller holds the lock, and no thread is `writing`. */
bool stream_line_add(struct stream *stream, const char *line, uint32_t bytes, bool ends);
void stream_held_send(struct stream *stream);

/* Applies options after one was changed. The caller holds the lock. */
void stream_configure(struct stream *stream);

/* Returns bits of enum file_ready. */
unsigned stream_ready(struct stream *stream);

/* Waits for a change. Returns 0, -EINTR, or -EAGAIN from the deadline on. */
int stream_wait_change(struct stream *stream, uint64_t deadline_ns);

/* Wakes the threads that wait for the stream, because it has changed. The caller holds the lock. */
void stream_changed(struct stream *stream);

/* Ends the oldest visitor of the peer that has more than the others, but `except`: so one host does not keep
 * the others out. Frees its memory; the stream of one that the kernel has accepted stays until the kernel
 * ends it. False: there is none. The caller holds the lock. */
bool stream_visitor_dismiss(const struct stream *except);

/* Makes a visitor, perhaps in place of another one; NULL: there is no memory. stream_visit_end makes it
 * none. The caller holds the lock. stream_visitor.c */
struct stream *stream_visitor_make(void);
void stream_visit_end(struct stream *stream);

/* Makes a stream whose memory an account pays for; ends one without an owner: one that is not accepted yet,
 * or that its owner has closed. The caller holds the lock. */
struct stream *stream_make(struct process *process, struct network_account *account);
void stream_dismiss(struct stream *stream);

/* ---- What connection.c calls. The caller holds the lock. ---- */

/* Returns whether there is memory for this number of bytes, which a segment brings. A visitor for whom there
 * is none replaces another one; its peer sends the bytes again. */
bool stream_may_receive(struct stream *stream, unsigned bytes);

/* Returns a stream without pcb for a request to this listener; NULL: not now. stream_pcb_configure, once it
 * has one, sets what lwIP calls, and the options of the socket. */
struct stream *stream_incoming(struct stream *listener);
void stream_pcb_configure(struct stream *stream);

/* Hands lwIP bytes to be sent, as far as that is useful now; after them the stream's end. */
void stream_push(struct stream *stream);
bool stream_is_sending(const struct stream *stream); /* has bytes unsent or in flight */

/* Ends a stream from which nothing has come until its connection's `limit_tick`, or accepts it without its
 * first bytes. */
void stream_late(struct stream *stream);

/* Frees the stream, whose pcb lwIP has freed or could not make, if it has no owner. */
void stream_pcb_lost(struct stream *stream);

static inline struct stream *stream_of(struct connection *connection)
{
    return LIST_OWNER(connection, stream, connection);
}

#endif
