/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * broadcast.c: MPI_Bcast's algorithms.
 *
 *   binomial           whole messages down a binomial tree: log2 n rounds, for short messages
 *
 *   scatter_allgather  a part for each rank down a binomial tree, then round a ring: 2 (n - 1) / n of the
 *                      data through each rank
 *
 *   chain              segments from rank to rank, pipelined: each rank receives one as it sends the one
 *                      before
 *
 *   nodes              to the leaders of the nodes, then within each node
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", 2005, §4.2 (van de Geijn's broadcast); [Hoefler10 §IV]. They build schedules, under the library's
 * lock.
 */
#include "collective/collective.h"

#define SEGMENT_BYTES 65536

/* Converts a place counted from the root to a rank of the team; relative_of does the reverse. */
static int rank_from(const struct team *team, int root, int relative)
{
    return (relative + root) % team->size;
}

static int relative_of(const struct team *team, int root)
{
    return (team->rank - root + team->size) % team->size;
}

/* Returns the bit that leads to a rank's parent in the binomial tree; for the root, the first past the team's
 * size. */
static int parent_mask(int relative, int size)
{
    int mask = 1;

    while (mask < size && !(relative & mask))
        mask *= 2;
    return mask;
}

void broadcast_binomial(struct schedule *schedule, const struct team *team, const struct call *call)
{
    const struct block data = block_of(call->to.buffer, call->to.count, call->to.type);
    int relative = relative_of(team, call->root), mask = parent_mask(relative, team->size);

    if (!block_bytes(data))
        return;
    if (relative) {
        schedule_receive(schedule, team, rank_from(team, call->root, relative - mask), data);
        schedule_round(schedule);
    }
    for (mask /= 2; mask; mask /= 2)
        if (relative + mask < team->size)
            schedule_send(schedule, team, rank_from(team, call->root, relative + mask), data);
    schedule_round(schedule);
}

/* Returns the data as bytes without gaps: the buffer itself, or a copy that is filled at the root. */
static unsigned char *bytes_begin(struct schedule *schedule, struct block data, bool is_root)
{
    if (data.type->dense)
        return data.at;
    unsigned char *bytes = schedule_room(schedule, block_bytes(data));
    if (is_root)
        schedule_copy(schedule, data, block_of_bytes(bytes, block_bytes(data)));
    return bytes;
}

static void bytes_end(struct schedule *schedule, const unsigned char *bytes, struct block data, bool is_root)
{
    if (!data.type->dense && !is_root)
        schedule_copy(schedule, block_of_bytes(bytes, block_bytes(data)), data);
}

/* Returns the bytes of parts [first, last). */
static struct block parts_of(unsigned char *bytes, size_t total, int size, int first, int last)
{
    size_t begin = part_begin(total, size, first);

    return block_of_bytes(bytes + begin, part_begin(total, size, last) - begin);
}

static int int_min(int a, int b)
{
    return a < b ? a : b;
}

void broadcast_scatter_allgather(struct schedule *schedule, const struct team *team, const struct call *call)
{
    const struct block data = block_of(call->to.buffer, call->to.count, call->to.type);
    int size = team->size, relative = relative_of(team, call->root), mask = parent_mask(relative, size);
    size_t total = block_bytes(data);

    if (!total || size == 1)
        return;
    unsigned char *bytes = bytes_begin(schedule, data, !relative);
    if (relative) {
        schedule_receive(schedule, team, rank_from(team, call->root, relative - mask),
                         parts_of(bytes, total, size, relative, int_min(relative + mask, size)));
        schedule_round(schedule);
    }
    for (int half = mask / 2; half; half /= 2)
        if (relative + half < size)
            schedule_send(schedule, team, rank_from(team, call->root, relative + half),
                          parts_of(bytes, total, size, relative + half, int_min(relative + 2 * half, size)));
    schedule_round(schedule);
    for (int i = 0; i < size - 1; i++) {
        int gives = (relative - i + size) % size, takes = (relative - i - 1 + size) % size;

        /* The root has all parts. Other ranks may receive again what the scatter has brought, which is
         * harmless. */
        if (relative)
            schedule_receive(schedule, team, rank_from(team, call->root, relative - 1),
                             parts_of(bytes, total, size, takes, takes + 1));
        if (relative != size - 1)
            schedule_send(schedule, team, rank_from(team, call->root, relative + 1),
                          parts_of(bytes, total, size, gives, gives + 1));
        schedule_round(schedule);
    }
    bytes_end(schedule, bytes, data, !relative);
}

void broadcast_chain(struct schedule *schedule, const struct team *team, const struct call *call)
{
    const struct block data = block_of(call->to.buffer, call->to.count, call->to.type);
    int size = team->size, relative = relative_of(team, call->root);
    size_t total = block_bytes(data), bytes_before = 0;

    if (!total || size == 1)
        return;
    unsigned char *bytes = bytes_begin(schedule, data, !relative);
    for (size_t at = 0; at < total + SEGMENT_BYTES; at += SEGMENT_BYTES) {
        size_t now = at >= total ? 0 : total - at < SEGMENT_BYTES ? total - at : SEGMENT_BYTES;

        if (relative && now)
            schedule_receive(schedule, team, rank_from(team, call->root, relative - 1),
                             block_of_bytes(bytes + at, now));
        if (relative < size - 1 && bytes_before)
            schedule_send(schedule, team, rank_from(team, call->root, relative + 1),
                          block_of_bytes(bytes + (at - SEGMENT_BYTES), bytes_before));
        schedule_round(schedule);
        bytes_before = now;
    }
    bytes_end(schedule, bytes, data, !relative);
}

void broadcast_nodes(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct team local, leaders;
    struct call within = *call, between = *call;

    if (team_split(schedule, team, call->root, &local, &leaders, &within.root, &between.root))
        collective_build(schedule, &leaders, &between);
    schedule_round(schedule);
    collective_build(schedule, &local, &within);
}
