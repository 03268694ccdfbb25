/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agreement.c: agrees on the context of a new communicator, a number that none of its members uses yet: the
 * highest number that any member proposes.
 *
 * If threads make several communicators at once, a process proposes a number in one agreement at a time. In
 * its other agreements it reports that it is not ready, and all of their members try again. Among waiting
 * agreements, the lowest context goes first on every process, so one of them always ends.
 *
 * Runs under the library's lock. Source: MPI 3.1 §6.4.2.
 */
#include "construct/construct.h"
#include <stdlib.h>

/* An agreement under way in this process. A reduction gives every member the maximum of each of two values.
 */
struct agreement {
    struct agreement *next;
    struct mpi_comm *comm;
    const struct bridge *bridge;   /* NULL: none */
    const struct mpi_group *group; /* NULL: none */
    int tag;
    bool proposes; /* in the reduction that runs */
};

static struct agreement *agreements;
static uint32_t context_next = 4;

static bool agreement_precedes(const struct agreement *one, const struct agreement *two)
{
    if (one->comm->context != two->comm->context)
        return one->comm->context < two->comm->context;
    return one->tag < two->tag;
}

static bool agreement_may_propose(const struct agreement *agreement)
{
    for (const struct agreement *other = agreements; other; other = other->next)
        if (other != agreement && (other->proposes || agreement_precedes(other, agreement)))
            return false;
    return true;
}

static void values_raise(uint64_t values[2], const uint64_t others[2])
{
    for (int i = 0; i < 2; i++)
        if (others[i] > values[i])
            values[i] = others[i];
}

/* Reduces by dissemination, in which a value may be counted twice: harmless for a maximum. [MPI 3.1 §6.4.2,
 * MPI_Comm_create_group] */
static int group_reduce(const struct agreement *agreement, uint64_t values[2])
{
    const struct mpi_group *group = agreement->group;
    int *index = group_index(agreement->comm->group);
    int error = index ? MPI_SUCCESS : mpi_out_of_memory();

    for (int distance = 1; distance < group->size && !error; distance *= 2) {
        int to = group->world[(group->rank + distance) % group->size];
        int from = group->world[(group->rank - distance + group->size) % group->size];
        uint64_t others[2] = { 0, 0 };

        error = comm_swap(agreement->comm, agreement->tag, MPI_UINT64_T, values, 2, index[to] - 1, others, 2,
                          index[from] - 1);
        values_raise(values, others);
    }
    free(index);
    return error;
}

static int agreement_reduce(const struct agreement *agreement, uint64_t values[2])
{
    uint64_t others[2] = { 0, 0 };

    if (agreement->group)
        return group_reduce(agreement, values);
    int error = PMPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_UINT64_T, MPI_MAX, agreement->comm);
    if (!error && agreement->bridge) {
        error = bridge_swap(agreement->bridge, MPI_UINT64_T, values, 2, others, 2);
        values_raise(values, others);
    }
    return error;
}

static int agreement_run(struct agreement *agreement, uint32_t *context)
{
    uint64_t values[2]; /* the proposed context; whether a member was not ready */
    bool is_alone = mpi_world.thread_level < MPI_THREAD_MULTIPLE; /* no other agreement can be under way */
    int error = MPI_SUCCESS;

    /* Other agreements must not wait for this one while a member's program has not called yet. So, if there
     * are threads, the first reduction only shows that all members have called. */
    if (!is_alone) {
        values[0] = 0;
        values[1] = 1;
        error = agreement_reduce(agreement, values);
    }
    agreement->next = agreements;
    agreements = agreement;
    while (!error) {
        agreement->proposes = agreement_may_propose(agreement);
        values[0] = context_next;
        values[1] = !agreement->proposes;
        error = agreement_reduce(agreement, values);
        agreement->proposes = false;
        if (!values[1])
            break;
        progress_yield(); /* to the thread whose agreement goes first */
    }
    struct agreement **link = &agreements;
    while (*link != agreement)
        link = &(*link)->next;
    *link = agreement->next;
    if (!error && values[0] >= CONTEXTS_AGREED)
        error = mpi_error(MPI_ERR_INTERN, "1073741822 communicators were made; no context is left");
    if (error)
        return error;
    *context = (uint32_t)values[0];
    if (context_next < *context + 2)
        context_next = *context + 2;
    return MPI_SUCCESS;
}

int context_agree(struct mpi_comm *comm, uint32_t *context)
{
    struct bridge bridge;
    struct agreement agreement = { .comm = comm, .tag = -1 };

    if (comm->inter) {
        bridge = bridge_of(comm);
        return context_agree_across(&bridge, context);
    }
    return agreement_run(&agreement, context);
}

int context_agree_across(const struct bridge *bridge, uint32_t *context)
{
    struct agreement agreement = { .comm = bridge->local, .bridge = bridge, .tag = -1 };

    return agreement_run(&agreement, context);
}

int context_agree_in_group(struct mpi_comm *comm, const struct mpi_group *group, int tag, uint32_t *context)
{
    struct agreement agreement = { .comm = comm, .group = group, .tag = tag_inner(tag) };

    return agreement_run(&agreement, context);
}
