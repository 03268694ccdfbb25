/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective_calls.c: the collective calls, each with its nonblocking form, and the checks of their
 * arguments.
 *
 * A struct call describes every call. Only the arguments that are significant on this rank are used. Each
 * call holds the library's lock.
 *
 * Source: MPI 3.1 chapter 5.
 */
#include "collective/collective.h"
#include <limits.h>

/* ---- Checks ---- */

int check_elements(const char *side, int count, const struct mpi_datatype *type)
{
    if (count < 0)
        return mpi_error(MPI_ERR_COUNT, "argument %s count: %d is negative", side, count);
    if (type == MPI_DATATYPE_NULL)
        return mpi_error(MPI_ERR_TYPE, "argument %s type: MPI_DATATYPE_NULL", side);
    if (!type->committed)
        return mpi_error(MPI_ERR_TYPE, "argument %s type: %s", side, type_flaw(type));
    return MPI_SUCCESS;
}

/* Checks the arguments of a buffer; `blocks` is the length of an array of counts. */
static int check_side(const char *name, const struct side *side, int blocks)
{
    int error = MPI_SUCCESS;

    if (!side->counts)
        return check_elements(name, side->count > INT_MAX ? -1 : (int)side->count, side->type);
    for (int i = 0; !error && i < blocks; i++)
        error = check_elements(name, side->counts[i], side->types ? side->types[i] : side->type);
    return error;
}

enum significant { FROM = 1, TO = 2 };

static bool is_rooted(enum collective kind)
{
    return kind == BCAST || kind == REDUCE || kind == GATHER || kind == SCATTER;
}

static bool is_reduction(enum collective kind)
{
    return kind == REDUCE || kind == ALLREDUCE || kind == REDUCE_SCATTER || kind == SCAN;
}

/* Returns which buffers are significant on this rank, in an intracommunicator. */
static int significant_within(const struct call *call, bool is_root)
{
    switch (call->kind) {
    case BARRIER:
        return 0;
    case BCAST:
        return TO;
    case REDUCE:
    case GATHER:
        return is_root ? FROM | TO : FROM;
    case SCATTER:
        return is_root ? FROM | TO : TO;
    default:
        return FROM | TO;
    }
}

/* Returns which buffers are significant in an intercommunicator. In a rooted call, only the root of one group
 * sends or receives; in the other group all ranks do the reverse. */
static int significant_across(const struct call *call)
{
    bool is_root = call->root == MPI_ROOT;

    if (!is_rooted(call->kind))
        return call->kind == BARRIER ? 0 : FROM | TO;
    if (call->root == MPI_PROC_NULL)
        return 0;
    if (call->kind == BCAST)
        return TO;
    return (call->kind == SCATTER) == is_root ? FROM : TO;
}

/* Returns whether this rank's block for itself is already in its place. */
static bool own_block_stays(const struct call *call, int rank)
{
    bool has_one_from = call->kind == GATHER || call->kind == ALLGATHER, has_one_to = call->kind == SCATTER;
    struct block from = side_block(&call->from, has_one_from ? 0 : rank);
    struct block to = side_block(&call->to, has_one_to ? 0 : rank);

    return from.at == to.at && from.type == to.type && block_bytes(from) && block_bytes(to);
}

/* Returns whether both buffers begin with data, so that they must differ. For the v and w forms this is not
 * known, except for MPI_Reduce_scatter, whose blocks follow each other. */
static bool overlap_if_same(const struct call *call, const struct mpi_comm *comm)
{
    if (call->kind != REDUCE_SCATTER)
        return call->from.count && call->to.count && !call->varies;
    for (int i = 0; call->to.counts && i < comm->size; i++)
        if (call->to.counts[i])
            return true;
    return !call->to.counts && call->to.count;
}

/* Checks MPI_IN_PLACE and equal buffers. MPI_IN_PLACE replaces the receive buffer of a scatter's root, else
 * the send buffer; in rooted calls, only the root may use it. */
