/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm_split.c: communicators of some ranks of another one: MPI_Comm_split, by node, and by a group.
 *
 * All communicators of one call have the same context, because no process is in two of them. A split gathers
 * every rank's color and key, and sorts those of its own color: O(n log n). A split of an intercommunicator
 * makes intercommunicators, for colors with members in both groups. Runs under the library's lock.
 *
 * Source: MPI 3.1 §6.4.2.
 */
#include "construct/construct.h"
#include <stdlib.h>

struct member {
    int color, key, rank;
};

static int members_compare(const void *one, const void *two)
{
    const struct member *a = one, *b = two;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Makes the group of one color among `count` members, in the order of their keys; `ranks` has their world
 * ranks. */
static struct mpi_group *group_of_color(struct member *members, int count, int color, const int *ranks)
{
    int size = 0;

    for (int i = 0; i < count; i++)
        if (members[i].color == color)
            members[size++] = members[i];
    qsort(members, (size_t)size, sizeof(*members), members_compare);
    struct mpi_group *group = group_make(size, NULL);
    for (int i = 0; group && i < size; i++)
        group_ranks(group)[i] = ranks[members[i].rank];
    if (group && size)
        group_seal(group);
    return group;
}

/* Makes the communicator of two groups, which are released; an intracommunicator takes one group twice. Makes
 * none if a group has no members. `local_context`: of an intercommunicator's local group. */
static int child_make(struct mpi_comm *comm, uint32_t context, uint32_t local_context,
                      struct mpi_group *group, struct mpi_group *remote, struct mpi_comm **child)
{
    int error = group && remote ? MPI_SUCCESS : mpi_out_of_memory();

    if (!error && group->size && remote->size && group->rank != MPI_UNDEFINED) {
        *child = comm_make_child(comm, context, group, remote, comm->inter);
        error = *child ? MPI_SUCCESS : mpi_out_of_memory();
    }
    if (!error && *child && comm->inter)
        error = comm_local_make(*child, local_context);
    if (remote && remote != group)
        group_release(remote);
    if (group)
        group_release(group);
    return error;
}

/* Agrees on the context that children of `comm` need, or, if it is an intercommunicator, on both. */
static int contexts_agree(struct mpi_comm *comm, uint32_t *context, uint32_t *local_context)
{
    int error = context_agree(comm, context);

    *local_context = 0;
    return error || !comm->inter ? error : context_agree(comm->local, local_context);
}

/* Makes the communicator of this process's color; MPI_UNDEFINED: none. The other group's members follow the
 * local ones. */
static int split_make(struct mpi_comm *comm, struct member *members, int color, struct mpi_comm **child)
{
    uint32_t context, local_context;
    int error = contexts_agree(comm, &context, &local_context);

    if (error || color == MPI_UNDEFINED)
        return error;
    struct mpi_group *group = group_of_color(members, comm->size, color, comm->group->world), *remote = group;
    if (comm->inter)
        remote = group_of_color(members + comm->size, comm->remote->size, color, comm->remote->world);
    return child_make(comm, context, local_context, group, remote, child);
}

int comm_split(struct mpi_comm *comm, int color, int key, struct mpi_comm **child)
{
    const struct member own = { color, key, comm->rank };
    size_t others = comm->inter ? (size_t)comm->remote->size : 0;
    struct member *members = malloc(((size_t)comm->size + others) * sizeof(*members));
    int error = members ? MPI_SUCCESS : mpi_out_of_memory();

    *child = MPI_COMM_NULL;
    if (!error)
        error = PMPI_Allgather(&own, 3, MPI_INT, members, 3, MPI_INT, comm->inter ? comm->local : comm);
    if (!error && comm->inter)
        error = PMPI_Allgather(&own, 3, MPI_INT, members + comm->size, 3, MPI_INT, comm);
    if (!error)
        error = split_make(comm, members, color, child);
    free(members);
    return error;
}

static int Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *child)
{
    if (color < 0 && color != MPI_UNDEFINED)
        return mpi_error(MPI_ERR_ARG, "argument color: %d is negative, and not MPI_UNDEFINED", color);
    return comm_split(comm, color, key, child);
}
MPI_CALL(Comm_split);

