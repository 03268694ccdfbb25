/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h: the connection of a mount to its server: requests of many threads, of several ranks, in
 * flight at once.
 *
 *      submit ──► queue ──► transport ──► server ──► transport ──► the request whose tag the reply has
 *
 * The session has no thread. A thread that waits for a reply sends what is queued, and receives what has
 * come, for all threads. One of the waiting threads also waits for the transport; the others sleep until
 * their replies are there. Each looks for itself every NINEP_LOOK_NS, so that none depends on a thread that
 * has lost its CPU. The lock is held neither while bytes are moved nor during a wait. A request's memory is
 * its caller's, which stays until the request has ended.
 *
 * A connection that breaks, that brings an invalid reply, or that does not answer within the mount's time is
 * given up, with all requests on it; the next caller makes another one. Each connection has a generation, and
 * so have its fids. The caller decides whether a call is repeated: -ENOTCONN says that the server cannot have
 * executed it, -ECONNRESET that it may have.
 */
#ifndef TACET_NINEP_SESSION_H
#define TACET_NINEP_SESSION_H

#include "lib/avl.h"
#include "lib/errno.h"
#include "lib/list.h"
#include "ninep/codec.h"
#include "ninep/transport.h"
#include "smp/spinlock.h"

#define NINEP_TAGS          64
#define NINEP_FIDS          4096 /* open files, and paths that are being followed */
#define NINEP_ROOT          0    /* the fid of the mount's root */
#define NINEP_CLUNKS        16   /* fids that are released without waiting for the reply */
#define NINEP_MESSAGE_BYTES 65536u
#define NINEP_LOOK_NS       100000000ULL

/* One request and its reply. The caller sets the first part. */
struct ninep_request {
    struct ninep_message message;
    const void *data; /* what a write has after its message */
    uint32_t data_bytes;
    uint8_t *reply; /* room for the reply's body */
    uint32_t reply_capacity;
    void *into; /* room for the data of a read or of a directory's entries */
    uint32_t into_capacity;
    /* Set by the session. */
    struct ninep_reader reader; /* the body, once it is there */
    uint32_t into_bytes;
    int result;
    struct list_link link;
    struct ninep_sleeper sleeper;
    uint64_t deadline_ns;
    uint32_t sent, generation;
    uint16_t tag;
    bool is_queued, is_pinned, is_done, sleeps;
    uint32_t clunked; /* for the session's own requests: the fid to release */
};

enum ninep_state { NINEP_DOWN, NINEP_GREETING, NINEP_UP };

struct ninep_session {
    /* Set once. */
    struct ninep_transport transport;
    const char *source, *export;
    uint64_t timeout_ns;
    uint64_t secret; /* of the hash of open files' names */
    uint32_t user; /* set between jobs */
    /* Under the lock. */
    struct spinlock lock;
    enum ninep_state state;
    uint32_t generation;
    uint32_t message_bytes; /* the largest message, as agreed with the server */
    int broken_by;          /* why the last connection was given up; -EPROTO: an invalid reply */
    uint32_t attempts;
    uint64_t greeting_deadline_ns;
    bool is_connecting, is_sending, is_receiving, is_watched;
    bool is_refused;   /* the server has refused the user at the last attempt */
    bool is_dead;      /* the console has been told */
    unsigned inside;   /* threads that use the transport now */
    struct list queue; /* what is to be sent; the first perhaps in part */
    struct ninep_request *tags[NINEP_TAGS];
    uint64_t fids[NINEP_FIDS / 64];
    struct avl_node *files; /* open files, by name: names.h */
    uint32_t serial;
    struct {
        struct ninep_request request;
        uint8_t message[16], reply[8];
        bool is_used;
    } clunks[NINEP_CLUNKS];
    /* Without the lock. */
    uint64_t moves;  /* changes of names so far */
    uint32_t moving; /* 1 while a thread changes names */
    /* Used by the thread that receives. */
    uint8_t header[NINEP_HEADER_BYTES];
    uint32_t got, body_bytes;
    struct ninep_request *receiving;
};

/* Sleeps until that time. */
void ninep_pause(uint64_t until_ns);

/* Returns a request of this type, with memory for its message and for the reply's body. The message's body
 * begins with a number, mostly that of a fid. */
struct ninep_request ninep_request_on(enum ninep_type type, uint32_t fid, uint8_t *message,
                                      uint32_t message_bytes, uint8_t *reply, uint32_t reply_bytes);

/* Waits for a connection, at most until the deadline. Returns 0; -EIO; -EACCES if the server refuses the
 * user. *generation becomes the connection's generation; fids are valid only within one generation. */
int ninep_session_ready(struct ninep_session *session, uint64_t deadline_ns, uint32_t *generation);

/* Makes one attempt at a connection; `why` says why it failed. Called at boot, or by the thread that has set
 * is_connecting. */
int ninep_session_connect(struct ninep_session *session, uint64_t deadline_ns, struct message *why);

/* Sets the user for whom the export is attached. If it is another one, the next call connects again. */
void ninep_session_user_set(struct ninep_session *session, uint32_t user);

/* Hands a request over. Its fids were allocated in `generation`. */
void ninep_submit(struct ninep_session *session, struct ninep_request *request, uint32_t generation);

/* Waits until a request has ended. Returns 0, the server's error, -ENOTCONN or -ECONNRESET (above). Each
 * submitted request has to be waited for. */
int ninep_wait(struct ninep_session *session, struct ninep_request *request);

int ninep_call(struct ninep_session *session, struct ninep_request *request, uint32_t generation);

/* Returns whether a call ended because the connection broke. */
static inline bool ninep_is_broken(int64_t result)
{
    return result == -ENOTCONN || result == -ECONNRESET;
}

/* Returns a new fid's number, -ENFILE, or -ENOTCONN. */
int64_t ninep_fid_allocate(struct ninep_session *session, uint32_t generation);
/* Frees the number of a fid that the server does not have. */
void ninep_fid_free(struct ninep_session *session, uint32_t fid, uint32_t generation);
/* Releases a fid that the server has, usually without waiting. */
void ninep_clunk(struct ninep_session *session, uint32_t fid, uint32_t generation);

#endif
