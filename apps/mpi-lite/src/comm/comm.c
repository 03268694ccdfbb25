/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm.c: communicators: the two predefined ones, how a communicator is made and ended, and its properties.
 *
 * MPI_COMM_WORLD has the context 0, MPI_COMM_SELF 2; construct/agreement.c agrees on those of others.
 *
 * Runs under the library's lock. Source: MPI 3.1 §6.2, §6.4.1, §6.8 (names).
 */
#include "comm/comm.h"
#include <stdlib.h>
#include <string.h>

static int live_count;
static struct mpi_group world_group, self_group;

/* ---- Making and end ---- */

static void comm_fill(struct mpi_comm *comm, uint32_t context, struct mpi_group *group, const char *name)
{
    comm->references = 1;
    comm->context = context;
    comm->group = comm->remote = group;
    comm->rank = group->rank;
    comm->size = group->size;
    strncat(comm->name, name, sizeof(comm->name) - 1);
}

void comm_world_begin(void)
{
    int *all = calloc((size_t)mpi_world.size, sizeof(*all));

    if (!all)
        mpi_abort(1, "no memory for %d ranks", mpi_world.size);
    for (int i = 0; i < mpi_world.size; i++)
        all[i] = i;
    world_group = (struct mpi_group){ 1, mpi_world.size, mpi_world.rank, all };
    self_group = (struct mpi_group){ 1, 1, 0, all + mpi_world.rank };
    comm_fill(MPI_COMM_WORLD, 0, &world_group, "MPI_COMM_WORLD");
    comm_fill(MPI_COMM_SELF, 2, &self_group, "MPI_COMM_SELF");
}

static void comm_world_release(struct mpi_comm *comm)
{
    errhandler_release(comm->errhandler);
    free(comm->nodes);
    comm->errhandler = NULL;
    comm->nodes = NULL;
}

void comm_world_end(void)
{
    comm_world_release(MPI_COMM_WORLD);
    comm_world_release(MPI_COMM_SELF);
    free((void *)(uintptr_t)world_group.world);
    world_group.world = self_group.world = NULL;
}

int comm_live_count(void)
{
    return live_count;
}

/* Frees a communicator when its last reference goes. */
static void comm_free(struct mpi_comm *comm)
{
    if (comm->local)
        comm_release(comm->local);
    if (comm->remote != comm->group)
        group_release(comm->remote);
    group_release(comm->group);
    errhandler_release(comm->errhandler);
    if (comm->topology)
        topology_free(comm->topology);
    free(comm->nodes);
    live_count -= !comm->hidden;
    handle_release(comm);
    object_end(comm, sizeof(*comm));
}

struct mpi_comm *comm_make(uint32_t context, struct mpi_group *group, struct mpi_group *remote, bool inter)
{
    struct mpi_comm *comm = object_make(sizeof(*comm));

    if (!comm)
        return NULL;
    comm_fill(comm, context, group, "");
    comm->remote = remote;
    comm->inter = inter;
    comm->end = comm_free;
    group_hold(group);
    if (remote != group)
        group_hold(remote);
    live_count++;
    return comm;
}

struct mpi_comm *comm_make_child(const struct mpi_comm *parent, uint32_t context, struct mpi_group *group,
                                 struct mpi_group *remote, bool inter)
{
    struct mpi_comm *comm = comm_make(context, group, remote, inter);

    if (comm && parent->errhandler) {
        comm->errhandler = parent->errhandler;
        comm->errhandler->references++;
    }
    return comm;
}

void comm_hide(struct mpi_comm *comm)
{
    live_count -= !comm->hidden;
    comm->hidden = true;
}

/* ---- What a communicator is ---- */

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    int error = check_comm(comm);

    if (!error)
        error = check_output(rank, "rank");
    if (!error)
        *rank = comm->rank;
    return error ? mpi_return(NULL, "MPI_Comm_rank", error) : MPI_SUCCESS;
}
MPI_ALIAS(Comm_rank);

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    int error = check_comm(comm);

    if (!error)
        error = check_output(size, "size");
    if (!error)
        *size = comm->size;
    return error ? mpi_return(NULL, "MPI_Comm_size", error) : MPI_SUCCESS;
}
MPI_ALIAS(Comm_size);

static int Comm_group(MPI_Comm comm, MPI_Group *group)
{
    group_hold(comm->group);
    *group = comm->group;
    return group_given(*group);
}
MPI_CALL(Comm_group);

static int comm_order(const struct mpi_comm *one, const struct mpi_comm *two)
{
    if (one == two)
        return MPI_IDENT;
    if (one->inter != two->inter)
        return MPI_UNEQUAL;
    int local = group_order(one->group, two->group);
    int remote = one->inter ? group_order(one->remote, two->remote) : local;
    if (local < 0 || remote < 0)
        return -1;
    int order = local > remote ? local : remote;
    return order == MPI_IDENT ? MPI_CONGRUENT : order;
}

static int Comm_compare(MPI_Comm one, MPI_Comm two, int *result)
{
    *result = comm_order(one, two);
    return *result < 0 ? mpi_out_of_memory() : MPI_SUCCESS;
}
MPI_CALL(Comm_compare);

static int Comm_set_name(MPI_Comm comm, const char *name)
{
    size_t length = strnlen(name, sizeof(comm->name) - 1); /* longer ones are cut */

    memmove(comm->name, name, length);
    comm->name[length] = '\0';
    return MPI_SUCCESS;
}
MPI_CALL(Comm_set_name);

static int Comm_get_name(MPI_Comm comm, char *name, int *length)
{
    strcpy(name, comm->name);
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}
MPI_CALL(Comm_get_name);

/* Ignores the hints: none changes the library's behaviour, so none is in use. */
static int Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    (void)comm, (void)info;
    return MPI_SUCCESS;
}
MPI_CALL(Comm_set_info);

static int Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
    (void)comm;
    return PMPI_Info_create(info);
}
MPI_CALL(Comm_get_info);

static int Comm_get_parent(MPI_Comm *parent)
{
    *parent = MPI_COMM_NULL; /* a launcher has started this process: MPI_Comm_spawn is not supported */
    return MPI_SUCCESS;
}
MPI_CALL(Comm_get_parent);