static int Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *child)
{
    (void)info;
    if (split_type != MPI_COMM_TYPE_SHARED && split_type != MPI_UNDEFINED)
        return mpi_error(MPI_ERR_ARG, "argument split_type: %d is not MPI_COMM_TYPE_SHARED", split_type);
    return comm_split(comm, split_type == MPI_UNDEFINED ? MPI_UNDEFINED : mpi_world.node, key, child);
}
MPI_CALL(Comm_split_type);

/* ---- By a group ---- */

static int check_members(const struct mpi_group *group, const struct mpi_comm *comm)
{
    int error = check_group(group, "group");
    int *index = error ? NULL : group_index(comm->group);

    if (!error && !index)
        error = mpi_out_of_memory();
    for (int i = 0; !error && i < group->size; i++)
        if (!index[group->world[i]])
            error = mpi_error(MPI_ERR_GROUP, "argument group: its rank %d is not in the communicator", i);
    free(index);
    return error;
}

static int child_of_group(struct mpi_comm *comm, uint32_t context, struct mpi_group *group,
                          struct mpi_comm **child)
{
    *child = MPI_COMM_NULL;
    if (group->rank == MPI_UNDEFINED)
        return MPI_SUCCESS;
    *child = comm_make_child(comm, context, group, group, false);
    return *child ? MPI_SUCCESS : mpi_out_of_memory();
}

int comm_first_ranks(struct mpi_comm *parent, int size, struct mpi_comm **child)
{
    uint32_t context;
    struct mpi_group *group = group_make(size, parent->group->world);
    int error = group ? context_agree(parent, &context) : mpi_out_of_memory();

    if (!error)
        error = child_of_group(parent, context, group, child);
    if (group)
        group_release(group);
    return error;
}

/* Receives the group that the other side has passed. */
static int remote_learn(struct mpi_comm *comm, const struct mpi_group *group, struct mpi_group **remote)
{
    const struct bridge bridge = bridge_of(comm);
    int size = 0, error = bridge_swap(&bridge, MPI_INT, &group->size, 1, &size, 1);

    *remote = NULL;
    if (error)
        return error;
    *remote = group_make(size, NULL);
    if (!*remote)
        return mpi_out_of_memory();
    error = bridge_swap(&bridge, MPI_INT, group->world, group->size, group_ranks(*remote), size);
    if (!error && size)
        group_seal(*remote);
    return error;
}

static int create_across(struct mpi_comm *comm, struct mpi_group *group, struct mpi_comm **child)
{
    uint32_t context, local_context;
    struct mpi_group *remote;
    int error = remote_learn(comm, group, &remote);

    *child = MPI_COMM_NULL;
    if (!error)
        error = contexts_agree(comm, &context, &local_context);
    if (error) {
        if (remote)
            group_release(remote);
        return error;
    }
    group_hold(group);
    return child_make(comm, context, local_context, group, remote, child);
}

static int create_within(struct mpi_comm *comm, struct mpi_group *group, struct mpi_comm **child)
{
    uint32_t context;
    int error = context_agree(comm, &context);

    return error ? error : child_of_group(comm, context, group, child);
}

static int Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *child)
{
    int error = check_members(group, comm);
    if (error)
        return error;
    return comm->inter ? create_across(comm, group, child) : create_within(comm, group, child);
}
MPI_CALL(Comm_create);

static int Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *child)
{
    uint32_t context = 0;

    if (comm->inter)
        return mpi_error(MPI_ERR_COMM, "argument comm: an intercommunicator, which this call does not take");
    int error = check_members(group, comm);
    if (error)
        return error;
    error = check_tag(tag, false);
    if (!error && group->rank != MPI_UNDEFINED)
        error = context_agree_in_group(comm, group, tag, &context);
    return error ? error : child_of_group(comm, context, group, child);
}
MPI_CALL(Comm_create_group);
