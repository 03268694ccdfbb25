/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choice.c: chooses the algorithm of a collective: the first row of its table that fits the ranks, the bytes
 * and the operation. All ranks of a call see the same values, and so choose the same.
 *
 * TACET_MPI_BARRIER, TACET_MPI_BCAST, … name an algorithm. If it cannot serve a case (an operation that does
 * not commute, ranks that are no power of two, blocks of different sizes, a single node), the table chooses.
 *
 * The limits are those of the literature, not yet of measurements on these machines: R. Thakur, R.
 * Rabenseifner, W. Gropp, 2005, §4. Runs under the library's lock.
 */
#include "collective/collective.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum needs {
    COMMUTES = 1, /* the operation commutes */
    POWER = 2,    /* the number of ranks is a power of two */
    EQUAL = 4,    /* all blocks have one size, which all ranks know */
    NODES = 8,    /* several nodes, some with several ranks */
    ALONE = 16,   /* a blocking call of ranks of one node, none of which has threads that call MPI at once */
    SHORT = 32,   /* not more bytes than an exchange takes */
};

#define BY_NAME INT_MAX  /* in place of a number of ranks: only if a variable names it */
#define ALL     SIZE_MAX /* in place of a number of bytes: any number */

/* Bytes are those of the message of a rooted collective and of reductions, of all blocks together in an
 * allgather and a reduce-scatter, of one block in the others. */
static const struct algorithm {
    enum collective kind;
    const char *name;
    schedule_builder *build; /* NULL: the function in `direct` for this kind */
    int from_ranks;
    size_t up_to_bytes;
    int needs;
} algorithms[] = {
    { BARRIER, "counters", NULL, 1, ALL, ALONE },
    { BARRIER, "nodes", barrier_nodes, 3, ALL, NODES },
    { BARRIER, "dissemination", barrier_dissemination, 1, ALL, 0 },
    { BARRIER, "tree", barrier_tree, BY_NAME, ALL, 0 },

    { BCAST, "exchange", NULL, 1, ALL, ALONE | SHORT },
    { BCAST, "nodes", broadcast_nodes, 3, ALL, NODES },
    { BCAST, "binomial", broadcast_binomial, 1, 12 << 10, 0 },
    { BCAST, "scatter_allgather", broadcast_scatter_allgather, 8, 512 << 10, 0 },
    { BCAST, "chain", broadcast_chain, 3, ALL, 0 },
    { BCAST, "binomial", broadcast_binomial, 1, ALL, 0 },

    { REDUCE, "nodes", reduce_nodes, 3, ALL, NODES | COMMUTES },
    { REDUCE, "binomial", reduce_binomial, 1, 2 << 10, COMMUTES },
    { REDUCE, "rabenseifner", reduce_rabenseifner, 4, ALL, COMMUTES },
    { REDUCE, "binomial", reduce_binomial, 1, ALL, COMMUTES },
    { REDUCE, "in_order", reduce_in_order, 1, ALL, 0 },

    { ALLREDUCE, "exchange", NULL, 1, ALL, ALONE | SHORT },
    { ALLREDUCE, "nodes", allreduce_nodes, 3, ALL, NODES | COMMUTES },
    { ALLREDUCE, "recursive_doubling", allreduce_recursive_doubling, 1, 2 << 10, 0 },
    { ALLREDUCE, "rabenseifner", allreduce_rabenseifner, 4, 512 << 10, COMMUTES },
    { ALLREDUCE, "ring", allreduce_ring, 4, ALL, COMMUTES },
    { ALLREDUCE, "recursive_doubling", allreduce_recursive_doubling, 1, 32 << 10, 0 },
    { ALLREDUCE, "rabenseifner", allreduce_rabenseifner, 1, ALL, COMMUTES },
    { ALLREDUCE, "recursive_doubling", allreduce_recursive_doubling, 1, ALL, 0 },

    { GATHER, "binomial", gather_binomial, 4, 2 << 10, EQUAL },
    { GATHER, "linear", gather_linear, 1, ALL, 0 },

    { SCATTER, "binomial", scatter_binomial, 4, 2 << 10, EQUAL },
    { SCATTER, "linear", scatter_linear, 1, ALL, 0 },

    { ALLGATHER, "exchange", NULL, 1, ALL, ALONE | SHORT | EQUAL },
    { ALLGATHER, "recursive_doubling", allgather_recursive_doubling, 1, 512 << 10, EQUAL | POWER },
    { ALLGATHER, "bruck", allgather_bruck, 1, 80 << 10, 0 },
    { ALLGATHER, "ring", allgather_ring, 1, ALL, 0 },

    { ALLTOALL, "exchange", NULL, 1, ALL, ALONE | SHORT | EQUAL },
    { ALLTOALL, "bruck", alltoall_bruck, 8, 256, EQUAL },
    { ALLTOALL, "pairwise", alltoall_pairwise, 32, ALL, 0 },
    { ALLTOALL, "spread", alltoall_spread, 1, ALL, 0 },

    { REDUCE_SCATTER, "halving", reduce_scatter_halving, 1, 512 << 10, COMMUTES | POWER },
    { REDUCE_SCATTER, "pairwise", reduce_scatter_pairwise, 1, ALL, COMMUTES },
    { REDUCE_SCATTER, "spread", reduce_scatter_spread, 1, ALL, 0 },

    { SCAN, "recursive_doubling", scan_recursive_doubling, 1, ALL, 0 },
    { SCAN, "linear", scan_linear, BY_NAME, ALL, 0 },
};
#define ALGORITHMS ((int)(sizeof(algorithms) / sizeof(algorithms[0])))

