/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective.h: collectives of a communicator: schedules, and the algorithms that fill them. Uses message/,
 * comm/ (the topologies of neighbours) and what is below.
 *
 * A collective call becomes a schedule: steps (send, receive, copy, reduce) in rounds. The steps of a round
 * begin in their order; copies and reductions happen as they begin; the next round begins when all messages
 * of the round are through. So a local step sees what earlier rounds received, and what stands before it in
 * its own. schedule.c builds and runs schedules, choice.c chooses the algorithm that fills one. Barriers and
 * short blocking calls of a node need none (barrier.c, exchange.c).
 *
 * Algorithms speak of teams: a team is a communicator, or some ranks of it, so that the same code serves the
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
    const int *places; /* where each begins, in extents; in bytes where `types` is not NULL; or NULL */
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

/* Block i of it (schedule.c). */
struct block side_block(const struct side *side, int i);
/* As many elements as `from` has. */
int block_copy(struct block from, struct block to);

static inline struct block block_of(const void *at, size_t count, struct mpi_datatype *type)
{
    return (struct block){ (void *)(uintptr_t)at, count, type };
}

static inline struct block block_of_bytes(const void *at, size_t bytes)
{
    return block_of(at, bytes, MPI_BYTE);
}

/* An address, also from MPI_BOTTOM. */
static inline void *place_at(const void *buffer, ptrdiff_t bytes)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)bytes);
}

static inline void *element_at(const void *buffer, size_t i, const struct mpi_datatype *type)
{
    return place_at(buffer, (ptrdiff_t)i * type->extent);
}

/* The first element of part i of `parts` nearly equal ones. */
static inline size_t part_begin(size_t count, int parts, int i)
{
    return count * (size_t)i / (size_t)parts;
}

static inline bool is_in_place(const struct side *side)
{
    return side->buffer == MPI_IN_PLACE;
}

/* Of a count and a type of the side that `side` names: "send" or "receive" (collective_calls.c). */
int check_elements(const char *side, int count, const struct mpi_datatype *type);

/* ---- Teams (collective_nodes.c) ---- */

struct team {
    struct mpi_comm *comm;
    const int *members; /* ranks of the communicator, rising; NULL: all of them */
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

/* Who of a communicator shares which node. */
struct mpi_comm_nodes {
    int count;    /* nodes */
    int *node_of; /* of each rank, 0 … count - 1, in order of their lowest ranks */
    int *leaders; /* of each node: its lowest rank */
    int *locals;  /* the ranks of this process's node */
    int local_size, local_rank;
};

/* Whether a team is worth going through nodes: a whole communicator on several nodes, some with several
 * ranks. */
bool team_spans_nodes(const struct team *team);
/* All ranks of the team are on this node. */
bool team_is_on_node(const struct team *team);
/* The ranks of this node, and the leaders of all; `root` (or -1) leads its node. False where this process is
 * no leader; then `leaders` has the rank -1. */
bool team_split(struct schedule *schedule, const struct team *team, int root, struct team *local,
                struct team *leaders, int *local_root, int *leaders_root);

/* ---- Schedules (schedule.c) ---- */

/* `held`: the call to build from; an operation of the program's is a copy in it. */
struct schedule *schedule_make(struct mpi_comm *comm, const struct call *call, struct call *held);
/* Runs it to its end; or leaves that to each round of progress, and gives *request. It is gone after that. */
int schedule_run(struct schedule *schedule);
int schedule_launch(struct schedule *schedule, struct mpi_request **request);

/* Steps. `peer` is a rank of the team. What memory they name must live as long as the schedule. */
void schedule_send(struct schedule *schedule, const struct team *team, int peer, struct block block);
void schedule_receive(struct schedule *schedule, const struct team *team, int peer, struct block block);
void schedule_copy(struct schedule *schedule, struct block from, struct block to);
/* to[i] = from[i] op to[i] */
void schedule_reduce(struct schedule *schedule, struct mpi_op *op, const void *from, void *to, size_t count,
                     struct mpi_datatype *type);
/* What follows begins after all before it is through. */
void schedule_round(struct schedule *schedule);
/* Memory that lives as long as the schedule. Ends the job where there is none: other ranks would wait for
 * ever. */
void *schedule_room(struct schedule *schedule, size_t bytes);
/* The same for `count` elements of a type: what is returned takes the place of a buffer of that type. */
void *schedule_room_for(struct schedule *schedule, size_t count, const struct mpi_datatype *type);
/* Bytes of room for `count` elements of a type; so far from its begin (which is aligned to 16) is what takes
 * the place of a buffer of that type. */
size_t elements_room(size_t count, const struct mpi_datatype *type, MPI_Aint *shift);

/* ---- Choice (choice.c) ---- */

/* Reads the variables that name algorithms. */
int collective_begin(void);
typedef void schedule_builder(struct schedule *schedule, const struct team *team, const struct call *call);

/* The names of calls that do not block, and of no others, begin with MPI_I: they have a request. */
static inline int check_request_of(const char *name, struct mpi_request *const *request)
{
    return name[4] == 'I' ? check_output(request, "request") : MPI_SUCCESS;
}
/* Begins a call whose arguments have been checked. `request` NULL: runs it to its end. */
int collective_start(struct mpi_comm *comm, const struct call *call, struct mpi_request **request);
/* Fills a schedule with the algorithm chosen for this team: how an algorithm uses another one. */
schedule_builder collective_build;
/* The same for an intercommunicator (collective_inter.c). */
void inter_build(struct schedule *schedule, struct mpi_comm *comm, const struct call *call);
/* Begins to give both groups the number that rank 0 of the first one has at `both`, and each group the one
 * that its own rank 0 has at `own`. */
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

/* Of blocking calls of ranks of one node: the collective itself, not a schedule. */
typedef int direct_call(const struct team *team, const struct call *call);

direct_call barrier_counters, bcast_exchange, allreduce_exchange, all_exchange;

/* What a reduction has so far, and room for what comes: after a receive to `spare`, a fold takes it in. At
 * first that is the program's operand, which is copied only where it has to be. */
struct fold {
    struct mpi_op *op;
    struct mpi_datatype *type;
    size_t count;
    void *sum, *spare;
    const void *own; /* this rank's operand, while `sum` is only room for it; or NULL */
};

void fold_left(struct schedule *schedule, struct fold *fold);  /* sum = spare op sum */
void fold_right(struct schedule *schedule, struct fold *fold); /* sum = sum op spare; they change places */
void fold_fill(struct schedule *schedule,
               struct fold *fold); /* copies the operand where it still lies there */

/* What it has so far. */
static inline const void *fold_data(const struct fold *fold)
{
    return fold->own ? fold->own : fold->sum;
}

/* Of a buffer like the fold's: parts `first` … `last` - 1 of `parts`. */
struct block fold_parts(const struct fold *fold, const void *buffer, int parts, int first, int last);

/* The largest power of two among a team's ranks, counted from `root`. The first 2 * rest ranks work in pairs,
 * of which the lower takes part. */
struct power {
    const struct team *team;
    int root, size, rest;
    int rank; /* among those that take part, or -1 */
    int pair; /* the team's rank of the other one of the pair, or -1 */
};

struct power power_of(const struct team *team, int root);
int power_peer(const struct power *power, int rank);
/* Reduces by halves: rank i of the power ends with part i of its size parts of fold->sum. */
void power_halve(struct schedule *schedule, const struct power *power, struct fold *fold);
/* The lower of a pair takes what the upper one has: before the power's steps. */
void power_fold(struct schedule *schedule, const struct power *power, struct fold *fold);

#endif