static int check_buffers(const struct call *call, const struct mpi_comm *comm, int significant, bool is_root)
{
    bool may_from = call->kind != BCAST && call->kind != SCATTER && (!is_rooted(call->kind) || is_root);

    if (significant & FROM && is_in_place(&call->from) && !may_from)
        return mpi_error(MPI_ERR_BUFFER, "argument sendbuf: MPI_IN_PLACE is %s here",
                         call->kind == SCATTER ? "for the receive buffer" : "for the root alone");
    if (significant & TO && is_in_place(&call->to) && !(call->kind == SCATTER && is_root))
        return mpi_error(MPI_ERR_BUFFER, "argument recvbuf: MPI_IN_PLACE is %s here",
                         call->kind == SCATTER ? "for the root alone" : "not for the receive buffer");
    if (significant != (FROM | TO) || is_in_place(&call->from) || is_in_place(&call->to))
        return MPI_SUCCESS;
    if (call->from.buffer && call->from.buffer == call->to.buffer && overlap_if_same(call, comm))
        return mpi_error(MPI_ERR_BUFFER,
                         "argument recvbuf: it is the send buffer; pass MPI_IN_PLACE instead");
    if (!comm->inter && !is_reduction(call->kind) && own_block_stays(call, comm->rank))
        return mpi_error(MPI_ERR_BUFFER, "argument recvbuf: this rank's block for itself is already in its "
                                         "place; pass MPI_IN_PLACE instead");
    return MPI_SUCCESS;
}

static int check_root(int root, const struct mpi_comm *comm)
{
    if (comm->inter && (root == MPI_ROOT || root == MPI_PROC_NULL))
        return MPI_SUCCESS;
    if (root < 0 || root >= comm->remote->size)
        return mpi_error(MPI_ERR_ROOT, "argument root: %d is no rank of a %s of %d", root,
                         comm->inter ? "remote group" : "communicator", comm->remote->size);
    return MPI_SUCCESS;
}

static int check_across(const struct call *call, int significant)
{
    if (call->kind == SCAN)
        return mpi_error(MPI_ERR_COMM, "argument comm: an intercommunicator, which has no scans");
    if ((significant & FROM && is_in_place(&call->from)) || (significant & TO && is_in_place(&call->to)))
        return mpi_error(MPI_ERR_BUFFER, "argument %s: MPI_IN_PLACE is not for intercommunicators",
                         significant & FROM && is_in_place(&call->from) ? "sendbuf" : "recvbuf");
    return MPI_SUCCESS;
}

static int check_call(const struct call *call, const struct mpi_comm *comm)
{
    bool is_root = !comm->inter && call->root == comm->rank;
    int significant = comm->inter ? significant_across(call) : significant_within(call, is_root);
    int error = is_rooted(call->kind) ? check_root(call->root, comm) : MPI_SUCCESS;
    bool skips_from = is_in_place(&call->from) && !is_reduction(call->kind);
    int to_blocks = call->kind == REDUCE_SCATTER ? comm->size : comm->remote->size;

    if (!error && comm->inter)
        error = check_across(call, significant);
    if (!error && significant & FROM && !skips_from)
        error = check_side("send", &call->from, comm->remote->size);
    if (!error && significant & TO && !(call->kind == SCATTER && is_in_place(&call->to)))
        error = check_side("receive", &call->to, to_blocks);
    if (!error)
        error = check_buffers(call, comm, significant, is_root || comm->inter);
    if (!error && is_reduction(call->kind) && significant)
        error = op_check(call->op, call->from.type);
    return error;
}

/* Does a call; `request` NULL: it blocks. */
static int collective_call(const char *name, struct mpi_comm *comm, const struct call *call,
                           struct mpi_request **request)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_request_of(name, request);
    if (!error)
        error = check_call(call, comm);
    if (!error)
        error = collective_start(comm, call, request);
    return mpi_leave_with(heard, name, error);
}

/* Describes one block. A negative count becomes one that is too large for an int: check_side refuses it if it
 * is significant. */
static struct side one_block(const void *buffer, int count, struct mpi_datatype *type)
{
    return (struct side){ .buffer = buffer, .count = count < 0 ? SIZE_MAX : (size_t)count, .type = type };
}

static struct side many_blocks(const void *buffer, const int *counts, const int *places,
                               struct mpi_datatype *type, const MPI_Datatype *types)
{
    return (struct side){ buffer, 0, counts, places, type, types };
}

/* ---- The calls ---- */

static int barrier_call(MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = BARRIER };

    return collective_call(name, comm, &call, request);
}

int PMPI_Barrier(MPI_Comm comm)
{
    return barrier_call(comm, NULL, "MPI_Barrier");
}
MPI_ALIAS(Barrier);

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    return barrier_call(comm, request, "MPI_Ibarrier");
}
MPI_ALIAS(Ibarrier);

static int bcast_call(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Request *request, const char *name)
{
    const struct call call = { .kind = BCAST, .to = one_block(buffer, count, type), .root = root };

    return collective_call(name, comm, &call, request);
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    return bcast_call(buffer, count, type, root, comm, NULL, "MPI_Bcast");
}
MPI_ALIAS(Bcast);

int PMPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request)
{
    return bcast_call(buffer, count, type, root, comm, request, "MPI_Ibcast");
}
MPI_ALIAS(Ibcast);

static int reduce_call(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
                       MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = REDUCE,
                               .from = one_block(from, count, type),
                               .to = one_block(to, count, type),
                               .op = op,
                               .root = root };

    return collective_call(name, comm, &call, request);
}

int PMPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    return reduce_call(from, to, count, type, op, root, comm, NULL, "MPI_Reduce");
}
MPI_ALIAS(Reduce);

int PMPI_Ireduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                 MPI_Request *request)
{
    return reduce_call(from, to, count, type, op, root, comm, request, "MPI_Ireduce");
}
MPI_ALIAS(Ireduce);

static int allreduce_call(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request *request, const char *name)
{
    const struct call call = {
        .kind = ALLREDUCE, .from = one_block(from, count, type), .to = one_block(to, count, type), .op = op
    };

    return collective_call(name, comm, &call, request);
}

int PMPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return allreduce_call(from, to, count, type, op, comm, NULL, "MPI_Allreduce");
}
MPI_ALIAS(Allreduce);

int PMPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Request *request)
{
    return allreduce_call(from, to, count, type, op, comm, request, "MPI_Iallreduce");
}
MPI_ALIAS(Iallreduce);

static int scan_call(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                     MPI_Request *request, const char *name)
{
    const struct call call = {
        .kind = SCAN, .from = one_block(from, count, type), .to = one_block(to, count, type), .op = op
    };

    return collective_call(name, comm, &call, request);
}

int PMPI_Scan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return scan_call(from, to, count, type, op, comm, NULL, "MPI_Scan");
}
MPI_ALIAS(Scan);

int PMPI_Iscan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               MPI_Request *request)
{
    return scan_call(from, to, count, type, op, comm, request, "MPI_Iscan");
}
MPI_ALIAS(Iscan);

static int exscan_call(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                       MPI_Request *request, const char *name)
{
    const struct call call = { .kind = SCAN,
                               .excludes = true,
                               .from = one_block(from, count, type),
                               .to = one_block(to, count, type),
                               .op = op };

    return collective_call(name, comm, &call, request);
}

int PMPI_Exscan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return exscan_call(from, to, count, type, op, comm, NULL, "MPI_Exscan");
}
MPI_ALIAS(Exscan);

int PMPI_Iexscan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                 MPI_Request *request)
{
    return exscan_call(from, to, count, type, op, comm, request, "MPI_Iexscan");
}
MPI_ALIAS(Iexscan);

static int gather_call(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                       MPI_Datatype to_type, int root, MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = GATHER,
                               .from = one_block(from, from_count, from_type),
                               .to = one_block(to, to_count, to_type),
                               .root = root };

    return collective_call(name, comm, &call, request);
}

int PMPI_Gather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                MPI_Datatype to_type, int root, MPI_Comm comm)
{
    return gather_call(from, from_count, from_type, to, to_count, to_type, root, comm, NULL, "MPI_Gather");
}
MPI_ALIAS(Gather);

int PMPI_Igather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                 MPI_Datatype to_type, int root, MPI_Comm comm, MPI_Request *request)
{
    return gather_call(from, from_count, from_type, to, to_count, to_type, root, comm, request,
                       "MPI_Igather");
}
MPI_ALIAS(Igather);

static int gatherv_call(const void *from, int from_count, MPI_Datatype from_type, void *to,
                        const int to_counts[], const int places[], MPI_Datatype to_type, int root,
                        MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = GATHER,
                               .varies = true,
                               .from = one_block(from, from_count, from_type),
                               .to = many_blocks(to, to_counts, places, to_type, NULL),
                               .root = root };

    return collective_call(name, comm, &call, request);
}

int PMPI_Gatherv(const void *from, int from_count, MPI_Datatype from_type, void *to, const int to_counts[],
                 const int places[], MPI_Datatype to_type, int root, MPI_Comm comm)
{
    return gatherv_call(from, from_count, from_type, to, to_counts, places, to_type, root, comm, NULL,
                        "MPI_Gatherv");
}
MPI_ALIAS(Gatherv);

int PMPI_Igatherv(const void *from, int from_count, MPI_Datatype from_type, void *to, const int to_counts[],
                  const int places[], MPI_Datatype to_type, int root, MPI_Comm comm, MPI_Request *request)
{
    return gatherv_call(from, from_count, from_type, to, to_counts, places, to_type, root, comm, request,
                        "MPI_Igatherv");
}
MPI_ALIAS(Igatherv);

