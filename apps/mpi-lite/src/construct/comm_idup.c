/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm_idup.c: MPI_Comm_idup, the copy of a communicator that does not wait for other processes.
 *
 * The members of MPI_Comm_dup agree on a context (agreement.c) by answering each other at once. Members of
 * MPI_Comm_idup cannot, because they may call at any time. So rank 0 chooses the new context, and broadcasts
 * it. No other process chooses the same number, because it contains the process's world rank. For an
 * intercommunicator, rank 0 of the group whose first member has the lower world rank chooses. Until its
 * request is complete, the copy has no context; the program does not use it. Everything runs under the
 * library's lock.
 *
 * Source: MPI 3.1 §6.4.2.
 */
#include "collective/collective.h"
#include "construct/construct.h"

/* Composes a context of bit 31, the world rank and a counter of this process; bit 0 is for the second
 * context. */
static int context_name(uint32_t *context)
{
    static uint32_t named;
    int rank_bits = 0;

    while (INT64_C(1) << rank_bits < mpi_world.size)
        rank_bits++;
    if (named >= UINT32_C(1) << (30 - rank_bits))
        return mpi_error(MPI_ERR_INTERN, "this process has named %u contexts; none is left", named);
    *context = CONTEXTS_AGREED | (uint32_t)((uint64_t)mpi_world.rank << (31 - rank_bits)) | named++ << 1;
    return MPI_SUCCESS;
}

static int numbers_start(struct mpi_comm *comm, struct mpi_comm *made, struct mpi_request **request)
{
    bool is_first = comm->group->world[0] < comm->remote->world[0];
    const struct call call = { .kind = BCAST,
                               .to = { .buffer = &made->context, .count = 1, .type = MPI_UINT32_T } };

    if (comm->inter)
        return inter_numbers_start(comm, is_first, &made->context, &made->local->context, request);
    return collective_start(comm, &call, request);
}

/* Copies the communicator as it is at the time of the call, as MPI_Comm_dup would: later changes of
 * attributes do not reach the copy. */
static int idup(struct mpi_comm *comm, struct mpi_comm **copy, struct mpi_request **request)
{
    uint32_t context = 0, local_context = 0;
    int error = comm->rank ? MPI_SUCCESS : context_name(&context);

    if (!error && comm->inter && comm->rank == 0)
        error = context_name(&local_context);
    if (error)
        return error;
    struct mpi_comm *made;
    error = comm_copy_make(comm, context, local_context, &made);
    if (error)
        return error;
    error = numbers_start(comm, made, request);
    if (error)
        comm_end(made);
    else
        *copy = made;
    return error;
}

static int Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    return idup(comm, copy, request);
}
MPI_CALL(Comm_idup);
