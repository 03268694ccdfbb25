/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allreduce.c: MPI_Allreduce's algorithms. The result has the same bits on all ranks: each part of it either
 * is computed once, or from the same operands in the same order everywhere.
 *
 *   recursive_doubling  log2 n exchanges of the whole vector with ranks at distances 1, 2, 4 …; keeps the
 *                       order of the operands
 *
 *   rabenseifner        reduce-scatter by recursive halving, allgather by recursive doubling
 *
 *   ring                both round a ring: 2 (n - 1) rounds of 1 / n of the data, between neighbours alone
 *
 *   nodes               a reduction in each node, an allreduce among the leaders, a broadcast in each node
 *
 * Where ranks are no power of two, the first ones work in pairs (power_of in reduce.c).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, 2005, §4.5; R. Rabenseifner, ICCS 2004; P. Patarasuk, X.
 * Yuan, "Bandwidth optimal all-reduce algorithms", 2009 (ring). They build schedules, under the library's
 * lock.
 */
#include "collective.h"

static void *result_of(const struct call *call)
{
    return (void *)(uintptr_t)call->to.buffer;
}

/* The result's buffer, with this rank's operand in it, and a second one like it. */
static struct fold fold_begin(struct schedule *schedule, const struct call *call)
{
    size_t count = call->from.count;
    struct mpi_datatype *type = call->from.type;

    if (!is_in_place(&call->from))
        schedule_copy(schedule, block_of(call->from.buffer, count, type),
                      block_of(call->to.buffer, count, type));
    return (struct fold){ call->op, type, count, result_of(call), schedule_room_for(schedule, count, type) };
}

/* The result goes to the upper ones of pairs. */
static void fold_end(struct schedule *schedule, const struct power *power, struct fold *fold,
                     const struct call *call)
{
    struct block result = block_of(call->to.buffer, fold->count, fold->type);

    if (power->pair >= 0 && power->rank < 0)
        schedule_receive(schedule, power->team, power->pair, result);
    else if (power->pair >= 0)
        schedule_send(schedule, power->team, power->pair, block_of(fold->sum, fold->count, fold->type));
    if (power->rank >= 0)
        schedule_copy(schedule, block_of(fold->sum, fold->count, fold->type), result);
}

void allreduce_recursive_doubling(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct power power = power_of(team, 0);
    struct fold fold = fold_begin(schedule, call);

    power_fold(schedule, &power, &fold, fold.sum);
    for (int mask = 1; mask < power.size && power.rank >= 0; mask *= 2) {
        int peer = power_peer(&power, power.rank ^ mask);

        schedule_receive(schedule, team, peer, block_of(fold.spare, fold.count, fold.type));
        schedule_send(schedule, team, peer, block_of(fold.sum, fold.count, fold.type));
        schedule_round(schedule);
        if (power.rank & mask)
            fold_left(schedule, &fold);
        else
            fold_right(schedule, &fold);
    }
    fold_end(schedule, &power, &fold, call);
}

static struct block parts_of(const struct fold *fold, int size, int first, int last)
{
    size_t begin = part_begin(fold->count, size, first), end = part_begin(fold->count, size, last);

    return block_of(element_at(fold->sum, begin, fold->type), end - begin, fold->type);
}

void allreduce_rabenseifner(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct power power = power_of(team, 0);
    struct fold fold = fold_begin(schedule, call);

    power_fold(schedule, &power, &fold, fold.sum);
    if (power.rank >= 0)
        power_halve(schedule, &power, &fold);
    for (int mask = 1; mask < power.size && power.rank >= 0; mask *= 2) {
        int peer = power_peer(&power, power.rank ^ mask), own = power.rank & -mask, other = own ^ mask;

        schedule_receive(schedule, team, peer, parts_of(&fold, power.size, other, other + mask));
        schedule_send(schedule, team, peer, parts_of(&fold, power.size, own, own + mask));
        schedule_round(schedule);
    }
    fold_end(schedule, &power, &fold, call);
}

void allreduce_ring(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct fold fold = fold_begin(schedule, call);
    int size = team->size, rank = team->rank, next = team_next(team, 1), previous = team_previous(team, 1);

    for (int i = 0; i < size - 1; i++) { /* part p begins at rank p and grows on its way to rank p - 1 */
        int gives = team_previous(team, i), takes = team_previous(team, i + 1);
        struct block into = parts_of(&fold, size, takes, takes + 1), taken = into;

        taken.at = element_at(fold.spare, part_begin(fold.count, size, takes), fold.type);
        schedule_receive(schedule, team, previous, taken);
        schedule_send(schedule, team, next, parts_of(&fold, size, gives, gives + 1));
        schedule_round(schedule);
        schedule_reduce(schedule, fold.op, taken.at, into.at, into.count, fold.type);
    }
    for (int i = 0; i < size - 1; i++) {
        int gives = (rank + 1 - i + size) % size, takes = team_previous(team, i);

        schedule_receive(schedule, team, previous, parts_of(&fold, size, takes, takes + 1));
        schedule_send(schedule, team, next, parts_of(&fold, size, gives, gives + 1));
        schedule_round(schedule);
    }
}

void allreduce_nodes(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct team local, leaders;
    struct call within = *call, between = *call, after = *call;

    bool leads = team_split(schedule, team, -1, &local, &leaders, &within.root, &between.root);
    within.kind = REDUCE;
    if (!leads && is_in_place(&call->from))
        within.from.buffer = call->to.buffer; /* in place is the root's alone in a reduction */
    collective_build(schedule, &local, &within);
    schedule_round(schedule);
    between.from.buffer = MPI_IN_PLACE;
    if (leads)
        collective_build(schedule, &leaders, &between);
    schedule_round(schedule);
    after.kind = BCAST;
    after.root = within.root;
    collective_build(schedule, &local, &after);
}
