/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gather.c: algorithms of MPI_Gather(v), MPI_Scatter(v) and MPI_Allgather(v).
 *
 *   gather, scatter: binomial     the blocks of a subtree travel together: log2 n rounds, for short blocks
 *                    linear       each block between its rank and the root; always used by the v forms, in
 *                                 which only the root knows the sizes
 *   allgather: recursive_doubling  exchanges of all blocks known so far; ranks must be a power of two
 *              bruck               the same with any number of ranks, through a buffer in rotated order
 *              ring                each block from neighbour to neighbour: n - 1 rounds
 *
 * Blocks that travel together are bytes without gaps.
 *
 * Source: J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
 * systems", 1997; R. Thakur, R. Rabenseifner, W. Gropp, 2005, §4.1. They build schedules, under the library's
 * lock.
 */
#include "collective/collective.h"

static int int_min(int a, int b)
{
    return a < b ? a : b;
}

/* ---- Gather and scatter ---- */

void gather_linear(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct block own = { 0 };

    if (!is_in_place(&call->from))
        own = block_of(call->from.buffer, call->from.count, call->from.type);
    if (team->rank != call->root) {
        if (block_bytes(own))
            schedule_send(schedule, team, call->root, own);
        return;
    }
    for (int i = 0; i < team->size; i++) {
        struct block block = side_block(&call->to, i);

        if (i == call->root && !is_in_place(&call->from))
            schedule_copy(schedule, own, block);
        else if (i != call->root && block_bytes(block))
            schedule_receive(schedule, team, i, block);
    }
}

void scatter_linear(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct block own = { 0 };

    if (!is_in_place(&call->to))
        own = block_of(call->to.buffer, call->to.count, call->to.type);
    if (team->rank != call->root) {
        if (block_bytes(own))
            schedule_receive(schedule, team, call->root, own);
        return;
    }
    for (int i = 0; i < team->size; i++) {
        struct block block = side_block(&call->from, i);

        if (i == call->root && !is_in_place(&call->to))
            schedule_copy(schedule, block, own);
        else if (i != call->root && block_bytes(block))
            schedule_send(schedule, team, i, block);
    }
}

/* A rank's place in the binomial tree below `root`: its parent, and how many blocks its subtree has. */
struct branch {
    int relative, mask, blocks;
    size_t bytes; /* of a block */
};

static struct branch branch_of(const struct team *team, const struct call *call, const struct side *all,
                               const struct side *one)
{
    bool is_root = team->rank == call->root;
    struct branch branch = { .relative = (team->rank - call->root + team->size) % team->size, .mask = 1 };

    while (branch.mask < team->size && !(branch.relative & branch.mask))
        branch.mask *= 2;
    branch.blocks = int_min(branch.mask, team->size - branch.relative);
    branch.bytes = is_root ? block_bytes(side_block(all, 0)) : one->count * one->type->bytes;
    return branch;
}

static struct block blocks_at(unsigned char *bytes, const struct branch *branch, int first, int count)
{
    return block_of_bytes(bytes + (size_t)first * branch->bytes, (size_t)count * branch->bytes);
}

void gather_binomial(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct branch branch = branch_of(team, call, &call->to, &call->from);
    struct block own = { 0 };
    unsigned char *bytes = NULL;

    if (!branch.bytes)
        return;
    if (!is_in_place(&call->from))
        own = block_of(call->from.buffer, call->from.count, call->from.type);
    if (branch.blocks > 1) {
        bytes = schedule_room(schedule, (size_t)branch.blocks * branch.bytes);
        if (branch.relative)
            schedule_copy(schedule, own, blocks_at(bytes, &branch, 0, 1));
    }
    for (int mask = 1; mask < branch.mask; mask *= 2)
        if (branch.relative + mask < team->size)
            schedule_receive(schedule, team, team_next(team, mask),
                             blocks_at(bytes, &branch, mask, int_min(mask, branch.blocks - mask)));
    schedule_round(schedule);
    if (branch.relative) {
        schedule_send(schedule, team, team_previous(team, branch.mask),
                      branch.blocks > 1 ? blocks_at(bytes, &branch, 0, branch.blocks) : own);
        return;
    }
    schedule_copy(schedule, own, side_block(&call->to, team->rank));
    for (int i = 1; i < team->size; i++)
        schedule_copy(schedule, blocks_at(bytes, &branch, i, 1), side_block(&call->to, team_next(team, i)));
}

