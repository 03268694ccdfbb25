/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h: what message.c, match.c, request.c, progress.c, shared.c and the calls above them share beside
 * the contract (base.h): the state of a transfer, messages that have arrived and match no receive
 * yet, and the sleeping of a wait. Everything here runs under the library's lock.
 */
#ifndef MPI_MESSAGE_H
#define MPI_MESSAGE_H

#include "message/burst.h"
#include "base/base.h"

/* ---- The lock and the bell (init.c, shared.c) ---- */

/* Gives the lock away whatever its depth, which is returned; takes it again. */
int lock_release(void);
void lock_retake(int depth);

uint32_t shared_bell_value(void);
void shared_bell_wait(uint32_t value); /* until the bell has another value; may return early */
void shared_bell_ring_own(void);       /* another thread of this process sleeps */
void shared_sleeping(bool sleeps);     /* announces it, or takes that back */

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
void shared_kill(void);        /* ends the other ranks of the node */

#define SEGMENT_ALIGN 128 /* the largest cache line of the machines that this runs on */

/* The node's shared memory: `bytes` of it, zeroed, from *memory on, aligned. */
int segment_begin(size_t bytes, void **memory);
void segment_meet(void);   /* returns once all ranks of the node are in it */
void segment_unlink(void); /* nobody else needs its name */
void segment_end(void);

bool tcp_is_used(void); /* the job has several nodes */
void tcp_wait(void);    /* until something comes, or tcp_wake; without the lock */
void tcp_wake(int rank);

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

/* ---- Transfers ---- */

/* The state of a send or a receive, next to its request. */
struct message {
    void *buffer; /* of a send: only read */
    size_t count;
    struct mpi_datatype *type; /* held; NULL when complete */
    size_t bytes;              /* of a send: to be sent; of a receive: room, then what comes of the message */
    size_t moved;              /* of a rendezvous: bytes that fragments have carried */
    int peer;                  /* of the communicator, or MPI_ANY_SOURCE */
    int world;                 /* its world rank; of a receive: once it is known who sends */
    int tag;
    uint32_t context;
    enum send_mode mode;
    uint64_t order;  /* of a posted receive: which came first */
    uint64_t cookie; /* in the table of rendezvous; 0: none */
    uint64_t other;  /* the other side's */
    void *packed;    /* owned: what a buffered send copied */
    size_t buffered; /* bytes of the attached buffer that it occupies */
    bool is_queued, is_buffered, is_rendezvous;
    int sides_left;         /* of a receive that is copied by both ends: those that have not finished */
    struct peer_copy *copy; /* while this rank copies */
};

#define MATCH_TABLES 4 /* match.c */
struct arrival_links {
    struct arrival *next, *previous;
};

/* A message that matches no receive yet, or that MPI_Mprobe has taken from the queue. */
struct arrival {
    struct arrival_links in[MATCH_TABLES];
    struct head head;
    int world;                        /* the sender's world rank */
    struct mpi_request *sender;       /* of a message to oneself, not yet copied */
    struct mpi_comm *comm;            /* of a matched probe: held */
    unsigned char class;              /* of its size (match.c) */
    _Alignas(8) unsigned char data[]; /* of an eager message */
};

/* An object in use by sends that the program no longer has a request for. */
extern int message_detached;

/* A standard send that takes no request: an eager message of dense data, for which there is room. False where
 * it is none, and nothing is done then. */
bool message_send_now(const void *buffer, size_t count, const struct mpi_datatype *type, int peer, int tag,
                      const struct mpi_comm *comm, uint32_t context);
/* Messages of the library's own (HEAD_WINDOW), in order with all others to that rank of the world, which is
 * not this one. At once, or not at all: false where there is no room. */
bool message_try(int world, const struct head *head, const void *data, size_t bytes);
/* At once, or later from a copy. */
void message_post(int world, const struct head *head, const void *data, size_t bytes);
/* The most data that goes with one head. */
size_t message_fragment(int world);
bool message_progress(void);
void message_cookie_make(struct mpi_request *request);
/* For a transport that can write where the data of a fragment (HEAD_DATA) is to lie: that place, or NULL
 * where the data has gaps there; and once it is all there. No other fragment of the message comes in between.
 */
