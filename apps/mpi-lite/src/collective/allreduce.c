/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allreduce.c: MPI_Allreduce's algorithms. The result has the same bits on all ranks: each part of it is
 * either computed once, or from the same operands in the same order everywhere.
 *
 *   recursive_doubling  log2 n exchanges of the whole vector with ranks at distances 1, 2, 4 …; keeps the
 *                       order of the operands
 *
 *   rabenseifner        reduce-scatter by recursive halving, allgather by recursive doubling
 *
 *   ring                both round a ring: 2 (n - 1) rounds of 1 / n of the data, only between neighbours
 *
 *   nodes               a reduction in each node, an allreduce among the leaders, a broadcast in each node
 *
 * If the number of ranks is no power of two, the first ranks work in pairs (power_of in reduce.c).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, 2005, §4.5; R. Rabenseifner, ICCS 2004; P. Patarasuk, X.
 * Yuan, "Bandwidth optimal all-reduce algorithms", 2009 (ring). They build schedules, under the library's
 * lock.
 */
#include "collective/collective.h"

static void *result_of(const struct call *call)
{
    return (void *)(uintptr_t)call->to.buffer;
}

/* Begins a fold. After an odd number of swaps (fold_right) the result is in the buffer that is `spare` at
 * first: it is the result's buffer then, unless the operand lies there. */
static struct fold fold_begin(struct schedule *schedule, const struct call *call, int changes)
{
    size_t count = call->from.count;
    struct mpi_datatype *type = call->from.type;
    void *result = result_of(call), *room = schedule_room_for(schedule, count, type);
    bool is_spare = changes % 2 && !is_in_place(&call->from);

    return (struct fold){ .op = call->op,
                          .type = type,
                          .count = count,
                          .sum = is_spare ? room : result,
                          .spare = is_spare ? result : room,
                          .own = is_in_place(&call->from) ? NULL : call->from.buffer };
}

/* Sends the result to the upper ranks of pairs. */
static void fold_end(struct schedule *schedule, const struct power *power, const struct fold *fold,
                     const struct call *call)
{
    struct block result = block_of(call->to.buffer, fold->count, fold->type);

    if (power->pair >= 0 && power->rank < 0)
        schedule_receive(schedule, power->team, power->pair, result);
    else if (power->pair >= 0)
        schedule_send(schedule, power->team, power->pair, block_of(fold->sum, fold->count, fold->type));
    if (power->rank >= 0)
        schedule_copy(schedule, block_of(fold_data(fold), fold->count, fold->type), result);
}

/* Returns how often recursive doubling folds an operand in on the right, which swaps the buffers. */
static int changes_of(const struct power *power)
{
    int changes = power->pair >= 0;

    for (int mask = 1; mask < power->size; mask *= 2)
        changes += !(power->rank & mask);
    return changes;
}

void allreduce_recursive_doubling(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct power power = power_of(team, 0);
    struct fold fold = fold_begin(schedule, call, changes_of(&power));

    power_fold(schedule, &power, &fold);
    for (int mask = 1; mask < power.size && power.rank >= 0; mask *= 2) {
        int peer = power_peer(&power, power.rank ^ mask);

        if (power.rank & mask)
            fold_fill(schedule, &fold); /* while the other's is on its way */
        schedule_receive(schedule, team, peer, block_of(fold.spare, fold.count, fold.type));
        schedule_send(schedule, team, peer, block_of(fold_data(&fold), fold.count, fold.type));
        schedule_round(schedule);
        if (power.rank & mask)
            fold_left(schedule, &fold);
        else
            fold_right(schedule, &fold);
    }
    fold_end(schedule, &power, &fold, call);
}

void allreduce_rabenseifner(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct power power = power_of(team, 0);
    struct fold fold = fold_begin(schedule, call, power.pair >= 0);

    power_fold(schedule, &power, &fold);
    if (power.rank >= 0)
        power_halve(schedule, &power, &fold);
    for (int mask = 1; mask < power.size && power.rank >= 0; mask *= 2) {
        int peer = power_peer(&power, power.rank ^ mask), own = power.rank & -mask, other = own ^ mask;

        schedule_receive(schedule, team, peer, fold_parts(&fold, fold.sum, power.size, other, other + mask));
        schedule_send(schedule, team, peer, fold_parts(&fold, fold.sum, power.size, own, own + mask));
        schedule_round(schedule);
    }
    fold_end(schedule, &power, &fold, call);
}

/* Reduces around a ring, then gathers. As in power_halve, this rank's operand is reduced into what arrives;
 * the first part that it sends is the operand alone. */
void allreduce_ring(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct fold fold = fold_begin(schedule, call, 0);
    int size = team->size, rank = team->rank, next = team_next(team, 1), previous = team_previous(team, 1);

    for (int i = 0; i < size - 1; i++) { /* part p begins at rank p and grows on its way to rank p - 1 */
        int gives = team_previous(team, i), takes = team_previous(team, i + 1);
        struct block into = fold_parts(&fold, fold.sum, size, takes, takes + 1);
        struct block taken = fold.own ? into : fold_parts(&fold, fold.spare, size, takes, takes + 1);
        struct block operand = fold.own ? fold_parts(&fold, fold.own, size, takes, takes + 1) : taken;

        schedule_receive(schedule, team, previous, taken);
        schedule_send(schedule, team, next,
                      fold_parts(&fold, i ? fold.sum : fold_data(&fold), size, gives, gives + 1));
        schedule_round(schedule);
        schedule_reduce(schedule, fold.op, operand.at, into.at, into.count, fold.type);
    }
    if (size > 1)
        fold.own = NULL;
    for (int i = 0; i < size - 1; i++) {
        int gives = (rank + 1 - i + size) % size, takes = team_previous(team, i);

        schedule_receive(schedule, team, previous, fold_parts(&fold, fold.sum, size, takes, takes + 1));
        schedule_send(schedule, team, next, fold_parts(&fold, fold.sum, size, gives, gives + 1));
        schedule_round(schedule);
    }
    fold_fill(schedule, &fold);
}

void allreduce_nodes(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct team local, leaders;
    struct call within = *call, between = *call, after = *call;

    bool leads = team_split(schedule, team, -1, &local, &leaders, &within.root, &between.root);
    within.kind = REDUCE;
    if (!leads && is_in_place(&call->from))
        within.from.buffer = call->to.buffer; /* in a reduction, only the root may use MPI_IN_PLACE */
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
