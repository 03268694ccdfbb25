/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bridge.c: how two groups communicate before they have a communicator, or to make another one: their leaders
 * swap messages, and broadcast what they received. Runs under the library's lock.
 */
#include "construct/construct.h"

int comm_swap(struct mpi_comm *comm, int tag, struct mpi_datatype *type, const void *out, int out_count,
              int to, void *in, int in_count, int from)
{
    uint32_t context = comm->context + 1;
    struct mpi_request *receive = message_receive(in, (size_t)in_count, type, from, tag, comm, context);
    struct mpi_request *send =
        receive ? message_send(SEND_STANDARD, out, (size_t)out_count, type, to, tag, comm, context) : NULL;

    if (!send)
        return mpi_out_of_memory();
    int error = request_wait(&send, MPI_STATUS_IGNORE);
    int receive_error = request_wait(&receive, MPI_STATUS_IGNORE);
    return error ? error : receive_error;
}

struct bridge bridge_of(struct mpi_comm *comm)
{
    return (struct bridge){ .local = comm->local, .peer = comm, .tag = tag_inner(0) };
}

int bridge_swap(const struct bridge *bridge, struct mpi_datatype *type, const void *out, int out_count,
                void *in, int in_count)
{
    int error = MPI_SUCCESS;

    if (bridge->local->rank == bridge->leader)
        error = comm_swap(bridge->peer, bridge->tag, type, out, out_count, bridge->remote_leader, in,
                          in_count, bridge->remote_leader);
    return error ? error : PMPI_Bcast(in, in_count, type, bridge->leader, bridge->local);
}
