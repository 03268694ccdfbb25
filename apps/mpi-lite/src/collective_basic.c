/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective_basic.c: barrier, broadcast, reduce, allreduce and allgather over messages, in their simplest
 * forms: dissemination, binomial trees, a ring. They use the communicator's second context, with the number
 * of the collective as the tag. Run under the library's lock.
 *
 * Reduce folds ranks in their order, for operations that do not commute; its tree's root is rank 0, which
 * hands the result to another root. Allreduce is a reduce to rank 0 and a broadcast: the same bits
 * everywhere.
 *
 * Source: MPI 3.1 §5.3, §5.4, §5.7, §5.9.
 */
#include "message.h"
#include <stdlib.h>

bool collective_progress(void)
{
    return false; /* no schedule is ever under way: these collectives block */
}

void comm_nodes_free(struct mpi_comm_nodes *nodes)
{
    (void)nodes; /* none is ever made: nothing here asks who shares a node */
}

static int tag_next(struct mpi_comm *comm)
{
    return (int)(comm->sequence++ & 0x7fffffff);
}

static int step_send(const void *buffer, size_t count, struct mpi_datatype *type, int peer, int tag,
                     struct mpi_comm *comm)
{
    struct mpi_request *request =
        message_send(SEND_STANDARD, buffer, count, type, peer, tag, comm, comm->context + 1);

    return request ? request_wait(&request, MPI_STATUS_IGNORE) : MPI_ERR_NO_MEM;
}

static int step_receive(void *buffer, size_t count, struct mpi_datatype *type, int peer, int tag,
                        struct mpi_comm *comm)
{
    struct mpi_request *request = message_receive(buffer, count, type, peer, tag, comm, comm->context + 1);

    return request ? request_wait(&request, MPI_STATUS_IGNORE) : MPI_ERR_NO_MEM;
}

static int barrier_run(struct mpi_comm *comm)
{
    int tag = tag_next(comm), error = MPI_SUCCESS;

    for (int distance = 1; distance < comm->size && !error; distance *= 2) {
        int to = (comm->rank + distance) % comm->size,
            from = (comm->rank - distance + comm->size) % comm->size;

        error = step_send(NULL, 0, MPI_BYTE, to, tag, comm);
        if (!error)
            error = step_receive(NULL, 0, MPI_BYTE, from, tag, comm);
    }
    return error;
}

static int broadcast_run(void *buffer, size_t count, struct mpi_datatype *type, int root,
                         struct mpi_comm *comm)
{
    int size = comm->size, relative = (comm->rank - root + size) % size, tag = tag_next(comm);
    int mask = 1, error = MPI_SUCCESS;

    while (mask < size && !(relative & mask))
        mask *= 2;
    if (relative)
        error = step_receive(buffer, count, type, (relative - mask + root) % size, tag, comm);
    for (mask /= 2; mask && !error; mask /= 2)
        if (relative + mask < size)
            error = step_send(buffer, count, type, (relative + mask + root) % size, tag, comm);
    return error;
}

/* Each rank folds what its children of higher ranks send into `sum`, from the nearest on. */
static int tree_fold(unsigned char *sum, unsigned char *taken, size_t count, struct mpi_datatype *type,
                     struct mpi_op *op, int tag, struct mpi_comm *comm)
{
    for (int mask = 1; mask < comm->size; mask *= 2) {
        if (comm->rank & mask)
            return step_send(sum, count, type, comm->rank - mask, tag, comm);
        if (comm->rank + mask >= comm->size)
            continue;
        int error = step_receive(taken, count, type, comm->rank + mask, tag, comm);
        if (error)
            return error;
        /* op_apply(left, right): right becomes the result; it is then copied to where the sum is kept. */
        op_apply(op, sum, taken, count, type);
        error = type_copy(taken, count, type, sum, count, type);
        if (error)
            return error;
    }
    return MPI_SUCCESS;
}

