/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.c: blocking collectives of short data among ranks of one node, without schedules and messages.
 *
 * From each rank to each other there are a few slots in shared memory, used in turn: a slot has its number,
 * its length and the data. Two ranks enter the blocking collectives that they share in the same order, so the
 * same slots serve all communicators. Data given in a collective is taken in the same collective. Data is
 * packed, because ranks may lay it out in different ways.
 *
 *   bcast                down a binomial tree
 *   allreduce            recursive doubling; keeps the order of the operands
 *   allgather, alltoall  to all others, then from all others
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, 2005, §4 (the trees, recursive doubling). Runs under the
 * library's lock.
 */
#include "collective/collective.h"
#include <stdlib.h>
#include <string.h>

static bool has_room(void *argument)
{
    return shared_exchange_has_room(*(const int *)argument);
}

static void block_give(const struct team *team, int peer, struct block block)
{
    int world = team->comm->group->world[peer];
    size_t bytes = block_bytes(block);

    progress_wait(has_room, &world);
    void *place = shared_exchange_place(world);
    if (bytes && block.type->dense)
        memcpy(place, block.at, bytes);
    else if (bytes)
        type_pack(block.at, block.count, block.type, 0, bytes, place);
    shared_exchange_give(world, bytes);
}

static bool has_come(void *argument)
{
    return shared_exchange_is_there(*(const int *)argument);
}

static int block_take(const struct team *team, int peer, struct block block)
{
    int world = team->comm->group->world[peer];
    size_t bytes = block_bytes(block), came;

    progress_wait(has_come, &world);
    const void *data = shared_exchange_data(world, &came);
    if (came == bytes && bytes && block.type->dense)
        memcpy(block.at, data, bytes);
    else if (came == bytes && bytes)
        type_unpack(block.at, block.count, block.type, 0, bytes, data);
    shared_exchange_take(world);
    return came == bytes ? MPI_SUCCESS
                         : mpi_error(MPI_ERR_COUNT, "rank %d has sent %zu bytes where %zu are expected", peer,
                                     came, bytes);
}

/* ---- Broadcast ---- */

int bcast_exchange(const struct team *team, const struct call *call)
{
    struct block block = side_block(&call->to, 0);
    int size = team->size, relative = (team->rank - call->root + size) % size, mask = 1;
    int error = MPI_SUCCESS;

    while (mask < size && !(relative & mask))
        mask *= 2;
    if (relative)
        error = block_take(team, (relative - mask + call->root) % size, block);
    for (mask /= 2; mask; mask /= 2)
        if (relative + mask < size)
            block_give(team, (relative + mask + call->root) % size, block);
    return error;
}

/* ---- Allreduce ---- */

/* Two buffers of a call's elements: the result so far, and the operand that arrives. */
struct operands {
    struct block sum, spare;
    void *memory; /* if they need more than `room` */
    _Alignas(16) unsigned char room[2][2 * SHARED_EXCHANGE_BYTES];
};

static void operands_begin(struct operands *operands, const struct call *call)
{
    size_t count = call->from.count, each = sizeof(operands->room[0]);
    struct mpi_datatype *type = call->from.type;
    const void *own = is_in_place(&call->from) ? call->to.buffer : call->from.buffer;
    unsigned char *first = operands->room[0];
    MPI_Aint shift;
    size_t needed = elements_room(count, type, &shift);

    operands->memory = NULL;
    if (needed > each) {
        each = (needed + 15) & ~(size_t)15;
        first = operands->memory = malloc(2 * each);
        if (!first)
            mpi_abort(1, "no memory for %zu bytes of a collective", 2 * each);
    }
    operands->sum = block_of(place_at(first, shift), count, type);
    operands->spare = block_of(place_at(first + each, shift), count, type);
    if (count)
        block_copy(block_of(own, count, type), operands->sum);
}

/* Combines a rank's operand with this rank's result so far, as its left or right operand. */
static int operand_fold(struct operands *operands, const struct team *team, int peer, struct mpi_op *op,
                        bool is_left)
{
    struct block sum = operands->sum, spare = operands->spare;
    int error = block_take(team, peer, spare);

    if (is_left) {
        op_apply(op, spare.at, sum.at, sum.count, sum.type);
        return error;
    }
    op_apply(op, sum.at, spare.at, sum.count, sum.type);
    operands->sum = spare;
    operands->spare = sum;
    return error;
}

static int first_error(int one, int other)
{
    return one ? one : other;
}

int allreduce_exchange(const struct team *team, const struct call *call)
{
    struct power power = power_of(team, 0);
    struct operands operands;
    int error = MPI_SUCCESS;

    operands_begin(&operands, call);
    if (power.pair >= 0 && power.rank >= 0)
        error = operand_fold(&operands, team, power.pair, call->op, false);
    for (int mask = 1; mask < power.size && power.rank >= 0; mask *= 2) {
        int peer = power_peer(&power, power.rank ^ mask);

        block_give(team, peer, operands.sum);
        error = first_error(error, operand_fold(&operands, team, peer, call->op, power.rank & mask));
    }
    if (power.pair >= 0)
        block_give(team, power.pair, operands.sum);
    if (power.rank < 0)
        error = block_take(team, power.pair, operands.sum);
    if (operands.sum.count)
        block_copy(operands.sum, block_of(call->to.buffer, operands.sum.count, operands.sum.type));
    free(operands.memory);
    return error;
}

/* ---- Allgather, alltoall ---- */

/* Returns the block for a rank of the team, which may be this rank. */
static struct block block_for(const struct call *call, const struct team *team, int peer)
{
    if (is_in_place(&call->from))
        return side_block(&call->to, call->kind == ALLGATHER ? team->rank : peer);
    return side_block(&call->from, call->kind == ALLGATHER ? 0 : peer);
}

int all_exchange(const struct team *team, const struct call *call)
{
    int error = MPI_SUCCESS;

    for (int i = 1; i < team->size; i++)
        block_give(team, team_next(team, i), block_for(call, team, team_next(team, i)));
    if (!is_in_place(&call->from))
        error = block_copy(block_for(call, team, team->rank), side_block(&call->to, team->rank));
    for (int i = 1; i < team->size; i++) {
        int peer = team_previous(team, i);

        error = first_error(error, block_take(team, peer, side_block(&call->to, peer)));
    }
    return error;
}
