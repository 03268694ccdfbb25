/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transport.h: ways for heads and data to another rank: shared memory in a node, TCP between nodes. Uses
 * launch/ (values through PMI) and base/. What a head means is the affair of message/, which gives each
 * transport its receiver when it begins.
 *
 * Beside messages, shared memory has what ranks of a node do without any: the bell by which they wake each
 * other, counters and slots of short data (collectives), reads and writes of each other's memory.
 *
 * Everything runs under the library's lock, but shared_bell_wait and tcp_wait.
 */
#ifndef MPI_TRANSPORT_H
#define MPI_TRANSPORT_H

#include "base/base.h"

/* ---- Transports (shared.c, tcp.c) ---- */

/* A message's head on every transport. */
struct head {
    uint32_t context;
    int32_t tag;
    int32_t source;  /* the sender's rank in its communicator (MPI_Comm_rank); in answers not used */
    uint32_t kind;   /* enum head_kind */
    uint64_t bytes;  /* of the whole message */
    uint64_t cookie; /* the sender's request, or the receiver's, in a rendezvous */
    uint64_t other;  /* of the rendezvous's other side; or the address for process_vm_readv */
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
    HEAD_WINDOW, /* of one-sided communication */
    HEAD_WAKE,
    HEAD_KINDS
};

/* Takes what transports bring. `peer` is the sender's world rank, of which the transport is sure. `data` is
 * valid during the call alone. A head that makes no sense ends the job, naming its sender. */
struct receiver {
    void (*arrived)(int peer, const struct head *head, const void *data, size_t bytes);
    /* For a transport that can write where the data of a fragment (HEAD_DATA) is to lie: that place, or NULL
     * if the data has gaps there; and once it is all there. No other fragment of the message comes in
     * between. */
    void *(*data_place)(int peer, const struct head *head, size_t bytes);
    void (*data_placed)(int peer, const struct head *head, size_t bytes);
};

struct transport {
    const char *name;
    /* After PMI; an MPI error class, with its reason. */
    int (*begin)(const struct receiver *receiver);
    void (*end)(void); /* after all have said that they end */
    /* Sends a head with up to a fragment of bytes; returns false where there is no room now (try after a
     * poll). */
    bool (*send)(int peer, const struct head *head, const void *data, size_t bytes);
    size_t (*fragment_bytes)(void); /* the most that goes with one head */
    size_t eager_bytes;             /* messages of at most so many go at once, without TACET_MPI_EAGER */
    /* Takes what has arrived and hands each to the receiver; whether anything did. */
    bool (*poll)(void);
};
extern const struct transport transport_shared, transport_tcp;

/* ---- The bell (shared.c) ---- */

uint32_t shared_bell_value(void);
void shared_bell_wait(uint32_t value); /* until the bell has another value; may return early */
void shared_bell_ring_own(void);       /* another thread of this process sleeps */
void shared_sleeping(bool sleeps);     /* announces it, or takes that back */

/* ---- Signals and short data in a node (shared.c) ---- */

/* Counts up what a rank of this node waits for; whether another has, once more than this rank has taken;
 * takes one that is there. */
void shared_signal(int peer);
bool shared_signal_is_there(int peer);
void shared_signal_take(int peer);
/* Short data between two ranks of this node, of blocking collectives (exchange.c): whether there is room for
 * more to `peer`; its place, of SHARED_EXCHANGE_BYTES, aligned to 16; gives what is written there. Whether
 * more is there from `peer`; that; takes it away, after which its place is the peer's again. */
#define SHARED_EXCHANGE_BYTES 1024
bool shared_exchange_has_room(int peer);
void *shared_exchange_place(int peer);
void shared_exchange_give(int peer, size_t bytes);
bool shared_exchange_is_there(int peer);
const void *shared_exchange_data(int peer, size_t *bytes);
void shared_exchange_take(int peer);
bool shared_has_threads(void); /* a rank of the node has MPI_THREAD_MULTIPLE */

void shared_check_alive(void); /* ends the job where a rank of the node has died */

/* ---- The segment (segment.c) ---- */

#define SEGMENT_ALIGN 128 /* the largest cache line of the machines that this runs on */

/* The node's shared memory: `bytes` of it, zeroed, from *memory on, aligned. */
int segment_begin(size_t bytes, void **memory);
void segment_meet(void);   /* returns once all ranks of the node are in it */
void segment_unlink(void); /* nobody else needs its name */
void segment_end(void);

/* ---- TCP (tcp.c) ---- */

bool tcp_is_used(void); /* the job has several nodes */
void tcp_wait(void);    /* until something comes, or tcp_wake; without the lock */
void tcp_wake(int rank);

/* ---- Memory of other ranks of the node (shared.c) ---- */

/* Whether this rank may read and write the memory of another of its node. */
bool shared_peer_is_readable(int peer);
/* Copies between this rank's memory and another's of its node; false, with errno, where that fails. */
bool shared_peer_move(int peer, void *here, uint64_t there, size_t bytes, bool writes);

/* What a receiver offers to its sender: chunks of a message (peer_copy.c). Lies in the segment. */
struct share {
    _Alignas(SEGMENT_ALIGN) uint64_t word; /* its generation << 32 | the next chunk */
    uint64_t address, bytes, chunk_bytes;  /* of the receiver's buffer */
    uint64_t cookie;                       /* the receiver's */
};
/* One of this rank's own that is free, or NULL; and its end. */
struct share *shared_share_take(void);
void shared_share_give(struct share *share);
int shared_share_index(const struct share *share);
/* Another rank's; NULL where there is none. */
struct share *shared_share_of(int peer, uint64_t index);

#endif