static int reduce_run(const void *from, void *to, size_t count, struct mpi_datatype *type, struct mpi_op *op,
                      int root, struct mpi_comm *comm)
{
    MPI_Aint begin = 0;
    size_t span = type_span(type, count, &begin);
    unsigned char *room = malloc(2 * span + 1);
    unsigned char *sum = room - begin, *taken = room + span - begin;
    int tag = tag_next(comm);

    if (!room)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %zu bytes", 2 * span);
    int error = type_copy(from == MPI_IN_PLACE ? to : from, count, type, sum, count, type);
    if (!error)
        error = tree_fold(sum, taken, count, type, op, tag, comm);
    if (!error && root == 0 && comm->rank == 0)
        error = type_copy(sum, count, type, to, count, type);
    else if (!error && root != 0 && comm->rank == 0)
        error = step_send(sum, count, type, root, tag, comm);
    else if (!error && root != 0 && comm->rank == root)
        error = step_receive(to, count, type, 0, tag, comm);
    free(room);
    return error;
}

/* Around the ring: in each step a rank passes on the block that it got in the one before. */
static int allgather_run(unsigned char *to, size_t count, struct mpi_datatype *type, struct mpi_comm *comm)
{
    int size = comm->size, tag = tag_next(comm), error = MPI_SUCCESS;
    int next = (comm->rank + 1) % size, previous = (comm->rank + size - 1) % size;
    MPI_Aint block = (MPI_Aint)count * type->extent;

    for (int step = 0; step < size - 1 && !error; step++) {
        int mine = (comm->rank - step + size) % size, theirs = (mine + size - 1) % size;
        struct mpi_request *receive =
            message_receive(to + theirs * block, count, type, previous, tag, comm, comm->context + 1);

        if (!receive)
            return MPI_ERR_NO_MEM;
        error = step_send(to + mine * block, count, type, next, tag, comm);
        int receive_error = request_wait(&receive, MPI_STATUS_IGNORE);
        error = error ? error : receive_error;
    }
    return error;
}

static int check_reduction(int count, const struct mpi_datatype *type, const struct mpi_op *op)
{
    int error = check_buffer(count, type);

    if (!error && op == MPI_OP_NULL)
        error = mpi_error(MPI_ERR_OP, "argument op: MPI_OP_NULL");
    return error ? error : op_check(op, type);
}

static int check_root(int root, const struct mpi_comm *comm)
{
    if (root < 0 || root >= comm->size)
        return mpi_error(MPI_ERR_ROOT, "argument root: %d is no rank of a communicator of %d", root,
                         comm->size);
    return MPI_SUCCESS;
}

int PMPI_Barrier(MPI_Comm comm)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = barrier_run(comm);
    error = mpi_return(heard, "MPI_Barrier", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Barrier);

int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_buffer(count, type);
    if (!error)
        error = check_root(root, comm);
    if (!error)
        error = broadcast_run(buffer, (size_t)count, type, root, comm);
    error = mpi_return(heard, "MPI_Bcast", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Bcast);

int PMPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_reduction(count, type, op);
    if (!error)
        error = check_root(root, comm);
    if (!error)
        error = reduce_run(from, to, (size_t)count, type, op, root, comm);
    error = mpi_return(heard, "MPI_Reduce", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Reduce);

int PMPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_reduction(count, type, op);
    if (!error)
        error = reduce_run(from, to, (size_t)count, type, op, 0, comm);
    if (!error)
        error = broadcast_run(to, (size_t)count, type, 0, comm);
    error = mpi_return(heard, "MPI_Allreduce", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Allreduce);

int PMPI_Allgather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                   MPI_Datatype to_type, MPI_Comm comm)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error && from != MPI_IN_PLACE)
        error = check_buffer(from_count, from_type);
    if (!error)
        error = check_buffer(to_count, to_type);
    if (!error && from != MPI_IN_PLACE)
        error = type_copy(from, (size_t)from_count, from_type,
                          (char *)to + (MPI_Aint)comm->rank * to_count * to_type->extent, (size_t)to_count,
                          to_type);
    if (!error)
        error = allgather_run(to, (size_t)to_count, to_type, comm);
    error = mpi_return(heard, "MPI_Allgather", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Allgather);
