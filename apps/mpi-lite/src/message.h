/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h: what message.c, match.c, request.c, progress.c, shared.c and the calls above them share beside
 * the contract (mpi_internal.h): the state of a transfer, messages that have arrived and match no receive
 * yet, and the sleeping of a wait. Everything here runs under the library's lock.
 */
#ifndef MPI_MESSAGE_H
#define MPI_MESSAGE_H

#include "mpi_internal.h"

/* ---- The lock and the bell (init.c, shared.c) ---- */

/* Gives the lock away whatever its depth, which is returned; takes it again. */
int lock_release(void);
void lock_retake(int depth);

uint32_t shared_bell_value(void);
void shared_bell_wait(uint32_t value); /* until the bell has another value; may return early */
void shared_bell_ring_own(void);       /* another thread of this process sleeps */
void shared_sleeping(bool sleeps);     /* announces it, or takes that back */

void shared_kill(void); /* ends the other ranks of the node */

#define SEGMENT_ALIGN 128 /* the largest cache line of the machines that this runs on */

/* The node's shared memory: `bytes` of it, zeroed, from *memory on, aligned. */
int segment_begin(size_t bytes, void **memory);
void segment_meet(void);   /* returns once all ranks of the node are in it */
void segment_unlink(void); /* nobody else needs its name */
void segment_end(void);

bool tcp_is_used(void); /* the job has several nodes */
void tcp_wait(void);    /* until something comes, or tcp_wake; without the lock */
void tcp_wake(int rank);
bool shared_peer_read(int peer, void *to, uint64_t from, size_t bytes);

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
    bool is_queued, is_buffered;
};

/* A message that matches no receive yet, or that MPI_Mprobe has taken from the queue. */
struct arrival {
    struct arrival *next, *previous;         /* of its context and source */
    struct arrival *next_any, *previous_any; /* of its context */
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
bool message_progress(void);
bool message_outputs_empty(void);
/* `source` is a rank of the communicator that has the context, or MPI_ANY_SOURCE. */
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
/* Makes memory for the first messages that may come early; false where there is none. */
bool match_begin(size_t eager_bytes);
/* Memory for one with so much data, or NULL; and its end. */
struct arrival *arrival_take(size_t bytes);
void arrival_give(struct arrival *arrival);
int match_unexpected_count(void);

/* ---- Requests ---- */

/* Completes it: the status' source, tag and bytes hold; frees it if the program has given it up. */
void request_complete(struct mpi_request *request);
void request_free(struct mpi_request *request);
int request_live_count(void);
struct mpi_request *request_done_make(enum request_kind kind, struct mpi_comm *comm);
/* What MPI_PROC_NULL's receive, and a null request, give. */
void status_empty(MPI_Status *status, int source);
void status_set(MPI_Status *status, int source, int tag, size_t bytes);

/* ---- Buffered sends (buffered.c in point_to_point.c) ---- */
int buffered_take(size_t bytes);
void buffered_give(size_t bytes);

/* ---- Calls' checks (point_to_point.c) ---- */
int check_comm(const struct mpi_comm *comm);
int check_buffer(int count, const struct mpi_datatype *type);
int check_peer(int peer, const struct mpi_comm *comm, bool may_be_any);
int check_tag(int tag, bool may_be_any);

/* ---- The beginning and the end ---- */
int collective_begin(void); /* reads the variables of choice.c */
int nodes_begin(void);      /* which rank is on which node: nodes.c */
void comm_world_begin(void);
void comm_world_end(void);
int comm_live_count(void);

#endif
