/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm_copy.c: copies of communicators, and the end of one that the program frees. Attributes come first:
 * functions of the program's copy and delete them. Runs under the library's lock.
 *
 * Source: MPI 3.1 §6.4.2 (copies), §6.4.3 (end), §10.5.4 (MPI_Comm_disconnect).
 */
#include "construct/construct.h"

int comm_end(struct mpi_comm *comm)
{
    int error = attributes_free(comm, &comm->attributes);

    if (!error)
        comm_release(comm);
    return error;
}

int comm_local_make(struct mpi_comm *comm, uint32_t context)
{
    comm->local = comm_make_child(comm, context, comm->group, comm->group, false);
    if (!comm->local)
        return mpi_out_of_memory();
    comm_hide(comm->local);
    return MPI_SUCCESS;
}

static int copy_rest(struct mpi_comm *comm, struct mpi_comm *copy)
{
    if (comm->topology) {
        copy->topology = topology_copy(comm->topology);
        if (!copy->topology)
            return mpi_out_of_memory();
    }
    return attributes_copy(comm, comm->attributes, &copy->attributes);
}

int comm_copy_make(struct mpi_comm *comm, uint32_t context, uint32_t local_context, struct mpi_comm **copy)
{
    struct mpi_comm *made = comm_make_child(comm, context, comm->group, comm->remote, comm->inter);
    int error = MPI_SUCCESS;

    *copy = MPI_COMM_NULL;
    if (!made)
        return mpi_out_of_memory();
    if (comm->inter)
        error = comm_local_make(made, local_context);
    if (!error)
        error = copy_rest(comm, made);
    if (error)
        comm_end(made);
    else
        *copy = made;
    return error;
}

static int comm_copy(struct mpi_comm *comm, struct mpi_comm **copy)
{
    uint32_t context, local_context = 0;
    int error = context_agree(comm, &context);

    *copy = MPI_COMM_NULL;
    if (!error && comm->inter)
        error = context_agree(comm->local, &local_context);
    return error ? error : comm_copy_make(comm, context, local_context, copy);
}

static int copy_call(const char *name, struct mpi_comm *comm, struct mpi_comm **copy)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_output(copy, "newcomm");
    if (!error)
        error = comm_copy(comm, copy);
    return mpi_leave_with(heard, name, error);
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    return copy_call("MPI_Comm_dup", comm, copy);
}
MPI_ALIAS(Comm_dup);

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy)
{
    (void)info;
    return copy_call("MPI_Comm_dup_with_info", comm, copy);
}
MPI_ALIAS(Comm_dup_with_info);

static int free_call(const char *name, struct mpi_comm **comm, bool waits)
{
    mpi_enter();
    int error = check_output(comm, "comm");
    if (!error)
        error = check_comm(*comm);
    struct mpi_comm *heard = error ? NULL : *comm;
    if (!error && (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF))
        error = mpi_error(MPI_ERR_COMM, "argument comm: %s cannot be freed", (*comm)->name);
    if (!error && waits)
        error = PMPI_Barrier(*comm);
    if (!error && waits)
        progress_wait(outputs_are_empty, NULL);
    if (!error)
        error = comm_end(*comm);
    if (!error)
        *comm = MPI_COMM_NULL;
    return mpi_leave_with(heard, name, error);
}

int PMPI_Comm_free(MPI_Comm *comm)
{
    return free_call("MPI_Comm_free", comm, false);
}
MPI_ALIAS(Comm_free);

/* Frees a communicator. As before MPI_Finalize, the program has completed its communication [§10.5.4]. */
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    return free_call("MPI_Comm_disconnect", comm, true);
}
MPI_ALIAS(Comm_disconnect);