void *message_data_place(int peer, const struct head *head, size_t bytes);
void message_data_placed(int peer, const struct head *head, size_t bytes);
/* A head without data, to whoever has that cookie. */
void message_answer(int peer, enum head_kind kind, uint64_t cookie, uint64_t bytes, uint64_t other);
int message_rendezvous_sends(void); /* this rank's, under way */
/* All data of a receive that has a cookie is there. */
void message_receive_end(struct mpi_request *request);
bool message_outputs_empty(void);
bool outputs_are_empty(void *unused); /* and no detached send is left: for progress_wait (init.c) */
/* `source` is a rank of the communicator that has the context, or, in one for messages of the program's,
 * MPI_ANY_SOURCE; `tag` MPI_ANY_TAG there. */
struct arrival *message_find(uint32_t context, int source, int tag);
void message_unlink(struct arrival *arrival);
struct mpi_request *message_receive_arrival(void *buffer, size_t count, struct mpi_datatype *type,
                                            struct arrival *arrival, struct mpi_comm *comm);
bool message_cancel(struct mpi_request *request);
/* Receives that match has posted; those that wait for a message of (context, source). */
void match_post(struct mpi_request *request);
struct mpi_request *match_posted(const struct head *head);
void match_unpost(struct mpi_request *request);
void match_keep(struct arrival *arrival);
/* Makes memory for the first messages that may come early; false where there is none. The end gives back all,
 * with the messages that nobody has received. */
bool match_begin(void);
void match_end(void);
/* Memory for one with so much data, or NULL; and its end. */
struct arrival *arrival_take(size_t bytes);
void arrival_give(struct arrival *arrival);
int match_unexpected_count(void);

/* ---- Copies from rank to rank (peer_copy.c) ---- */

/* One chunk of each copy under way; whether there is one. */
bool peer_copy_progress(void);
/* A receive that has met its message, of message->bytes at `from` in the sender's memory. False: it cannot be
 * copied so, and nothing has happened. */
bool peer_copy_receive(struct mpi_request *request, uint64_t from, uint64_t sender_cookie);
/* HEAD_OFFER, HEAD_COPIED and HEAD_DONE have come. */
void peer_copy_offered(struct mpi_request *send, uint32_t generation, uint64_t index);
void peer_copy_copied(struct mpi_request *receive);
void peer_copy_done(struct mpi_request *send);

/* ---- Requests ---- */

/* Completes it: the status' source, tag and bytes hold; frees it if the program has given it up. What the
 * program's function returns that a generalized request ends with. */
int request_complete(struct mpi_request *request);
void request_free(struct mpi_request *request);
int request_live_count(void);
struct mpi_request *request_done_make(enum request_kind kind, struct mpi_comm *comm);
/* Whether the next one can be made. */
bool request_has_room(void);
/* What MPI_PROC_NULL's receive, and a null request, give. Neither changes MPI_ERROR, which calls that
 * complete several requests set. */
void status_empty(MPI_Status *status, int source);
void status_set(MPI_Status *status, int source, int tag, size_t bytes);

/* ---- Generalized requests (generalized.c): the program's functions; the second is the last one ---- */
int generalized_query(struct mpi_request *request);
int generalized_end(struct mpi_request *request);
int generalized_cancel(struct mpi_request *request);

/* ---- Buffered sends (buffered.c in point_to_point.c) ---- */
int buffered_take(size_t bytes);
void buffered_give(size_t bytes);

/* ---- Calls' checks (point_to_point.c) ---- */
int check_comm(const struct mpi_comm *comm);
int check_buffer(int count, const struct mpi_datatype *type);
int check_peer(int peer, const struct mpi_comm *comm, bool may_be_any);
int check_tag(int tag, bool may_be_any);
int check_transfer(const void *buffer, int count, const struct mpi_datatype *type, int peer, int tag,
                   const struct mpi_comm *comm, bool receives);

/* ---- The beginning and the end ---- */
int collective_begin(void); /* reads the variables of choice.c */
int nodes_begin(void);      /* which rank is on which node: nodes.c */
void comm_world_begin(void);
void comm_world_end(void);
int comm_live_count(void);

#endif