static int scatter_call(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                        MPI_Datatype to_type, int root, MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = SCATTER,
                               .from = one_block(from, from_count, from_type),
                               .to = one_block(to, to_count, to_type),
                               .root = root };

    return collective_call(name, comm, &call, request);
}

int PMPI_Scatter(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                 MPI_Datatype to_type, int root, MPI_Comm comm)
{
    return scatter_call(from, from_count, from_type, to, to_count, to_type, root, comm, NULL, "MPI_Scatter");
}
MPI_ALIAS(Scatter);

int PMPI_Iscatter(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                  MPI_Datatype to_type, int root, MPI_Comm comm, MPI_Request *request)
{
    return scatter_call(from, from_count, from_type, to, to_count, to_type, root, comm, request,
                        "MPI_Iscatter");
}
MPI_ALIAS(Iscatter);

static int scatterv_call(const void *from, const int from_counts[], const int places[],
                         MPI_Datatype from_type, void *to, int to_count, MPI_Datatype to_type, int root,
                         MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = SCATTER,
                               .varies = true,
                               .from = many_blocks(from, from_counts, places, from_type, NULL),
                               .to = one_block(to, to_count, to_type),
                               .root = root };

    return collective_call(name, comm, &call, request);
}

int PMPI_Scatterv(const void *from, const int from_counts[], const int places[], MPI_Datatype from_type,
                  void *to, int to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    return scatterv_call(from, from_counts, places, from_type, to, to_count, to_type, root, comm, NULL,
                         "MPI_Scatterv");
}
MPI_ALIAS(Scatterv);

int PMPI_Iscatterv(const void *from, const int from_counts[], const int places[], MPI_Datatype from_type,
                   void *to, int to_count, MPI_Datatype to_type, int root, MPI_Comm comm,
                   MPI_Request *request)
{
    return scatterv_call(from, from_counts, places, from_type, to, to_count, to_type, root, comm, request,
                         "MPI_Iscatterv");
}
MPI_ALIAS(Iscatterv);

static int allgather_call(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                          MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = ALLGATHER,
                               .from = one_block(from, from_count, from_type),
                               .to = one_block(to, to_count, to_type) };

    return collective_call(name, comm, &call, request);
}

int PMPI_Allgather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                   MPI_Datatype to_type, MPI_Comm comm)
{
    return allgather_call(from, from_count, from_type, to, to_count, to_type, comm, NULL, "MPI_Allgather");
}
MPI_ALIAS(Allgather);

int PMPI_Iallgather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                    MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request)
{
    return allgather_call(from, from_count, from_type, to, to_count, to_type, comm, request,
                          "MPI_Iallgather");
}
MPI_ALIAS(Iallgather);

static int allgatherv_call(const void *from, int from_count, MPI_Datatype from_type, void *to,
                           const int to_counts[], const int places[], MPI_Datatype to_type, MPI_Comm comm,
                           MPI_Request *request, const char *name)
{
    const struct call call = { .kind = ALLGATHER,
                               .varies = true,
                               .from = one_block(from, from_count, from_type),
                               .to = many_blocks(to, to_counts, places, to_type, NULL) };

    return collective_call(name, comm, &call, request);
}

int PMPI_Allgatherv(const void *from, int from_count, MPI_Datatype from_type, void *to, const int to_counts[],
                    const int places[], MPI_Datatype to_type, MPI_Comm comm)
{
    return allgatherv_call(from, from_count, from_type, to, to_counts, places, to_type, comm, NULL,
                           "MPI_Allgatherv");
}
MPI_ALIAS(Allgatherv);

int PMPI_Iallgatherv(const void *from, int from_count, MPI_Datatype from_type, void *to,
                     const int to_counts[], const int places[], MPI_Datatype to_type, MPI_Comm comm,
                     MPI_Request *request)
{
    return allgatherv_call(from, from_count, from_type, to, to_counts, places, to_type, comm, request,
                           "MPI_Iallgatherv");
}
MPI_ALIAS(Iallgatherv);

static int alltoall_call(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                         MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = ALLTOALL,
                               .from = one_block(from, from_count, from_type),
                               .to = one_block(to, to_count, to_type) };

    return collective_call(name, comm, &call, request);
}

int PMPI_Alltoall(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                  MPI_Datatype to_type, MPI_Comm comm)
{
    return alltoall_call(from, from_count, from_type, to, to_count, to_type, comm, NULL, "MPI_Alltoall");
}
MPI_ALIAS(Alltoall);

