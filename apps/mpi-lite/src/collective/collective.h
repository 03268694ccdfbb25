/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective.h: collectives of a communicator: schedules, and the algorithms that fill them. Uses message/,
 * comm/ (the topologies of neighbours) and the folders below.
 *
 * A collective call becomes a schedule: steps (send, receive, copy, reduce) in rounds. The steps of a round
 * begin in their order. Copies and reductions happen as they begin; the next round begins when all messages
 * of the round are complete. So a local step sees what earlier rounds received, and the effects of earlier
 * steps in its own round. schedule.c builds and runs schedules, choice.c chooses the algorithm that fills
 * one. Barriers and short blocking calls in a node need no schedule (barrier.c, exchange.c).
 *
 * Algorithms work on teams: a team is a communicator, or some ranks of it, so that the same code serves the
 * ranks of a node and the leaders of the nodes. Everything here runs under the library's lock and keeps its
 * state in the schedule and the communicator.
 *
 * Source: MPI 3.1 chapter 5.
 */
#ifndef MPI_COLLECTIVE_H
#define MPI_COLLECTIVE_H

#include "comm/comm.h"
#include "message/message.h"

struct schedule;

enum collective {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    REDUCE_SCATTER,
    SCAN,
    COLLECTIVES
};

/* ---- Calls ---- */

/* `count` elements at `at`. */
struct block {
    void *at;
    size_t count;
    struct mpi_datatype *type;
};

/* The send buffer or the receive buffer: one block, or one for each rank. */
struct side {
    const void *buffer;
    size_t count;      /* of each block, without `counts` */
    const int *counts; /* of each block, or NULL */
    const int *places; /* where each begins, in extents; in bytes if `types` is not NULL; or NULL */
    struct mpi_datatype *type;
    MPI_Datatype const *types; /* of each block: MPI_Alltoallw; else NULL */
};

struct call {
    enum collective kind;
    bool varies;   /* blocks may differ in size: the v and w forms */
    bool excludes; /* MPI_Exscan */
    struct side from, to;
    struct mpi_op *op;
    int root;
};

static inline size_t block_bytes(struct block block)
{
    return block.count ? block.count * block.type->bytes : 0;
}

/* Returns block i of a side (schedule.c). */
struct block side_block(const struct side *side, int i);
/* Copies as many elements as `from` has. */
int block_copy(struct block from, struct block to);

static inline struct block block_of(const void *at, size_t count, struct mpi_datatype *type)
{
    return (struct block){ (void *)(uintptr_t)at, count, type };
}

static inline struct block block_of_bytes(const void *at, size_t bytes)
{
    return block_of(at, bytes, MPI_BYTE);
}

/* Adds bytes to an address, which may be MPI_BOTTOM. */
static inline void *place_at(const void *buffer, ptrdiff_t bytes)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)bytes);
}

static inline void *element_at(const void *buffer, size_t i, const struct mpi_datatype *type)
{
    return place_at(buffer, (ptrdiff_t)i * type->extent);
}

/* Returns the first element of part i of `parts` nearly equal ones. */
static inline size_t part_begin(size_t count, int parts, int i)
{
    return count * (size_t)i / (size_t)parts;
}

static inline bool is_in_place(const struct side *side)
{
    return side->buffer == MPI_IN_PLACE;
}

/* Checks the count and the type of the buffer that `side` names: "send" or "receive" (collective_calls.c). */
int check_elements(const char *side, int count, const struct mpi_datatype *type);

/* ---- Teams (collective_nodes.c) ---- */

struct team {
    struct mpi_comm *comm;
    const int *members; /* ranks of the communicator, in rising order; NULL: all of them */
    int size, rank;
};

static inline int team_next(const struct team *team, int distance)
{
    return (team->rank + distance) % team->size;
}

static inline int team_previous(const struct team *team, int distance)
{
    return (team->rank - distance % team->size + team->size) % team->size;
}

/* How the ranks of a communicator are spread over nodes. */
struct mpi_comm_nodes {
    int count;    /* nodes */
    int *node_of; /* of each rank, 0 … count - 1, in order of their lowest ranks */
    int *leaders; /* of each node: its lowest rank */
    int *locals;  /* the ranks of this process's node */
    int local_size, local_rank;
};

/* Returns whether a team should use the algorithms for several nodes: a whole communicator on several nodes,
 * some with several ranks. */
bool team_spans_nodes(const struct team *team);
/* Returns whether all ranks of the team are on this node. */
bool team_is_on_node(const struct team *team);
/* Makes the team of this node's ranks, and that of all nodes' leaders; `root` (or -1) leads its node. Returns
 * false if this process is no leader; then it has rank -1 in `leaders`. */
bool team_split(struct schedule *schedule, const struct team *team, int root, struct team *local,
                struct team *leaders, int *local_root, int *leaders_root);

/* ---- Schedules (schedule.c) ---- */

/* Makes an empty schedule for a call. `held` receives the call to build from, with a copy of an operation of
 * the program's. */
struct schedule *schedule_make(struct mpi_comm *comm, const struct call *call, struct call *held);
/* Runs it to its end (schedule_run), or leaves it to the rounds of progress and sets *request
 * (schedule_launch). Both free the schedule when it ends. */
int schedule_run(struct schedule *schedule);
int schedule_launch(struct schedule *schedule, struct mpi_request **request);

