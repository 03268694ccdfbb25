/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scan.c: algorithms of MPI_Scan and MPI_Exscan. Both keep the order of the operands.
 *
 *   linear              from rank to rank: n - 1 rounds
 *   recursive_doubling  exchanges with ranks at distances 1, 2, 4 …; what comes from lower ranks belongs to
 *                       the result
 *
 * Source: MPI 3.1 §5.11; W. D. Hillis, G. L. Steele, "Data parallel algorithms", 1986. They build schedules,
 * under the library's lock.
 */
#include "collective/collective.h"

static struct block operand_of(const struct call *call)
{
    return block_of(is_in_place(&call->from) ? call->to.buffer : call->from.buffer, call->from.count,
                    call->from.type);
}

static struct block room_like(struct schedule *schedule, struct block block)
{
    return block_of(schedule_room_for(schedule, block.count, block.type), block.count, block.type);
}

/* Adds the step to = from op to. */
static void block_fold(struct schedule *schedule, const struct call *call, struct block from, struct block to)
{
    schedule_reduce(schedule, call->op, from.at, to.at, from.count, from.type);
}

void scan_linear(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct block own = operand_of(call), result = block_of(call->to.buffer, own.count, own.type);
    struct block before = room_like(schedule, own), through = room_like(schedule, own);

    schedule_copy(schedule, own, through);
    if (team->rank) {
        schedule_receive(schedule, team, team->rank - 1, before);
        schedule_round(schedule);
        block_fold(schedule, call, before, through);
    }
    if (team->rank + 1 < team->size)
        schedule_send(schedule, team, team->rank + 1, through);
    if (!call->excludes)
        schedule_copy(schedule, through, result);
    else if (team->rank)
        schedule_copy(schedule, before, result);
}

void scan_recursive_doubling(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct block own = operand_of(call), result = block_of(call->to.buffer, own.count, own.type);
    struct block all = room_like(schedule, own), taken = room_like(schedule, own);
    struct block below = room_like(schedule, own); /* of lower ranks, and of this one unless it is excluded */
    bool has_below = !call->excludes;

    schedule_copy(schedule, own, all);
    if (has_below)
        schedule_copy(schedule, own, below);
    for (int mask = 1; mask < team->size; mask *= 2) {
        int peer = team->rank ^ mask;

        if (peer >= team->size)
            continue;
        schedule_receive(schedule, team, peer, taken);
        schedule_send(schedule, team, peer, all);
        schedule_round(schedule);
        if (peer > team->rank) { /* all = all op taken */
            struct block spare = all;

            block_fold(schedule, call, all, taken);
            all = taken;
            taken = spare;
            continue;
        }
        if (has_below)
            block_fold(schedule, call, taken, below);
        else
            schedule_copy(schedule, taken, below);
        has_below = true;
        block_fold(schedule, call, taken, all);
    }
    if (has_below)
        schedule_copy(schedule, below, result);
}