int PMPI_Ialltoall(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                   MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request)
{
    return alltoall_call(from, from_count, from_type, to, to_count, to_type, comm, request, "MPI_Ialltoall");
}
MPI_ALIAS(Ialltoall);

static int alltoallv_call(const void *from, const int from_counts[], const int from_places[],
                          MPI_Datatype from_type, void *to, const int to_counts[], const int to_places[],
                          MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = ALLTOALL,
                               .varies = true,
                               .from = many_blocks(from, from_counts, from_places, from_type, NULL),
                               .to = many_blocks(to, to_counts, to_places, to_type, NULL) };

    return collective_call(name, comm, &call, request);
}

int PMPI_Alltoallv(const void *from, const int from_counts[], const int from_places[], MPI_Datatype from_type,
                   void *to, const int to_counts[], const int to_places[], MPI_Datatype to_type,
                   MPI_Comm comm)
{
    return alltoallv_call(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, comm,
                          NULL, "MPI_Alltoallv");
}
MPI_ALIAS(Alltoallv);

int PMPI_Ialltoallv(const void *from, const int from_counts[], const int from_places[],
                    MPI_Datatype from_type, void *to, const int to_counts[], const int to_places[],
                    MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request)
{
    return alltoallv_call(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, comm,
                          request, "MPI_Ialltoallv");
}
MPI_ALIAS(Ialltoallv);

static int alltoallw_call(const void *from, const int from_counts[], const int from_places[],
                          const MPI_Datatype from_types[], void *to, const int to_counts[],
                          const int to_places[], const MPI_Datatype to_types[], MPI_Comm comm,
                          MPI_Request *request, const char *name)
{
    const struct call call = { .kind = ALLTOALL,
                               .varies = true,
                               .from = many_blocks(from, from_counts, from_places, NULL, from_types),
                               .to = many_blocks(to, to_counts, to_places, NULL, to_types) };

    return collective_call(name, comm, &call, request);
}

int PMPI_Alltoallw(const void *from, const int from_counts[], const int from_places[],
                   const MPI_Datatype from_types[], void *to, const int to_counts[], const int to_places[],
                   const MPI_Datatype to_types[], MPI_Comm comm)
{
    return alltoallw_call(from, from_counts, from_places, from_types, to, to_counts, to_places, to_types,
                          comm, NULL, "MPI_Alltoallw");
}
MPI_ALIAS(Alltoallw);

int PMPI_Ialltoallw(const void *from, const int from_counts[], const int from_places[],
                    const MPI_Datatype from_types[], void *to, const int to_counts[], const int to_places[],
                    const MPI_Datatype to_types[], MPI_Comm comm, MPI_Request *request)
{
    return alltoallw_call(from, from_counts, from_places, from_types, to, to_counts, to_places, to_types,
                          comm, request, "MPI_Ialltoallw");
}
MPI_ALIAS(Ialltoallw);

static int reduce_scatter_call(const void *from, void *to, const int counts[], MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = { .kind = REDUCE_SCATTER,
                               .varies = true,
                               .from = one_block(from, 0, type),
                               .to = many_blocks(to, counts, NULL, type, NULL),
                               .op = op };

    return collective_call(name, comm, &call, request);
}

int PMPI_Reduce_scatter(const void *from, void *to, const int counts[], MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm)
{
    return reduce_scatter_call(from, to, counts, type, op, comm, NULL, "MPI_Reduce_scatter");
}
MPI_ALIAS(Reduce_scatter);

int PMPI_Ireduce_scatter(const void *from, void *to, const int counts[], MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, MPI_Request *request)
{
    return reduce_scatter_call(from, to, counts, type, op, comm, request, "MPI_Ireduce_scatter");
}
MPI_ALIAS(Ireduce_scatter);

static int reduce_scatter_block_call(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                                     MPI_Comm comm, MPI_Request *request, const char *name)
{
    const struct call call = {
        .kind = REDUCE_SCATTER, .from = one_block(from, 0, type), .to = one_block(to, count, type), .op = op
    };

    return collective_call(name, comm, &call, request);
}

int PMPI_Reduce_scatter_block(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm)
{
    return reduce_scatter_block_call(from, to, count, type, op, comm, NULL, "MPI_Reduce_scatter_block");
}
MPI_ALIAS(Reduce_scatter_block);

int PMPI_Ireduce_scatter_block(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm, MPI_Request *request)
{
    return reduce_scatter_block_call(from, to, count, type, op, comm, request, "MPI_Ireduce_scatter_block");
}
MPI_ALIAS(Ireduce_scatter_block);
