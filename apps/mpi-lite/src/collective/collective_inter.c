/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective_inter.c: the collectives of intercommunicators. Each group receives what the other group sends.
 *
 * Their schedules have messages of two kinds: between the groups, on the intercommunicator, and within the
 * local group, on the communicator that the intercommunicator keeps for it. A reduction goes within each
 * group to its rank 0, which exchanges the result with the other group's rank 0. Data that all ranks of a
 * group receive comes to its rank 0 and is broadcast. Both use the algorithms that choice.c chooses for the
 * local group. Data of one pair of ranks goes directly.
 *
 * In a rooted call, root is MPI_ROOT at the root, MPI_PROC_NULL at the others of its group, and the root's
 * rank in the other group. They build schedules, under the library's lock.
 *
 * Source: MPI 3.1 §5.2.2, §5.2.3 and the paragraphs about intercommunicators of each function.
 */
#include "collective/collective.h"

/* Both sides of an intercommunicator: ranks of `across` are those of the remote group. */
struct sides {
    struct team local, across;
};

static struct sides sides_of(struct mpi_comm *comm)
{
    return (struct sides){ .local = { comm->local, NULL, comm->size, comm->rank },
                           .across = { comm, NULL, comm->remote->size, comm->rank } };
}

static struct block side_whole(const struct side *side)
{
    return block_of(side->buffer, side->count, side->type);
}

/* Sends a block to the other group. Blocks without data are not sent: both sides know that there is none. */
static void give(struct schedule *schedule, const struct team *across, int peer, struct block block)
{
    if (block_bytes(block))
        schedule_send(schedule, across, peer, block);
}

static void take(struct schedule *schedule, const struct team *across, int peer, struct block block)
{
    if (block_bytes(block))
        schedule_receive(schedule, across, peer, block);
}

/* Broadcasts a block of rank 0 of the local group, in a new round. */
static void announce(struct schedule *schedule, const struct team *local, struct block block)
{
    const struct call call = { .kind = BCAST,
                               .to = { .buffer = block.at, .count = block.count, .type = block.type } };

    schedule_round(schedule);
    collective_build(schedule, local, &call);
}

static void inter_barrier(struct schedule *schedule, const struct sides *sides)
{
    const struct call call = { .kind = BARRIER };
    const struct block nothing = block_of_bytes(NULL, 0);

    collective_build(schedule, &sides->local, &call);
    schedule_round(schedule);
    if (sides->local.rank == 0) {
        schedule_receive(schedule, &sides->across, 0, nothing);
        schedule_send(schedule, &sides->across, 0, nothing);
    }
    schedule_round(schedule);
    collective_build(schedule, &sides->local, &call);
}

static void inter_broadcast(struct schedule *schedule, const struct sides *sides, const struct call *call)
{
    struct block block = side_whole(&call->to);

    if (call->root == MPI_ROOT)
        give(schedule, &sides->across, 0, block);
    if (call->root < 0)
        return;
    if (sides->local.rank == 0)
        take(schedule, &sides->across, call->root, block);
    announce(schedule, &sides->local, block);
}

static void inter_gather(struct schedule *schedule, const struct sides *sides, const struct call *call)
{
    if (call->root >= 0)
        give(schedule, &sides->across, call->root, side_whole(&call->from));
    for (int i = 0; call->root == MPI_ROOT && i < sides->across.size; i++)
        take(schedule, &sides->across, i, side_block(&call->to, i));
}

static void inter_scatter(struct schedule *schedule, const struct sides *sides, const struct call *call)
{
    if (call->root >= 0)
        take(schedule, &sides->across, call->root, side_whole(&call->to));
    for (int i = 0; call->root == MPI_ROOT && i < sides->across.size; i++)
        give(schedule, &sides->across, i, side_block(&call->from, i));
}

/* Gathers: rank 0 of each group receives all blocks of the other group, without gaps, and broadcasts them. */
static void inter_allgather(struct schedule *schedule, const struct sides *sides, const struct call *call)
{
    const struct team *across = &sides->across;
    bool is_dense = !call->varies && call->to.type->dense;
    size_t bytes = 0, at = 0;

    for (int i = 0; i < across->size; i++)
        bytes += block_bytes(side_block(&call->to, i));
    char *room = is_dense ? (void *)(uintptr_t)call->to.buffer : schedule_room(schedule, bytes);
    for (int i = 0; sides->local.rank == 0 && i < across->size; i++) {
        size_t block = block_bytes(side_block(&call->to, i));

        take(schedule, across, i, block_of_bytes(room + at, block));
        at += block;
    }
    give(schedule, across, 0, side_whole(&call->from));
    announce(schedule, &sides->local, block_of_bytes(room, bytes));
    schedule_round(schedule);
    at = 0;
    for (int i = 0; !is_dense && i < across->size; i++) {
        struct block block = side_block(&call->to, i);

        schedule_copy(schedule, block_of_bytes(room + at, block_bytes(block)), block);
        at += block_bytes(block);
    }
}

