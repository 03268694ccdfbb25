/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * barrier.c: MPI_Barrier's algorithms.
 *
 *   dissemination  round k: a message to the rank 2^k further, one from the rank 2^k before: log2 n rounds,
 *                  the fewest; n log2 n messages
 *
 *   tree           up and down a binomial tree: twice the rounds, 2 (n - 1) messages
 *
 *   nodes          up the tree of a node, dissemination among the nodes' leaders, down the tree
 *
 *   counters       dissemination by a counter in shared memory from each rank to each other, without
 *                  messages; for blocking barriers alone: two ranks enter the barriers that they share in
 *                  the same order, so one counter serves all communicators
 *
 * Source: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988; [Hoefler10
 * §IV]. They build schedules, under the library's lock.
 */
#include "collective/collective.h"

static const struct block nothing = { NULL, 0, MPI_BYTE };

void barrier_dissemination(struct schedule *schedule, const struct team *team, const struct call *call)
{
    (void)call;
    for (int distance = 1; distance < team->size; distance *= 2) {
        schedule_send(schedule, team, team_next(team, distance), nothing);
        schedule_receive(schedule, team, team_previous(team, distance), nothing);
        schedule_round(schedule);
    }
}

/* Gathers up the tree: afterwards rank 0 of the team knows that all have arrived. */
static void tree_gather(struct schedule *schedule, const struct team *team)
{
    int mask = 1;

    for (; mask < team->size && !(team->rank & mask); mask *= 2)
        if (team->rank + mask < team->size)
            schedule_receive(schedule, team, team->rank + mask, nothing);
    schedule_round(schedule);
    if (team->rank)
        schedule_send(schedule, team, team->rank - mask, nothing);
}

/* Releases down the tree: afterwards all know that rank 0 has arrived here. */
static void tree_release(struct schedule *schedule, const struct team *team)
{
    int mask = 1;

    while (mask < team->size && !(team->rank & mask))
        mask *= 2;
    if (team->rank)
        schedule_receive(schedule, team, team->rank - mask, nothing);
    schedule_round(schedule);
    for (mask /= 2; mask; mask /= 2)
        if (team->rank + mask < team->size)
            schedule_send(schedule, team, team->rank + mask, nothing);
    schedule_round(schedule);
}

void barrier_tree(struct schedule *schedule, const struct team *team, const struct call *call)
{
    (void)call;
    tree_gather(schedule, team);
    tree_release(schedule, team);
}

void barrier_nodes(struct schedule *schedule, const struct team *team, const struct call *call)
{
    struct team local, leaders;
    int local_root, leaders_root;

    bool leads = team_split(schedule, team, -1, &local, &leaders, &local_root, &leaders_root);
    tree_gather(schedule, &local);
    schedule_round(schedule);
    if (leads)
        barrier_dissemination(schedule, &leaders, call);
    schedule_round(schedule);
    tree_release(schedule, &local);
}

static bool signal_is_there(void *argument)
{
    return shared_signal_is_there(*(const int *)argument);
}

int barrier_counters(const struct team *team, const struct call *call)
{
    const int *world = team->comm->group->world;

    (void)call;
    for (int distance = 1; distance < team->size; distance *= 2) {
        int from = world[team_previous(team, distance)];

        shared_signal(world[team_next(team, distance)]);
        progress_wait(signal_is_there, &from);
        shared_signal_take(from);
    }
    return MPI_SUCCESS;
}
