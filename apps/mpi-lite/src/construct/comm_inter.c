/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm_inter.c: intercommunicators, between two groups that share no process.
 *
 * An intercommunicator keeps an intracommunicator of its local group, which it uses to reach the other group
 * (bridge.c) and for its collectives. Runs under the library's lock.
 *
 * Source: MPI 3.1 §6.6.
 */
#include "construct/construct.h"
#include <stdlib.h>
#include <string.h>

static int check_inter(const struct mpi_comm *comm)
{
    int error = check_comm(comm);

    if (!error && !comm->inter)
        error = mpi_error(MPI_ERR_COMM, "argument comm: it is not an intercommunicator");
    return error;
}

static int Comm_test_inter(MPI_Comm comm, int *flag)
{
    *flag = comm->inter;
    return MPI_SUCCESS;
}
MPI_CALL(Comm_test_inter);

static int Comm_remote_size(MPI_Comm comm, int *size)
{
    *size = comm->remote->size;
    return MPI_SUCCESS;
}
MPI_CALL(Comm_remote_size);

static int Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    group_hold(comm->remote);
    *group = comm->remote;
    return group_given(*group);
}
MPI_CALL(Comm_remote_group);

/* ---- MPI_Intercomm_create ---- */

static int check_disjoint(const struct mpi_group *group, const struct mpi_group *remote)
{
    int *index = group_index(group);
    int error = index ? MPI_SUCCESS : mpi_out_of_memory();

    for (int i = 0; i < remote->size && !error; i++)
        if (index[remote->world[i]])
            error = mpi_error(MPI_ERR_COMM, "argument local_comm: rank %d of the other group is in it", i);
    free(index);
    return error;
}

static int remote_learn(const struct bridge *bridge, struct mpi_group **remote)
{
    const struct mpi_group *group = bridge->local->group;
    int size = 0, error = bridge_swap(bridge, MPI_INT, &group->size, 1, &size, 1);

    *remote = NULL;
    if (error)
        return error;
    *remote = group_make(size, NULL);
    if (!*remote)
        return mpi_out_of_memory();
    error = bridge_swap(bridge, MPI_INT, group->world, group->size, group_ranks(*remote), size);
    if (!error)
        group_seal(*remote);
    return error ? error : check_disjoint(group, *remote);
}

static int inter_make(const struct bridge *bridge, struct mpi_comm **made)
{
    struct mpi_comm *local = bridge->local;
    struct mpi_group *remote;
    uint32_t context, local_context;
    int error = remote_learn(bridge, &remote);

    if (!error)
        error = context_agree_across(bridge, &context);
    if (!error)
        error = context_agree(local, &local_context);
    if (!error) {
        *made = comm_make_child(local, context, local->group, remote, true);
        error = *made ? MPI_SUCCESS : mpi_out_of_memory();
    }
    if (remote)
        group_release(remote);
    return error ? error : comm_local_make(*made, local_context);
}

static int check_leaders(const struct mpi_comm *local, int leader, const struct mpi_comm *peer,
                         int remote_leader)
{
    if (local->inter)
        return mpi_error(MPI_ERR_COMM, "argument local_comm: it is an intercommunicator");
    if (leader < 0 || leader >= local->size)
        return mpi_error(MPI_ERR_RANK, "argument local_leader: %d is no rank of a communicator of %d", leader,
                         local->size);
    if (local->rank != leader)
        return MPI_SUCCESS;
    int error = check_comm(peer);
    if (!error && (remote_leader < 0 || remote_leader >= peer->remote->size))
        error = mpi_error(MPI_ERR_RANK, "argument remote_leader: %d is no rank of a communicator of %d",
                          remote_leader, peer->remote->size);
    return error;
}

static int Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
                            MPI_Comm *made)
{
    int error = check_leaders(local, leader, peer, remote_leader);
    if (error)
        return error;
    error = check_tag(tag, false);
    if (error)
        return error;
    struct bridge bridge = { local, leader, peer, remote_leader, tag_inner(tag) };
    return inter_make(&bridge, made);
}
MPI_CALL(Intercomm_create);

/* ---- MPI_Intercomm_merge ---- */

/* Returns whether the local group comes first. If both pass the same `high`, the group with the lower first
 * world rank does. */
static bool local_is_first(const struct mpi_comm *comm, bool high, bool remote_high)
{
    return high != remote_high ? !high : comm->group->world[0] < comm->remote->world[0];
}

static int inter_merge(struct mpi_comm *comm, int high, struct mpi_comm **made)
{
    const struct bridge bridge = bridge_of(comm);
    const struct mpi_group *first = comm->group, *second = comm->remote;
    struct mpi_group *group = NULL;
    uint32_t context;
    int remote_high = 0, error = bridge_swap(&bridge, MPI_INT, &high, 1, &remote_high, 1);

    if (!error)
        error = context_agree(comm, &context);
    if (error)
        return error;
    if (!local_is_first(comm, high != 0, remote_high != 0)) {
        first = comm->remote;
        second = comm->group;
    }
    group = group_make(first->size + second->size, NULL);
    if (!group)
        return mpi_out_of_memory();
    memcpy(group_ranks(group), first->world, (size_t)first->size * sizeof(int));
    memcpy(group_ranks(group) + first->size, second->world, (size_t)second->size * sizeof(int));
    group_seal(group);
    *made = comm_make_child(comm, context, group, group, false);
    group_release(group);
    return *made ? MPI_SUCCESS : mpi_out_of_memory();
}

static int Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *made)
{
    return inter_merge(comm, high, made);
}
MPI_CALL(Intercomm_merge);