static void inter_alltoall(struct schedule *schedule, const struct sides *sides, const struct call *call)
{
    int size = sides->across.size, first = sides->local.rank % size;

    for (int i = 0; i < size; i++) {
        int peer = (first + i) % size;

        take(schedule, &sides->across, peer, side_block(&call->to, peer));
    }
    for (int i = 0; i < size; i++) {
        int peer = (first + i) % size;

        give(schedule, &sides->across, peer, side_block(&call->from, peer));
    }
}

/* Reduces the local group's operands, `count` elements each, to rank 0 of the group; returns the result's
 * address there. */
static void *combine(struct schedule *schedule, const struct sides *sides, const struct call *call,
                     size_t count)
{
    void *sum = sides->local.rank ? NULL : schedule_room_for(schedule, count, call->from.type);
    struct call within = *call;

    within.kind = REDUCE;
    within.root = 0;
    within.varies = false;
    within.from.count = count;
    within.to = within.from;
    within.to.buffer = sum;
    collective_build(schedule, &sides->local, &within);
    schedule_round(schedule);
    return sum;
}

static void inter_reduce(struct schedule *schedule, const struct sides *sides, const struct call *call)
{
    size_t count = call->from.count;

    if (call->root == MPI_ROOT)
        take(schedule, &sides->across, 0, side_whole(&call->to));
    if (call->root < 0)
        return;
    void *sum = combine(schedule, sides, call, count);
    if (sides->local.rank == 0)
        give(schedule, &sides->across, call->root, block_of(sum, count, call->from.type));
}

/* Swaps what `combine` has made for the other group's result. */
static void inter_swap(struct schedule *schedule, const struct sides *sides, struct block own,
                       struct block other)
{
    if (sides->local.rank)
        return;
    take(schedule, &sides->across, 0, other);
    give(schedule, &sides->across, 0, own);
}

static void inter_allreduce(struct schedule *schedule, const struct sides *sides, const struct call *call)
{
    struct block result = side_whole(&call->to);
    void *sum = combine(schedule, sides, call, call->from.count);

    inter_swap(schedule, sides, block_of(sum, result.count, result.type), result);
    announce(schedule, &sides->local, result);
}

static void inter_reduce_scatter(struct schedule *schedule, const struct sides *sides,
                                 const struct call *call)
{
    const struct team *local = &sides->local;
    struct mpi_datatype *type = call->from.type;
    size_t total = 0, at = 0;
    void *other = NULL;

    for (int i = 0; i < local->size; i++)
        total += side_block(&call->to, i).count;
    void *sum = combine(schedule, sides, call, total);
    if (local->rank == 0)
        other = schedule_room_for(schedule, total, type);
    inter_swap(schedule, sides, block_of(sum, total, type), block_of(other, total, type));
    schedule_round(schedule);
    struct block own = block_of(call->to.buffer, side_block(&call->to, local->rank).count, type);
    if (local->rank) {
        take(schedule, local, 0, own);
        return;
    }
    schedule_copy(schedule, block_of(other, own.count, type), own);
    for (int i = 0; i < local->size; i++) {
        size_t count = side_block(&call->to, i).count;

        if (i)
            give(schedule, local, i, block_of(element_at(other, at, type), count, type));
        at += count;
    }
}

void inter_build(struct schedule *schedule, struct mpi_comm *comm, const struct call *call)
{
    typedef void builder(struct schedule *, const struct sides *, const struct call *);
    static builder *const builders[COLLECTIVES] = {
        [BCAST] = inter_broadcast,     [REDUCE] = inter_reduce,
        [ALLREDUCE] = inter_allreduce, [GATHER] = inter_gather,
        [SCATTER] = inter_scatter,     [ALLGATHER] = inter_allgather,
        [ALLTOALL] = inter_alltoall,   [REDUCE_SCATTER] = inter_reduce_scatter,
    };
    const struct sides sides = sides_of(comm);

    if (call->kind == BARRIER)
        inter_barrier(schedule, &sides);
    else
        builders[call->kind](schedule, &sides, call); /* scans have been refused */
}

int inter_numbers_start(struct mpi_comm *comm, bool is_first, uint32_t *both, uint32_t *own,
                        struct mpi_request **request)
{
    const struct sides sides = sides_of(comm);
    const struct call call = { .kind = BCAST };
    struct block number = block_of(both, 1, MPI_UINT32_T);
    struct call held;
    struct schedule *schedule = schedule_make(comm, &call, &held);

    if (sides.local.rank == 0 && is_first)
        give(schedule, &sides.across, 0, number);
    if (sides.local.rank == 0 && !is_first)
        take(schedule, &sides.across, 0, number);
    announce(schedule, &sides.local, number);
    announce(schedule, &sides.local, block_of(own, 1, MPI_UINT32_T));
    return schedule_launch(schedule, request);
}
