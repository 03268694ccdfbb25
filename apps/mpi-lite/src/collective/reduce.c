/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reduce.c: MPI_Reduce's algorithms, and what they share with those of MPI_Allreduce.
 *
 *   binomial      partial results up a binomial tree to the root; for operations that commute
 *   in_order      the same with the tree's root at rank 0, which keeps the order of the operands; rank 0
 *                 sends the result to another root
 *   rabenseifner  reduce-scatter by recursive halving, then a gather: 2 (n - 1) / n of the data through each
 *                 rank
 *   nodes         within each node to its leader, then among the leaders
 *
 * Which operands are combined in which order depends only on ranks and sizes, never on when messages arrive.
 *
 * Source: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; R. Thakur, R.
 * Rabenseifner, W. Gropp, 2005, §4.4; [Hoefler10 §IV]. They build schedules, under the library's lock.
 */
#include "collective/collective.h"

/* ---- Folds ---- */

void fold_fill(struct schedule *schedule, struct fold *fold)
{
    if (fold->own)
        schedule_copy(schedule, block_of(fold->own, fold->count, fold->type),
                      block_of(fold->sum, fold->count, fold->type));
    fold->own = NULL;
}

void fold_left(struct schedule *schedule, struct fold *fold)
{
    fold_fill(schedule, fold);
    schedule_reduce(schedule, fold->op, fold->spare, fold->sum, fold->count, fold->type);
}

void fold_right(struct schedule *schedule, struct fold *fold)
{
    void *spare = fold->sum;

    schedule_reduce(schedule, fold->op, fold_data(fold), fold->spare, fold->count, fold->type);
    fold->sum = fold->spare;
    fold->spare = spare;
    fold->own = NULL;
}

struct block fold_parts(const struct fold *fold, const void *buffer, int parts, int first, int last)
{
    size_t begin = part_begin(fold->count, parts, first), end = part_begin(fold->count, parts, last);

    return block_of(element_at(buffer, begin, fold->type), end - begin, fold->type);
}

/* ---- Powers of two ---- */

struct power power_of(const struct team *team, int root)
{
    struct power power = { .team = team, .root = root, .size = 1, .pair = -1 };
    int relative = (team->rank - root + team->size) % team->size;

    while (power.size <= team->size / 2)
        power.size *= 2;
    power.rest = team->size - power.size;
    power.rank = relative - power.rest;
    if (relative >= 2 * power.rest)
        return power;
    power.pair = ((relative ^ 1) + root) % team->size;
    power.rank = relative & 1 ? -1 : relative / 2;
    return power;
}

int power_peer(const struct power *power, int rank)
{
    int relative = rank < power->rest ? 2 * rank : rank + power->rest;

    return (relative + power->root) % power->team->size;
}

void power_fold(struct schedule *schedule, const struct power *power, struct fold *fold)
{
    if (power->pair < 0)
        return;
    if (power->rank < 0) {
        schedule_send(schedule, power->team, power->pair, block_of(fold_data(fold), fold->count, fold->type));
        schedule_round(schedule);
        return;
    }
    schedule_receive(schedule, power->team, power->pair, block_of(fold->spare, fold->count, fold->type));
    schedule_round(schedule);
    fold_right(schedule, fold);
}

/* Reduces by recursive halving. An operand that is not in `sum` yet (fold->own) is never copied: the peer's
 * operand of this rank's half is received into `sum`, and this rank's operand reduced into it. */
void power_halve(struct schedule *schedule, const struct power *power, struct fold *fold)
{
    int first = 0, size = power->size;

    for (int half = size / 2; half; half /= 2) {
        int peer = power_peer(power, power->rank ^ half);
        int gives = power->rank & half ? first : first + half;

        first = power->rank & half ? first + half : first;
        struct block kept = fold_parts(fold, fold->sum, size, first, first + half);
        struct block taken = fold->own ? kept : fold_parts(fold, fold->spare, size, first, first + half);
        struct block operand = fold->own ? fold_parts(fold, fold->own, size, first, first + half) : taken;

        schedule_receive(schedule, power->team, peer, taken);
        schedule_send(schedule, power->team, peer,
                      fold_parts(fold, fold_data(fold), size, gives, gives + half));
        schedule_round(schedule);
        schedule_reduce(schedule, fold->op, operand.at, kept.at, kept.count, fold->type);
        fold->own = NULL;
    }
}

/* ---- The algorithms ---- */

/* Returns this rank's operand; for MPI_IN_PLACE it is in the result's buffer. */
static const void *operand_of(const struct call *call)
{
    return is_in_place(&call->from) ? call->to.buffer : call->from.buffer;
}

static void *result_of(const struct call *call)
{
    return (void *)(uintptr_t)call->to.buffer;
}

