/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.h: one-sided communication: windows, and what the files of this folder share. Uses construct/ and
 * the folders below.
 *
 *   window.c          windows: making, attached memory, end; the table in which messages find them
 *   window_memory.c   memory that the ranks of a node share
 *   window_calls.c    attributes, names, error handlers, hints of a window
 *   rma.c             the program's operations, and their checks
 *   rma_origin.c      splits operations into pieces, each a message; handles the answers
 *   rma_target.c      what a piece does to this process's memory; locks, exposure
 *   rma_sync.c        fences, groups, locks, flushes
 *
 * All messages from one rank of a window to another are in order (HEAD_WINDOW). Any call that makes progress
 * handles them as they arrive. Answers come back in the same order, so a message is matched to its answer
 * without a number. A piece is complete without other messages: it has the runs of the target's memory
 * (type_wire.h) and the data, so the target keeps no state of an operation. If a transport has no room, an
 * operation waits in the queue of its target. A flush goes through that queue, and its acknowledgement says
 * that everything before it is done.
 *
 * Everything here runs under the library's lock.
 *
 * Source: MPI 3.1 chapter 11.
 */
#ifndef MPI_WINDOW_H
#define MPI_WINDOW_H

#include "construct/construct.h"
#include "type/type_wire.h"

/* What a message does: the tag of its head. */
enum rma_kind {
    RMA_PUT,
    RMA_GET,
    RMA_ACCUMULATE,
    RMA_FETCH, /* MPI_Get_accumulate and MPI_Fetch_and_op */
    RMA_SWAP,  /* MPI_Compare_and_swap */
    RMA_FLUSH,
    RMA_UNLOCK,
    RMA_COMPLETE, /* message of MPI_Win_complete */
    RMA_QUEUED,   /* kinds from here on do not go through a queue */
    RMA_ANSWER = RMA_QUEUED,
    RMA_ACKNOWLEDGE, /* answer to a flush or an unlock */
    RMA_LOCK,
    RMA_GRANT,
    RMA_POST,
    RMA_KINDS
};

/* Returns the head's cookie for a piece: the number of runs at the begin of its data, the type of its
 * elements, and the operation on them. head->other is the number of bytes at the target. */
static inline uint64_t piece_word(size_t runs, unsigned type, unsigned op)
{
    return (uint64_t)runs | (uint64_t)type << 32 | (uint64_t)op << 48;
}

#define PIECE_MAX (32 << 10) /* bytes of a message, runs and data, even if the transport takes more */

/* An operation of this process on a target. */
struct rma_op {
    struct rma_op *next;        /* in the queue, until all of it is sent */
    struct rma_op *next_answer; /* in the list of operations that wait for answers */
    enum rma_kind kind;
    const void *origin, *compare;
    void *result;
    size_t origin_count, result_count, target_count;
    struct mpi_datatype *origin_type, *result_type, *target_type; /* held, or NULL */
    MPI_Aint offset; /* in the target's window, or an address if the window is dynamic */
    struct mpi_datatype *basic;
    struct mpi_op *op;
    size_t unit; /* pieces are multiples of it, so that elements are whole */
    size_t bytes, sent, answered;
    bool is_queued, is_awaited;
    struct mpi_request *request; /* or NULL */
};

enum lock_state { LOCK_NONE, LOCK_WAITS, LOCK_SHARED, LOCK_EXCLUSIVE, LOCK_UNCHECKED };

/* The state of each rank: as a target of this process's operations, and as an origin of others. */
struct rma_peer {
    /* As a target. */
    struct rma_op *first, *last;               /* the queue */
    struct rma_op *first_answer, *last_answer; /* operations that wait for answers, in order */
    struct rma_peer *next_active;              /* in the list of ranks with a queue */
    struct mpi_win *win;
    int rank, world;
    bool is_active;
    bool is_dirty;        /* operations were sent, and no flush has followed */
    bool has_failed;      /* it has refused an access; reported at the next synchronization */
    bool is_started;      /* in the group of MPI_Win_start */
    uint32_t posts;       /* number of its MPI_Win_post to this process that no MPI_Win_start has used */
    enum lock_state lock; /* held by this process there */
    uint64_t requested, acknowledged; /* number of flushes and unlocks */
    size_t answers;                   /* bytes of answers that are expected */
    MPI_Aint size;
    int disp_unit;
    unsigned char *direct; /* its window's memory, if this process maps it; else NULL */
    /* As an origin. */
    enum lock_state holds; /* LOCK_WAITS: it is in the queue for the lock `waits_for` */
    enum lock_state waits_for;
    struct rma_peer *next_waiting;
    bool is_exposed_to; /* it is in the group of MPI_Win_post, and has not completed */
    bool was_refused;   /* an access was refused; the next acknowledgement reports it */
};

