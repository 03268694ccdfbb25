/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.h: one-sided communication: windows, and what the files of this room share. Uses construct/ and what
 * is below.
 *
 *   window.c          windows: making, attached memory, end; the table in which messages find them
 *   window_memory.c   memory that the ranks of a node share
 *   window_calls.c    attributes, names, error handlers, hints of a window
 *   rma.c             the program's operations, and their checks
 *   rma_origin.c      an operation becomes pieces, each a message; answers to them
 *   rma_target.c      what a piece does to this process's memory; locks, exposure
 *   rma_sync.c        fences, groups, locks, flushes
 *
 * All that goes from one rank to another of a window goes in order (HEAD_WINDOW), and is done as it comes, by
 * any call that makes progress: answers come back in the same order, so a message is matched to its answer
 * without a number. A piece says all by itself: where its data lies in the target's memory, as runs
 * (type_wire.h), and the data; the target keeps no state of an operation. What finds no room on its way stays
 * with its operation, in the queue of its target. A flush goes through that queue, and its acknowledgement
 * says that all before it is done.
 *
 * Everything here runs under the library's lock.
 *
 * Source: MPI 3.1 chapter 11.
 */
#ifndef MPI_WINDOW_H
#define MPI_WINDOW_H

#include "construct/construct.h"
#include "type/type_wire.h"

/* What a message does; the head's tag. */
enum rma_kind {
    RMA_PUT,
    RMA_GET,
    RMA_ACCUMULATE,
    RMA_FETCH, /* MPI_Get_accumulate and MPI_Fetch_and_op */
    RMA_SWAP,  /* MPI_Compare_and_swap */
    RMA_FLUSH,
    RMA_UNLOCK,
    RMA_COMPLETE, /* of MPI_Win_complete */
    RMA_QUEUED,   /* those below do not go through a queue */
    RMA_ANSWER = RMA_QUEUED,
    RMA_ACKNOWLEDGE, /* of a flush or an unlock */
    RMA_LOCK,
    RMA_GRANT,
    RMA_POST,
    RMA_KINDS
};

/* The head's words of a piece: how many runs its data begins with, which type its elements have, and which
 * operation they take part in; head->other: bytes at the target. */
static inline uint64_t piece_word(size_t runs, unsigned type, unsigned op)
{
    return (uint64_t)runs | (uint64_t)type << 32 | (uint64_t)op << 48;
}

#define PIECE_MAX (32 << 10) /* bytes of a message, runs and data, whatever the transport would take */

/* An operation of this process's on a target. */
struct rma_op {
    struct rma_op *next;        /* in the queue, until all of it is sent */
    struct rma_op *next_answer; /* of those whose answers are to come */
    enum rma_kind kind;
    const void *origin, *compare;
    void *result;
    size_t origin_count, result_count, target_count;
    struct mpi_datatype *origin_type, *result_type, *target_type; /* held, or NULL */
    MPI_Aint offset; /* in the target's window, or an address where the window is dynamic */
    struct mpi_datatype *basic;
    struct mpi_op *op;
    size_t unit; /* a piece is a multiple of it, so that elements are whole */
    size_t bytes, sent, answered;
    bool is_queued, is_awaited;
    struct mpi_request *request; /* or NULL */
};

enum lock_state { LOCK_NONE, LOCK_WAITS, LOCK_SHARED, LOCK_EXCLUSIVE, LOCK_UNCHECKED };

/* What this process knows of each rank: as a target of its operations, and as an origin of others. */
struct rma_peer {
    /* As a target. */
    struct rma_op *first, *last;               /* the queue */
    struct rma_op *first_answer, *last_answer; /* those whose answers are to come, in order */
    struct rma_peer *next_active;              /* of those with a queue */
    struct mpi_win *win;
    int rank, world;
    bool is_active;
    bool is_dirty;        /* operations were sent that no flush has followed */
    bool has_failed;      /* an access was refused; said at the next synchronization */
    bool is_started;      /* of the group of MPI_Win_start */
    uint32_t posts;       /* of its MPI_Win_post to this process, that no MPI_Win_start has taken */
    enum lock_state lock; /* that this process has there */
    uint64_t requested, acknowledged; /* flushes and unlocks */
    size_t answers;                   /* bytes of answers to come */
    MPI_Aint size;
    int disp_unit;
    unsigned char *direct; /* its window's memory, where this process sees it; else NULL */
    /* As an origin. */
    enum lock_state holds; /* LOCK_WAITS: it stands in the queue, for the lock that `waits_for` says */
    enum lock_state waits_for;
    struct rma_peer *next_waiting;
    bool is_exposed_to; /* MPI_Win_post has let it in, and it has not completed */
    bool was_refused;   /* to be said with the next acknowledgement */
};