/* Adds a step. `peer` is a rank of the team. The memory that they name must live as long as the schedule. */
void schedule_send(struct schedule *schedule, const struct team *team, int peer, struct block block);
void schedule_receive(struct schedule *schedule, const struct team *team, int peer, struct block block);
void schedule_copy(struct schedule *schedule, struct block from, struct block to);
/* Adds the step to[i] = from[i] op to[i]. */
void schedule_reduce(struct schedule *schedule, struct mpi_op *op, const void *from, void *to, size_t count,
                     struct mpi_datatype *type);
/* Ends a round: later steps begin when all earlier ones are complete. */
void schedule_round(struct schedule *schedule);
/* Returns memory that lives as long as the schedule. Ends the job without memory: other ranks would wait for
 * ever. */
void *schedule_room(struct schedule *schedule, size_t bytes);
/* Returns the same for `count` elements of a type: the address replaces that of a buffer of that type. */
void *schedule_room_for(struct schedule *schedule, size_t count, const struct mpi_datatype *type);
/* Returns how many bytes `count` elements of a type need. *shift is the distance from the memory's begin,
 * aligned to 16, to the address that replaces a buffer's. */
size_t elements_room(size_t count, const struct mpi_datatype *type, MPI_Aint *shift);

/* ---- Choice (choice.c) ---- */

/* Reads the environment variables that name algorithms. */
int collective_begin(void);
typedef void schedule_builder(struct schedule *schedule, const struct team *team, const struct call *call);

/* Checks the request of a call that does not block. Only the names of such calls begin with MPI_I. */
static inline int check_request_of(const char *name, struct mpi_request *const *request)
{
    return name[4] == 'I' ? check_output(request, "request") : MPI_SUCCESS;
}
/* Begins a call whose arguments have been checked. `request` NULL: runs it to its end. */
int collective_start(struct mpi_comm *comm, const struct call *call, struct mpi_request **request);
/* Fills a schedule with the algorithm chosen for this team. Algorithms call it to use another collective. */
schedule_builder collective_build;
/* Does the same for an intercommunicator (collective_inter.c). */
void inter_build(struct schedule *schedule, struct mpi_comm *comm, const struct call *call);
/* Begins to give both groups the number that rank 0 of the first group has at `both`, and each group the
 * number that its own rank 0 has at `own`. */
int inter_numbers_start(struct mpi_comm *comm, bool is_first, uint32_t *both, uint32_t *own,
                        struct mpi_request **request);

/* ---- Algorithms ---- */

schedule_builder barrier_dissemination, barrier_tree, barrier_nodes;
schedule_builder broadcast_binomial, broadcast_scatter_allgather, broadcast_chain, broadcast_nodes;
schedule_builder reduce_binomial, reduce_in_order, reduce_rabenseifner, reduce_nodes;
schedule_builder allreduce_recursive_doubling, allreduce_rabenseifner, allreduce_ring, allreduce_nodes;
schedule_builder gather_binomial, gather_linear, scatter_binomial, scatter_linear;
schedule_builder allgather_recursive_doubling, allgather_bruck, allgather_ring;
schedule_builder alltoall_bruck, alltoall_pairwise, alltoall_spread;
schedule_builder reduce_scatter_pairwise, reduce_scatter_halving, reduce_scatter_spread;
schedule_builder scan_recursive_doubling, scan_linear;

/* Blocking calls of ranks of one node, done at once without a schedule. */
typedef int direct_call(const struct team *team, const struct call *call);

direct_call barrier_counters, bcast_exchange, allreduce_exchange, all_exchange;

/* The intermediate result of a reduction, and room for the next operand: after a receive to `spare`, a fold
 * combines it with `sum`. At first the result is the program's operand, which is copied only if necessary. */
struct fold {
    struct mpi_op *op;
    struct mpi_datatype *type;
    size_t count;
    void *sum, *spare;
    const void *own; /* this rank's operand, while `sum` is only room for it; or NULL */
};

void fold_left(struct schedule *schedule, struct fold *fold);  /* sum = spare op sum */
void fold_right(struct schedule *schedule, struct fold *fold); /* sum = sum op spare; swaps them */
void fold_fill(struct schedule *schedule,
               struct fold *fold); /* copies the operand into `sum` if it is not there yet */

/* Returns the result so far. */
static inline const void *fold_data(const struct fold *fold)
{
    return fold->own ? fold->own : fold->sum;
}

/* Returns parts `first` … `last` - 1 of `parts` of a buffer like the fold's. */
struct block fold_parts(const struct fold *fold, const void *buffer, int parts, int first, int last);

/* The largest power of two among a team's ranks, counted from `root`. The first 2 * rest ranks work in pairs,
 * of which the lower rank takes part. */
struct power {
    const struct team *team;
    int root, size, rest;
    int rank; /* among those that take part, or -1 */
    int pair; /* the team's rank of the other member of the pair, or -1 */
};

struct power power_of(const struct team *team, int root);
int power_peer(const struct power *power, int rank);
/* Reduces by halves: rank i of the power ends with part i of its size parts of fold->sum. */
void power_halve(struct schedule *schedule, const struct power *power, struct fold *fold);
/* Combines each pair's operands on the lower rank, before the steps of the power. */
void power_fold(struct schedule *schedule, const struct power *power, struct fold *fold);

#endif