enum access_epoch { ACCESS_NONE, ACCESS_FENCE, ACCESS_START, ACCESS_LOCK, ACCESS_LOCK_ALL };

struct region {
    MPI_Aint begin, bytes;
};

struct mpi_win {
    struct hearer hearer;  /* first member: base/error.c calls its handler with the address of a handle */
    struct mpi_comm *comm; /* the window's own: messages have its context */
    struct mpi_win *next;  /* in the table */
    struct mpi_attributes *attributes;
    int flavor, model, disp_unit;
    unsigned char *base; /* NULL if it is dynamic */
    MPI_Aint size;
    struct window_memory *memory; /* memory of MPI_Win_allocate and MPI_Win_allocate_shared */
    struct rma_peer *peers;       /* by rank */
    /* This process's accesses. */
    enum access_epoch access;
    bool fence_is_used; /* there were operations since MPI_Win_fence */
    bool is_unchecked;  /* MPI_Win_lock_all with MPI_MODE_NOCHECK */
    int locked;         /* number of ranks locked by MPI_Win_lock */
    int *started;       /* the ranks of MPI_Win_start's group */
    int started_count;
    /* Accesses of others. */
    bool is_posted;
    int exposed; /* number of ranks in the group of MPI_Win_post that have not completed */
    int holders; /* number of ranks that hold its lock */
    bool is_exclusive;
    struct rma_peer *first_waiting, *last_waiting;
    struct region *regions; /* attached; by address */
    int region_count, region_room;
    bool is_noncontiguous; /* the hint alloc_shared_noncontig */
    char name[MPI_MAX_OBJECT_NAME];
};

/* ---- Windows (window.c) ---- */

/* Finds a window; NULL if this process has no window of that context. */
struct mpi_win *window_find(uint32_t context);
int window_live_count(void);
/* Returns MPI_ERR_WIN if the window is not valid. Calls pass a window to mpi_return_win only if it is valid.
 */
int check_window(const struct mpi_win *win);
/* Ends the outermost call, as mpi_return does. If there is no valid window (`win` NULL), MPI_COMM_WORLD's
 * handler is called. */
int mpi_return_win(struct mpi_win *win, const char *function, int error);
/* Returns whether bytes [begin, begin + bytes) are in attached memory. */
bool window_is_attached(const struct mpi_win *win, int64_t begin, uint64_t bytes);

/* ---- Shared memory (window_memory.c) ---- */

/* Makes memory of `size` bytes on each rank, which the ranks of a node share; *base is this rank's.
 * Collective. If sharing fails, `must_share` makes that an error; otherwise each rank gets memory of its own.
 */
int window_memory_make(struct mpi_comm *comm, MPI_Aint size, bool is_contiguous, bool must_share,
                       struct window_memory **memory, unsigned char **base);
unsigned char *window_memory_of(const struct window_memory *memory, const struct mpi_comm *comm, int rank);
void window_memory_free(struct window_memory *memory);

/* ---- Origins (rma_origin.c) ---- */

/* Copies `op`, holds its types, and sends it to a target: at once, or as there is room. */
int rma_begin(struct mpi_win *win, int rank, const struct rma_op *op);
/* Sends a flush, an unlock or a completion after all earlier operations. */
int rma_close(struct mpi_win *win, int rank, enum rma_kind kind);
/* Handles an answer, an acknowledgement or a grant from a rank. */
void rma_answered(struct mpi_win *win, struct rma_peer *peer, const struct head *head, const void *data,
                  size_t bytes);
/* Sends a message that does not wait in the queue, with data or without. */
void rma_post(struct mpi_win *win, struct rma_peer *peer, enum rma_kind kind, uint64_t cookie, uint64_t other,
              const void *data, size_t bytes);
/* Returns the maximum size in bytes of a message to a rank. */
size_t rma_room(const struct mpi_win *win, const struct rma_peer *peer);
/* Runs one round over the operations that wait for room or for a lock. */
bool window_progress(void);
/* Waits for the acknowledgement of what rma_close has sent. Returns MPI_ERR_RMA_RANGE if the target has
 * refused an access. */
int rma_wait_closed(struct rma_peer *peer);
/* Returns whether all operations on a rank are complete at the origin: origins' buffers may change, results
 * are there. */
bool rma_is_local(const struct rma_peer *peer);
/* Requests a lock; peer->lock is LOCK_WAITS until it is granted. */
void rma_lock_request(struct mpi_win *win, struct rma_peer *peer, enum lock_state requested);

/* ---- Targets (rma_target.c) ---- */

/* Makes window_arrived receive the heads of windows. */
void window_begin(void);
/* Handles a message from the rank `peer` of the window. */
void rma_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head, const void *data,
                 size_t bytes);

#endif
