/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c: checks the arguments of calls that send, receive or probe.
 */
#include "message/message.h"

int check_peer(int peer, const struct mpi_comm *comm, bool may_be_any)
{
    if (peer == MPI_PROC_NULL || (may_be_any && peer == MPI_ANY_SOURCE))
        return MPI_SUCCESS;
    if (peer < 0 || peer >= comm->remote->size)
        return mpi_error(MPI_ERR_RANK, "argument %s: %d is no rank of a communicator of %d",
                         may_be_any ? "source" : "dest", peer, comm->remote->size);
    return MPI_SUCCESS;
}

int check_tag(int tag, bool may_be_any)
{
    if (tag < 0 && !(may_be_any && tag == MPI_ANY_TAG))
        return mpi_error(MPI_ERR_TAG, "argument tag: %d is negative", tag);
    return MPI_SUCCESS;
}

int check_transfer(const void *buffer, int count, const struct mpi_datatype *type, int peer, int tag,
                   const struct mpi_comm *comm, bool receives)
{
    int error = check_buffer(count, type);

    if (!error)
        error = check_peer(peer, comm, receives);
    if (!error)
        error = check_tag(tag, receives);
    if (!error && !buffer && count && type->dense && type->bytes)
        error = mpi_error(MPI_ERR_BUFFER, "argument 1, buffer: NULL, with a count of %d", count);
    return error;
}
