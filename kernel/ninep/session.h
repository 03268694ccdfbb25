/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h: the connection of a mount to its server: requests of many threads, of several ranks, in
 * flight at once.
 *
 *      submit ──► queue ──► transport ──► server ──► transport ──► the request whose tag the reply has
 *
 * The session has no thread. Whoever waits for a reply sends what is queued, receives what has come, for all,
 * and one of those who wait also waits for the transport; the others sleep until theirs is there. Each looks
 * by itself every NINEP_LOOK_NS, so that nobody depends on a thread that has lost its CPU. The lock is held
 * for neither a message nor a wait. A request's memory is its caller's, who stays until it has ended.
 *
 * A connection that breaks, that lies or that does not answer within the mount's time is given up, with all
 * requests on it; the next caller makes another one. Each has a generation: fids are of one. Whether a call
 * is repeated is its caller's to decide: -ENOTCONN says that the server cannot have executed it, -ECONNRESET
 * that it may have.
 */
#ifndef TACET_NINEP_SESSION_H
#define TACET_NINEP_SESSION_H

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
    /* The session's. */
    struct ninep_reader reader; /* the body, once it is there */
    uint32_t into_bytes;
    int result;
    struct list_link link;
    struct ninep_sleeper sleeper;
    uint64_t deadline_ns;
    uint32_t sent, generation;
    uint16_t tag;
    bool has_tag, is_queued, is_pinned, is_done, sleeps;
    uint32_t clunked; /* of the session's own: which fid */
};

enum ninep_state { NINEP_DOWN, NINEP_GREETING, NINEP_UP };

struct ninep_session {
    /* Set once. */
    struct ninep_transport transport;
    const char *source, *export;
    uint64_t timeout_ns;
    uint32_t user;
    /* Under the lock. */
    struct spinlock lock;
    enum ninep_state state;
    uint32_t generation;
    uint32_t message_bytes; /* the largest message, as agreed with the server */
    int broken_by;          /* why the last connection was given up; -EPROTO: the server lies */
    uint32_t attempts;
    uint64_t greeting_deadline_ns;
    bool is_connecting, is_sending, is_receiving, is_watched;
    bool is_dead;      /* the console has it */
    unsigned inside;   /* threads that use the transport now */
    struct list queue; /* what is to be sent; the first perhaps in part */
    struct ninep_request *tags[NINEP_TAGS];
    uint64_t fids[NINEP_FIDS / 64];
    struct {
        struct ninep_request request;
        uint8_t message[16], reply[8];
        bool is_used;
    } clunks[NINEP_CLUNKS];
    /* Of whoever receives. */
    uint8_t header[NINEP_HEADER_BYTES];
    uint32_t got, body_bytes;
    struct ninep_request *receiving;
};

/* A request of this type without a body yet, and the memory of its message and of the reply's body. */
static inline struct ninep_request ninep_request_on(enum ninep_type type, uint8_t *message,
                                                    uint32_t message_bytes, uint8_t *reply,
                                                    uint32_t reply_bytes)
{
    return (struct ninep_request){ .message = ninep_begin(message, message_bytes, type),
                                   .reply = reply,
                                   .reply_capacity = reply_bytes };
}

/* Waits for a connection, at most until the deadline: 0, or -EIO. On 0 *generation is that of the fids. */
int ninep_session_ready(struct ninep_session *session, uint64_t deadline_ns, uint32_t *generation);

/* One attempt at a connection, with why it failed: at boot. */
int ninep_session_connect(struct ninep_session *session, uint64_t deadline_ns, struct message *why);

/* Hands a request over. `generation`: of the fids in it. */
void ninep_submit(struct ninep_session *session, struct ninep_request *request, uint32_t generation);

/* Waits for its end: 0, the server's error, -ENOTCONN or -ECONNRESET (above). Each submitted request has to
 * be waited for. */
int ninep_wait(struct ninep_session *session, struct ninep_request *request);

int ninep_call(struct ninep_session *session, struct ninep_request *request, uint32_t generation);

/* Whether a call ended because the connection broke. */
static inline bool ninep_is_broken(int64_t result)
{
    return result == -ENOTCONN || result == -ECONNRESET;
}

/* A new fid's number, or -ENFILE. */
int64_t ninep_fid_allocate(struct ninep_session *session, uint32_t generation);
/* Of one that the server does not have. */
void ninep_fid_free(struct ninep_session *session, uint32_t fid, uint32_t generation);
/* Of one that it has: as a rule without waiting. */
void ninep_clunk(struct ninep_session *session, uint32_t fid, uint32_t generation);

#endif
