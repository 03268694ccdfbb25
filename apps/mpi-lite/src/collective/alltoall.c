/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alltoall.c: algorithms of MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw.
 *
 *   bruck     log2 n rounds, in which blocks travel together over powers of two; for short blocks of one size
 *   pairwise  n - 1 rounds, each with one partner to send to and one to receive from
 *   spread    all messages at once, each rank beginning with its next neighbour
 *
 * In pairwise and spread, each block is one message, so that ranks whose blocks differ need not choose the
 * same. For MPI_IN_PLACE, the blocks to send are copied first.
 *
 * Source: J. Bruck et al., 1997; R. Thakur, R. Rabenseifner, W. Gropp, 2005, §4.3. They build schedules,
 * under the library's lock.
 */
#include "collective/collective.h"

/* Returns the blocks to send, by rank; for MPI_IN_PLACE they are copies. */
static const struct block *blocks_out(struct schedule *schedule, const struct team *team,
                                      const struct call *call)
{
    struct block *blocks = schedule_room(schedule, (size_t)team->size * sizeof(*blocks));

    for (int i = 0; i < team->size; i++) {
        blocks[i] = side_block(is_in_place(&call->from) ? &call->to : &call->from, i);
        if (!is_in_place(&call->from) || i == team->rank)
            continue;
        struct block copy =
            block_of_bytes(schedule_room(schedule, block_bytes(blocks[i])), block_bytes(blocks[i]));
        schedule_copy(schedule, blocks[i], copy);
        blocks[i] = copy;
    }
    return blocks;
}

static void pair_exchange(struct schedule *schedule, const struct team *team, const struct call *call,
                          const struct block *out, int distance)
{
    int to = team_next(team, distance), from = team_previous(team, distance);
    struct block in = side_block(&call->to, from);

    if (block_bytes(in))
        schedule_receive(schedule, team, from, in);
    if (block_bytes(out[to]))
        schedule_send(schedule, team, to, out[to]);
}

static void own_copy(struct schedule *schedule, const struct team *team, const struct call *call)
{
    if (!is_in_place(&call->from))
        schedule_copy(schedule, side_block(&call->from, team->rank), side_block(&call->to, team->rank));
}

void alltoall_spread(struct schedule *schedule, const struct team *team, const struct call *call)
{
    const struct block *out = blocks_out(schedule, team, call);

    for (int i = 1; i < team->size; i++)
        pair_exchange(schedule, team, call, out, i);
    own_copy(schedule, team, call);
}

void alltoall_pairwise(struct schedule *schedule, const struct team *team, const struct call *call)
{
    const struct block *out = blocks_out(schedule, team, call);

    own_copy(schedule, team, call);
    for (int i = 1; i < team->size; i++) {
        pair_exchange(schedule, team, call, out, i);
        schedule_round(schedule);
    }
}

/* Exchanges blocks in log2 n rounds. Block i in the buffer is for the rank i places further; in round k the
 * blocks whose bit k is set move on. */
void alltoall_bruck(struct schedule *schedule, const struct team *team, const struct call *call)
{
    const struct side *from = is_in_place(&call->from) ? &call->to : &call->from;
    size_t bytes = block_bytes(side_block(&call->to, 0));
    int size = team->size;

    if (!bytes)
        return;
    unsigned char *blocks = schedule_room(schedule, (size_t)size * bytes);
    for (int i = 0; i < size; i++)
        schedule_copy(schedule, side_block(from, team_next(team, i)),
                      block_of_bytes(blocks + (size_t)i * bytes, bytes));
    for (int bit = 1; bit < size; bit *= 2) {
        size_t moving = 0, at = 0;

        for (int i = bit; i < size; i++)
            moving += i & bit ? bytes : 0;
        unsigned char *out = schedule_room(schedule, moving), *in = schedule_room(schedule, moving);
        for (int i = bit; i < size; i++)
            if (i & bit) {
                schedule_copy(schedule, block_of_bytes(blocks + (size_t)i * bytes, bytes),
                              block_of_bytes(out + at, bytes));
                at += bytes;
            }
        schedule_receive(schedule, team, team_previous(team, bit), block_of_bytes(in, moving));
        schedule_send(schedule, team, team_next(team, bit), block_of_bytes(out, moving));
        schedule_round(schedule);
        at = 0;
        for (int i = bit; i < size; i++)
            if (i & bit) {
                schedule_copy(schedule, block_of_bytes(in + at, bytes),
                              block_of_bytes(blocks + (size_t)i * bytes, bytes));
                at += bytes;
            }
    }
    for (int i = 0; i < size; i++)
        schedule_copy(schedule, block_of_bytes(blocks + (size_t)i * bytes, bytes),
                      side_block(&call->to, team_previous(team, i)));
}