void reduce_binomial(struct schedule *schedule, const struct team *team, const struct call *call)
{
    size_t count = call->from.count;
    struct mpi_datatype *type = call->from.type;
    int size = team->size, relative = (team->rank - call->root + size) % size, mask = 1;
    const void *own = operand_of(call);
    void *sum = relative ? NULL : result_of(call), *taken = NULL;
    const void *so_far = own; /* `own` until the first child's part is folded in */

    for (; mask < size && !(relative & mask); mask *= 2) {
        if (relative + mask >= size)
            continue;
        if (!sum)
            sum = schedule_room_for(schedule, count, type);
        bool is_first = so_far != sum;
        if (!is_first && !taken)
            taken = schedule_room_for(schedule, count, type);
        schedule_receive(schedule, team, (relative + mask + call->root) % size,
                         block_of(is_first ? sum : taken, count, type));
        schedule_round(schedule);
        schedule_reduce(schedule, call->op, is_first ? so_far : taken, sum, count, type);
        so_far = sum;
    }
    if (relative)
        schedule_send(schedule, team, (relative - mask + call->root) % size, block_of(so_far, count, type));
    else
        schedule_copy(schedule, block_of(so_far, count, type), block_of(sum, count, type));
}

/* Reduces up a tree whose root is rank 0. A rank's children have higher ranks, so what they send is a right
 * operand. */
void reduce_in_order(struct schedule *schedule, const struct team *team, const struct call *call)
{
    size_t count = call->from.count;
    struct mpi_datatype *type = call->from.type;
    int size = team->size, mask = 1;
    struct fold fold = {
        .op = call->op, .type = type, .count = count, .sum = (void *)(uintptr_t)operand_of(call)
    };
    void *other = NULL;

    for (; mask < size && !(team->rank & mask); mask *= 2) {
        if (team->rank + mask >= size)
            continue;
        fold.spare = other ? fold.spare : schedule_room_for(schedule, count, type);
        schedule_receive(schedule, team, team->rank + mask, block_of(fold.spare, count, type));
        schedule_round(schedule);
        fold_right(schedule, &fold);
        if (!other) /* the program's operand must not change */
            fold.spare = other = schedule_room_for(schedule, count, type);
    }
    if (team->rank)
        schedule_send(schedule, team, team->rank - mask, block_of(fold.sum, count, type));
    else if (call->root)
        schedule_send(schedule, team, call->root, block_of(fold.sum, count, type));
    else
        schedule_copy(schedule, block_of(fold.sum, count, type), block_of(result_of(call), count, type));
    schedule_round(schedule);
    if (call->root && team->rank == call->root)
        schedule_receive(schedule, team, 0, block_of(result_of(call), count, type));
}

void reduce_rabenseifner(struct schedule *schedule, const struct team *team, const struct call *call)
{
    size_t count = call->from.count;
    struct mpi_datatype *type = call->from.type;
    struct power power = power_of(team, call->root);
    struct fold fold = { .op = call->op, .type = type, .count = count, .own = operand_of(call) };

    if (power.rank >= 0) {
        fold.sum = team->rank == call->root ? result_of(call) : schedule_room_for(schedule, count, type);
        fold.spare = schedule_room_for(schedule, count, type);
    }
    if (fold.own == fold.sum)
        fold.own = NULL; /* in place */
    power_fold(schedule, &power, &fold);
    if (power.rank < 0)
        return;
    power_halve(schedule, &power, &fold);
    fold_fill(schedule, &fold);
    for (int mask = 1; mask < power.size; mask *= 2) {
        int peer = power_peer(&power, power.rank ^ mask),
            first = power.rank & mask ? power.rank : power.rank + mask;
        struct block parts = fold_parts(&fold, fold.sum, power.size, first, first + mask);

        if (power.rank & mask) {
            schedule_send(schedule, team, peer, parts);
            break;
        }
        schedule_receive(schedule, team, peer, parts);
        schedule_round(schedule);
    }
    if (team->rank == call->root)
        schedule_copy(schedule, block_of(fold.sum, count, type), block_of(result_of(call), count, type));
}

void reduce_nodes(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct team local, leaders;
    struct call within = *call, between = *call;
    bool is_root = team->rank == call->root;

    bool leads = team_split(schedule, team, call->root, &local, &leaders, &within.root, &between.root);
    if (leads && !is_root)
        within.to.buffer = schedule_room_for(schedule, call->from.count, call->from.type);
    collective_build(schedule, &local, &within);
    schedule_round(schedule);
    between.from.buffer = is_root ? MPI_IN_PLACE : within.to.buffer;
    if (leads)
        collective_build(schedule, &leaders, &between);
}
