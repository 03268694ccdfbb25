/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reduce_scatter.c: algorithms of MPI_Reduce_scatter and MPI_Reduce_scatter_block.
 *
 *   pairwise  n - 1 rounds, in each of which a rank gets one operand of its part; for operations that commute
 *   halving   log2 n rounds of half of what is left; for operations that commute, and powers of two
 *   spread    each rank gets all operands of its part and folds them in the order of their ranks
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, 2005, §4.4. They build schedules, under the library's lock.
 */
#include "collective/collective.h"

/* This rank's vector of all parts, where each part begins, and where its own result goes. */
struct vector {
    const void *operands;
    size_t *begins; /* size + 1 of them */
    struct mpi_datatype *type;
    struct block result;
};

static struct vector vector_of(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct vector vector = {
        .operands = is_in_place(&call->from) ? call->to.buffer : call->from.buffer,
        .begins = schedule_room(schedule, ((size_t)team->size + 1) * sizeof(size_t)),
        .type = call->from.type,
    };

    vector.begins[0] = 0;
    for (int i = 0; i < team->size; i++)
        vector.begins[i + 1] =
            vector.begins[i] + (call->to.counts ? (size_t)call->to.counts[i] : call->to.count);
    size_t own = vector.begins[team->rank + 1] - vector.begins[team->rank];
    vector.result = block_of(call->to.buffer, own, vector.type);
    return vector;
}

/* Returns parts [first, last) of `buffer`, which is laid out like the vector. */
static struct block parts_of(const struct vector *vector, const void *buffer, int first, int last)
{
    return block_of(element_at(buffer, vector->begins[first], vector->type),
                    vector->begins[last] - vector->begins[first], vector->type);
}

void reduce_scatter_pairwise(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct vector vector = vector_of(schedule, team, call);
    size_t count = vector.result.count;
    void *sum = schedule_room_for(schedule, count, vector.type);
    void *taken = schedule_room_for(schedule, count, vector.type);

    schedule_copy(schedule, parts_of(&vector, vector.operands, team->rank, team->rank + 1),
                  block_of(sum, count, vector.type));
    for (int i = 1; i < team->size; i++) {
        int to = team_next(team, i);
        struct block out = parts_of(&vector, vector.operands, to, to + 1);

        if (count)
            schedule_receive(schedule, team, team_previous(team, i), block_of(taken, count, vector.type));
        if (out.count)
            schedule_send(schedule, team, to, out);
        schedule_round(schedule);
        schedule_reduce(schedule, call->op, taken, sum, count, vector.type);
    }
    schedule_copy(schedule, block_of(sum, count, vector.type), vector.result);
}

void reduce_scatter_halving(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct vector vector = vector_of(schedule, team, call);
    size_t count = vector.begins[team->size];
    void *sums = schedule_room_for(schedule, count, vector.type);
    void *taken = schedule_room_for(schedule, count, vector.type);
    int first = 0;

    schedule_copy(schedule, block_of(vector.operands, count, vector.type),
                  block_of(sums, count, vector.type));
    for (int half = team->size / 2; half; half /= 2) {
        int peer = team->rank ^ half, gives = team->rank & half ? first : first + half;

        first = team->rank & half ? first + half : first;
        struct block in = parts_of(&vector, taken, first, first + half);
        struct block out = parts_of(&vector, sums, gives, gives + half);
        if (in.count)
            schedule_receive(schedule, team, peer, in);
        if (out.count)
            schedule_send(schedule, team, peer, out);
        schedule_round(schedule);
        schedule_reduce(schedule, call->op, in.at, parts_of(&vector, sums, first, first + half).at, in.count,
                        vector.type);
    }
    schedule_copy(schedule, parts_of(&vector, sums, team->rank, team->rank + 1), vector.result);
}

void reduce_scatter_spread(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct vector vector = vector_of(schedule, team, call);
    size_t count = vector.result.count;
    void **operands = schedule_room(schedule, (size_t)team->size * sizeof(*operands));

    for (int i = 0; i < team->size; i++) {
        struct block out = parts_of(&vector, vector.operands, i, i + 1);

        operands[i] = schedule_room_for(schedule, count, vector.type);
        if (i == team->rank)
            schedule_copy(schedule, out, block_of(operands[i], count, vector.type));
        else if (count)
            schedule_receive(schedule, team, i, block_of(operands[i], count, vector.type));
        if (i != team->rank && out.count)
            schedule_send(schedule, team, i, out);
    }
    schedule_round(schedule);
    for (int i = team->size - 2; i >= 0; i--)
        schedule_reduce(schedule, call->op, operands[i], operands[team->size - 1], count, vector.type);
    schedule_copy(schedule, block_of(operands[team->size - 1], count, vector.type), vector.result);
}
