/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst.c: the way of messages while several are under way at once: from memory to memory, or through the
 * segment, where both ends work at the same time. Which is faster depends on the machine (the distance of
 * CPUs, the cost of a system call) by factors of 2 to 4 either way, so it is measured.
 *
 * A burst begins with the second message that is under way, which chooses for all that follow, and ends when
 * none is left. For each way and size the minimum time per byte is kept. It grows a little with each
 * measurement, so that an old minimum is replaced. One burst in many tries the way that seems slower. Runs
 * under the library's lock.
 */
#include "message/burst.h"
#include "base/base.h"

#define CLASSES   24 /* of the first message's size: 2^index bytes and more */
#define TRIES     8  /* first bursts of a class, in which the ways take turns */
#define TRY_EVERY 64 /* after the first tries: one burst in this number */
#define AGEING    16 /* each measurement raises the minimum by one part in this number */

enum way { THROUGH, COPIED, WAYS };

static struct size_class {
    double ns[WAYS]; /* per byte; 0: not measured */
    unsigned bursts;
} classes[CLASSES];

static struct {
    struct size_class *sizes; /* NULL: there is none */
    enum way way;
    uint64_t began_ns;
    size_t bytes;
} burst;

static struct size_class *sizes_of(size_t bytes)
{
    int power = 0;

    while (power < CLASSES - 1 && bytes >> (power + 1))
        power++;
    return &classes[power];
}

static enum way way_choose(struct size_class *sizes)
{
    enum way best = sizes->ns[COPIED] <= sizes->ns[THROUGH] ? COPIED : THROUGH;
    unsigned turn = sizes->bursts++;

    if (turn < TRIES)
        return turn % WAYS;
    return turn % TRY_EVERY ? best : !best;
}

bool burst_copies(size_t bytes)
{
    if (!burst.sizes) {
        burst.sizes = sizes_of(bytes);
        burst.way = way_choose(burst.sizes);
        burst.began_ns = clock_ns();
        burst.bytes = 0;
    }
    burst.bytes += bytes;
    return burst.way == COPIED;
}

void burst_end(void)
{
    if (!burst.sizes)
        return;
    double ns = (double)(clock_ns() - burst.began_ns) / (double)burst.bytes;
    double *minimum = &burst.sizes->ns[burst.way];

    *minimum += *minimum / AGEING;
    if (*minimum <= 0 || ns < *minimum)
        *minimum = ns;
    burst.sizes = NULL;
}
