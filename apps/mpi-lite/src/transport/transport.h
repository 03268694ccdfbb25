/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport.h: transports carry heads and data to another rank: shared memory in a node, TCP between nodes.
 * Uses launch/ (values through PMI) and base/. message/ defines what a head means, and gives each transport
 * its receiver when it begins.
 *
 * In addition to messages, shared memory has what ranks of a node use without them: the bell by which they
 * wake each other, counters and slots of short data (collectives), reads and writes of each other's memory.
 *
 * Everything runs under the library's lock, except shared_bell_wait and tcp_wait.
 */
#ifndef MPI_TRANSPORT_H
#define MPI_TRANSPORT_H

#include "base/base.h"

/* ---- Transports (shared.c, tcp.c) ---- */

/* A message's head on every transport. */
struct head {
    uint32_t context;
    int32_t tag;
    int32_t source;  /* the sender's rank in its communicator (MPI_Comm_rank); not used in answers */
    uint32_t kind;   /* enum head_kind */
    uint64_t bytes;  /* length of the whole message */
    uint64_t cookie; /* the cookie of the sender's request, or of the receiver's in a rendezvous */
    uint64_t other;  /* cookie of the rendezvous's other side; or the address for process_vm_readv */
};
enum head_kind {
    HEAD_EAGER,
    HEAD_EAGER_SYNC,
    HEAD_REQUEST,
    HEAD_CLEAR,
    HEAD_DATA,
    HEAD_DONE,
    HEAD_OFFER,
    HEAD_COPIED,
    HEAD_WINDOW, /* a message of one-sided communication */
    HEAD_WAKE,
    HEAD_KINDS
};

/* Functions that take what transports bring. `peer` is the sender's world rank, which the transport has
 * verified. `data` is valid only during the call. An invalid head ends the job with a message that names its
 * sender. */
struct receiver {
    void (*arrived)(int peer, const struct head *head, const void *data, size_t bytes);
    /* For a transport that can write the data of a fragment (HEAD_DATA) straight to its buffer. data_place
     * returns the address, or NULL if the data has gaps there; data_placed is called once all of it is there.
     * No other fragment of the message arrives in between. */
    void *(*data_place)(int peer, const struct head *head, size_t bytes);
    void (*data_placed)(int peer, const struct head *head, size_t bytes);
};

struct transport {
    const char *name;
    /* Called after PMI's start. Returns an MPI error class, with its reason. */
    int (*begin)(const struct receiver *receiver);
    void (*end)(void); /* called when all ranks have announced their end */
    /* Sends a head with up to a fragment of bytes. Returns false if there is no room now; try again after a
     * poll. */
    bool (*send)(int peer, const struct head *head, const void *data, size_t bytes);
    size_t (*fragment_bytes)(void); /* maximum data with one head */
    size_t eager_bytes;             /* messages of at most this many bytes go at once, without TACET_MPI_EAGER
                                     */
    /* Passes what has arrived to the receiver. Returns whether there was anything. */
    bool (*poll)(void);
};
extern const struct transport transport_shared, transport_tcp;

/* ---- The bell (shared.c) ---- */

uint32_t shared_bell_value(void);
void shared_bell_wait(uint32_t value); /* until the bell has another value; may return early */
void shared_bell_ring_own(void);       /* if another thread of this process sleeps */
void shared_sleeping(bool sleeps);     /* announces that a thread sleeps, or no longer does */

/* ---- Signals and short data in a node (shared.c) ---- */

/* Increments the counter that a rank of this node waits for. _is_there returns whether the peer has given
 * this rank one more signal than it has taken; _take takes it. */
void shared_signal(int peer);
bool shared_signal_is_there(int peer);
void shared_signal_take(int peer);
/* Exchanges short data between two ranks of this node, in blocking collectives (exchange.c).
 *
 *   has_room   returns whether there is room for more to `peer`
 *   place      returns where to write it: SHARED_EXCHANGE_BYTES, aligned to 16
 *   give       sends what was written there
 *   is_there   returns whether there is more from `peer`
 *   data       returns it
 *   take       frees its place for the peer */
#define SHARED_EXCHANGE_BYTES 1024
bool shared_exchange_has_room(int peer);
void *shared_exchange_place(int peer);
void shared_exchange_give(int peer, size_t bytes);
bool shared_exchange_is_there(int peer);
const void *shared_exchange_data(int peer, size_t *bytes);
void shared_exchange_take(int peer);
bool shared_has_threads(void); /* some rank of the node has MPI_THREAD_MULTIPLE */

void shared_check_alive(void); /* ends the job if a rank of the node has died */

/* ---- The segment (segment.c) ---- */

#define SEGMENT_ALIGN 128 /* the largest cache line of the machines that this runs on */

/* Makes the node's shared memory. *memory is set to `bytes` of it, zeroed and aligned. */
int segment_begin(size_t bytes, void **memory);
void segment_meet(void);   /* returns once all ranks of the node have called it */
void segment_unlink(void); /* after that no other rank can open it */
void segment_end(void);

/* ---- TCP (tcp.c) ---- */

bool tcp_is_used(void); /* the job has several nodes */
void tcp_wait(void);    /* until something arrives, or tcp_wake; without the lock */
void tcp_wake(int rank);

/* ---- Memory of other ranks of the node (shared.c) ---- */

/* Returns whether this rank may read and write the memory of another rank of its node. */
bool shared_peer_is_readable(int peer);
/* Copies between this rank's memory and that of another rank of its node. Returns false, with errno, if that
 * fails. */
bool shared_peer_move(int peer, void *here, uint64_t there, size_t bytes, bool writes);

/* An offer of a receiver to its sender to copy chunks of a message (peer_copy.c). Lies in the segment. */
struct share {
    _Alignas(SEGMENT_ALIGN) uint64_t word; /* its generation << 32 | the next chunk */
    uint64_t address, bytes, chunk_bytes;  /* of the receiver's buffer */
    uint64_t cookie;                       /* the receiver's */
};
/* Takes a free share of this rank's own, or returns NULL; shared_share_give frees it. */
struct share *shared_share_take(void);
void shared_share_give(struct share *share);
int shared_share_index(const struct share *share);
/* Returns another rank's share; NULL if there is none of that index. */
struct share *shared_share_of(int peer, uint64_t index);

#endif