enum access_epoch { ACCESS_NONE, ACCESS_FENCE, ACCESS_START, ACCESS_LOCK, ACCESS_LOCK_ALL };

struct region {
    MPI_Aint begin, bytes;
};

struct mpi_win {
    struct hearer hearer;  /* first: base/error.c calls its handler with the address of a handle */
    struct mpi_comm *comm; /* its own: messages have its context */
    struct mpi_win *next;  /* in the table */
    struct mpi_attributes *attributes;
    int flavor, model, disp_unit;
    unsigned char *base; /* NULL where it is dynamic */
    MPI_Aint size;
    struct window_memory *memory; /* of MPI_Win_allocate and MPI_Win_allocate_shared */
    struct rma_peer *peers;       /* by rank */
    /* This process's accesses. */
    enum access_epoch access;
    bool fence_is_used; /* operations since MPI_Win_fence */
    bool is_unchecked;  /* MPI_Win_lock_all with MPI_MODE_NOCHECK */
    int locked;         /* ranks that MPI_Win_lock has locked */
    int *started;       /* the ranks of MPI_Win_start's group */
    int started_count;
    /* Accesses of others. */
    bool is_posted;
    int exposed; /* of those whom MPI_Win_post has let in: how many have not completed */
    int holders; /* of its lock */
    bool is_exclusive;
    struct rma_peer *first_waiting, *last_waiting;
    struct region *regions; /* attached; by address */
    int region_count, region_room;
    bool is_noncontiguous; /* the hint alloc_shared_noncontig */
    char name[MPI_MAX_OBJECT_NAME];
};

/* ---- Windows (window.c) ---- */

/* NULL where this process has none of that context. */
struct mpi_win *window_find(uint32_t context);
int window_live_count(void);
/* MPI_ERR_WIN. Calls hand the window to their error handler only where it is one. */
int check_window(const struct mpi_win *win);
/* The outermost call's return, as mpi_return; `win` NULL: no valid one, so that MPI_COMM_WORLD's handler
 * hears of it. */
int mpi_return_win(struct mpi_win *win, const char *function, int error);
/* Whether bytes [begin, begin + bytes) are in attached memory. */
bool window_is_attached(const struct mpi_win *win, int64_t begin, uint64_t bytes);

/* ---- Shared memory (window_memory.c) ---- */

/* Memory of `size` bytes on each rank, which those of a node share; *direct: where this process sees each
 * rank's, or NULL. Collective. `must_share`: an error where that does not work; else memory of its own. */
int window_memory_make(struct mpi_comm *comm, MPI_Aint size, bool is_contiguous, bool must_share,
                       struct window_memory **memory, unsigned char **base);
unsigned char *window_memory_of(const struct window_memory *memory, const struct mpi_comm *comm, int rank);
void window_memory_free(struct window_memory *memory);

/* ---- Origins (rma_origin.c) ---- */

/* A copy of `op`, with references to its types, goes to a target: at once, or as there is room. */
int rma_begin(struct mpi_win *win, int rank, const struct rma_op *op);
/* A flush, an unlock or a completion: after all operations before it. */
int rma_close(struct mpi_win *win, int rank, enum rma_kind kind);
/* An answer, an acknowledgement or a grant from a rank. */
void rma_answered(struct mpi_win *win, struct rma_peer *peer, const struct head *head, const void *data,
                  size_t bytes);
/* A message that goes past the queue, with data or without. */
void rma_post(struct mpi_win *win, struct rma_peer *peer, enum rma_kind kind, uint64_t cookie, uint64_t other,
              const void *data, size_t bytes);
/* The most bytes of a message to a rank. */
size_t rma_room(const struct mpi_win *win, const struct rma_peer *peer);
/* One round over the operations that wait for room on their way, or for a lock. */
bool window_progress(void);
/* Waits for what rma_close began and has an acknowledgement; MPI_ERR_RMA_RANGE where the target has refused
 * an access. */
int rma_wait_closed(struct rma_peer *peer);
/* Whether all that went to a rank is out of the origins' buffers and in the results'. */
bool rma_is_local(const struct rma_peer *peer);
/* Asks for a lock; peer->lock is LOCK_WAITS until it is there. */
void rma_lock_request(struct mpi_win *win, struct rma_peer *peer, enum lock_state requested);

/* ---- Targets (rma_target.c) ---- */

/* Heads of windows go to window_arrived from now on. */
void window_begin(void);
/* From the rank `peer` of the window. */
void rma_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head, const void *data,
                 size_t bytes);

#endif