void scatter_binomial(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct branch branch = branch_of(team, call, &call->from, &call->to);
    struct block own = { 0 };
    unsigned char *bytes = NULL;

    if (!branch.bytes)
        return;
    if (!is_in_place(&call->to))
        own = block_of(call->to.buffer, call->to.count, call->to.type);
    if (branch.blocks > 1)
        bytes = schedule_room(schedule, (size_t)branch.blocks * branch.bytes);
    if (branch.relative)
        schedule_receive(schedule, team, team_previous(team, branch.mask),
                         branch.blocks > 1 ? blocks_at(bytes, &branch, 0, branch.blocks) : own);
    for (int i = 1; i < team->size && !branch.relative; i++)
        schedule_copy(schedule, side_block(&call->from, team_next(team, i)), blocks_at(bytes, &branch, i, 1));
    if (branch.relative)
        schedule_round(schedule);
    for (int mask = branch.mask / 2; mask; mask /= 2)
        if (branch.relative + mask < team->size)
            schedule_send(schedule, team, team_next(team, mask),
                          blocks_at(bytes, &branch, mask, int_min(mask, branch.blocks - mask)));
    if (!branch.relative)
        schedule_copy(schedule, side_block(&call->from, team->rank), own);
    else if (branch.blocks > 1)
        schedule_copy(schedule, blocks_at(bytes, &branch, 0, 1), own);
}

/* ---- Allgather ---- */

static void own_copy(struct schedule *schedule, const struct team *team, const struct call *call)
{
    if (!is_in_place(&call->from))
        schedule_copy(schedule, block_of(call->from.buffer, call->from.count, call->from.type),
                      side_block(&call->to, team->rank));
}

void allgather_ring(struct schedule *schedule, const struct team *team, const struct call *call)
{
    own_copy(schedule, team, call);
    for (int i = 0; i < team->size - 1; i++) {
        struct block gives = side_block(&call->to, team_previous(team, i));
        struct block takes = side_block(&call->to, team_previous(team, i + 1));

        if (block_bytes(takes))
            schedule_receive(schedule, team, team_previous(team, 1), takes);
        if (block_bytes(gives))
            schedule_send(schedule, team, team_next(team, 1), gives);
        schedule_round(schedule);
    }
}

void allgather_recursive_doubling(struct schedule *schedule, const struct team *team, const struct call *call)
{
    own_copy(schedule, team, call);
    if (!block_bytes(side_block(&call->to, 0)))
        return;
    for (int mask = 1; mask < team->size; mask *= 2) {
        struct block gives = side_block(&call->to, team->rank & -mask);
        struct block takes = side_block(&call->to, (team->rank & -mask) ^ mask);

        gives.count = takes.count = call->to.count * (size_t)mask;
        schedule_receive(schedule, team, team->rank ^ mask, takes);
        schedule_send(schedule, team, team->rank ^ mask, gives);
        schedule_round(schedule);
    }
}

/* Gathers in a buffer that has the blocks in the order of their ranks, starting with this one. */
void allgather_bruck(struct schedule *schedule, const struct team *team, const struct call *call)
{
    int size = team->size;
    size_t *begins = schedule_room(schedule, ((size_t)size + 1) * sizeof(*begins));

    begins[0] = 0;
    for (int i = 0; i < size; i++)
        begins[i + 1] = begins[i] + block_bytes(side_block(&call->to, team_next(team, i)));
    if (!begins[size])
        return;
    own_copy(schedule, team, call);
    unsigned char *bytes = schedule_room(schedule, begins[size]);
    schedule_copy(schedule, side_block(&call->to, team->rank), block_of_bytes(bytes, begins[1]));
    for (int known = 1; known < size; known *= 2) {
        int more = int_min(known, size - known);

        schedule_receive(schedule, team, team_next(team, known),
                         block_of_bytes(bytes + begins[known], begins[known + more] - begins[known]));
        schedule_send(schedule, team, team_previous(team, known), block_of_bytes(bytes, begins[more]));
        schedule_round(schedule);
    }
    for (int i = 1; i < size; i++)
        schedule_copy(schedule, block_of_bytes(bytes + begins[i], begins[i + 1] - begins[i]),
                      side_block(&call->to, team_next(team, i)));
}