/* The functions that need no schedule. */
static direct_call *const direct[COLLECTIVES] = { [BARRIER] = barrier_counters,
                                                  [BCAST] = bcast_exchange,
                                                  [ALLREDUCE] = allreduce_exchange,
                                                  [ALLGATHER] = all_exchange,
                                                  [ALLTOALL] = all_exchange };

static const char *const variables[COLLECTIVES] = {
    [BARRIER] = "TACET_MPI_BARRIER",
    [BCAST] = "TACET_MPI_BCAST",
    [REDUCE] = "TACET_MPI_REDUCE",
    [ALLREDUCE] = "TACET_MPI_ALLREDUCE",
    [GATHER] = "TACET_MPI_GATHER",
    [SCATTER] = "TACET_MPI_SCATTER",
    [ALLGATHER] = "TACET_MPI_ALLGATHER",
    [ALLTOALL] = "TACET_MPI_ALLTOALL",
    [REDUCE_SCATTER] = "TACET_MPI_REDUCE_SCATTER",
    [SCAN] = "TACET_MPI_SCAN",
};

static const struct algorithm *forced[COLLECTIVES]; /* named by a variable; NULL: none */

/* ---- The variables ---- */

static int unknown_name(enum collective kind, const char *name)
{
    char names[256] = "";

    for (int i = 0; i < ALGORITHMS; i++) {
        const char *one = algorithms[i].name;

        if (algorithms[i].kind != kind || strstr(names, one))
            continue;
        if (*names)
            strncat(names, ", ", sizeof(names) - strlen(names) - 1);
        strncat(names, one, sizeof(names) - strlen(names) - 1);
    }
    return mpi_error(MPI_ERR_OTHER, "%s=%.40s: no such algorithm; there are %s", variables[kind], name,
                     names);
}

int collective_begin(void)
{
    for (int kind = 0; kind < COLLECTIVES; kind++) {
        const char *name = getenv(variables[kind]);

        forced[kind] = NULL;
        for (int i = 0; name && !forced[kind] && i < ALGORITHMS; i++)
            if (algorithms[i].kind == (enum collective)kind && strcmp(algorithms[i].name, name) == 0)
                forced[kind] = &algorithms[i];
        if (name && !forced[kind])
            return unknown_name((enum collective)kind, name);
    }
    return MPI_SUCCESS;
}

/* ---- The choice ---- */

static size_t blocks_bytes(const struct team *team, const struct side *side, struct mpi_datatype *type)
{
    size_t count = side->counts ? 0 : (size_t)team->size * side->count;

    for (int i = 0; side->counts && i < team->size; i++)
        count += (size_t)side->counts[i];
    return count * type->bytes;
}

static size_t call_bytes(const struct team *team, const struct call *call)
{
    bool is_root = team->rank == call->root;

    switch (call->kind) {
    case BCAST:
        return call->to.count * call->to.type->bytes;
    case GATHER:
        return is_root ? block_bytes(side_block(&call->to, 0)) : call->from.count * call->from.type->bytes;
    case SCATTER:
        return is_root ? block_bytes(side_block(&call->from, 0)) : call->to.count * call->to.type->bytes;
    case ALLGATHER:
        return blocks_bytes(team, &call->to, call->to.type);
    case REDUCE_SCATTER:
        return blocks_bytes(team, &call->to, call->from.type);
    case ALLTOALL:
        return call->varies ? 0 : block_bytes(side_block(&call->to, 0));
    case BARRIER:
        return 0;
    default:
        return call->from.count * call->from.type->bytes;
    }
}

static bool algorithm_can(const struct algorithm *algorithm, const struct team *team, const struct call *call,
                          size_t bytes, bool blocks)
{
    int needs = algorithm->needs;

    if (needs & ALONE && (!blocks || shared_has_threads() || !team_is_on_node(team)))
        return false;
    if (needs & SHORT && bytes > SHARED_EXCHANGE_BYTES)
        return false;
    if (needs & COMMUTES && !call->op->commutes)
        return false;
    if (needs & POWER && (team->size & (team->size - 1)))
        return false;
    if (needs & EQUAL && call->varies)
        return false;
    return !(needs & NODES) || team_spans_nodes(team);
}

static const struct algorithm *algorithm_choose(const struct team *team, const struct call *call, bool blocks)
{
    /* Sizes that some ranks do not know are not used for the choice. */
    size_t bytes =
        call->varies && (call->kind == GATHER || call->kind == SCATTER) ? 0 : call_bytes(team, call);

    if (forced[call->kind] && algorithm_can(forced[call->kind], team, call, bytes, blocks))
        return forced[call->kind];
    for (int i = 0; i < ALGORITHMS; i++) {
        const struct algorithm *one = &algorithms[i];

        if (one->kind == call->kind && team->size >= one->from_ranks && bytes <= one->up_to_bytes &&
            algorithm_can(one, team, call, bytes, blocks))
            return one;
    }
    mpi_abort(1, "no algorithm for collective %d", (int)call->kind); /* the last row of each kind fits every
                                                                      * call */
}

void collective_build(struct schedule *schedule, const struct team *team, const struct call *call)
{
    algorithm_choose(team, call, false)->build(schedule, team, call);
}

int collective_start(struct mpi_comm *comm, const struct call *call, struct mpi_request **request)
{
    const struct team team = { comm, NULL, comm->size, comm->rank };
    struct call held;

    const struct algorithm *algorithm = comm->inter ? NULL : algorithm_choose(&team, call, !request);
    if (algorithm && !algorithm->build)
        return direct[call->kind](&team, call);
    struct schedule *schedule = schedule_make(comm, call, &held);
    if (comm->inter)
        inter_build(schedule, comm, &held);
    else
        algorithm->build(schedule, &team, &held);
    return request ? schedule_launch(schedule, request) : schedule_run(schedule);
}
