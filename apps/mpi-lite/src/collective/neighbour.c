/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neighbour.c: the collectives among neighbours of a topology: a grid, a graph, or a distributed graph.
 *
 * A schedule of one round receives from all sources and sends to all destinations. Between two ranks, blocks
 * match in the order in which both name them. In a periodic grid of one or two ranks along a dimension, both
 * neighbours along it are the same rank: a block sent downwards arrives from above, so the receives of a
 * dimension are named in the reverse order. Neighbours past an edge (MPI_PROC_NULL) send and receive nothing;
 * their blocks stay as they are. Runs under the library's lock.
 *
 * Source: MPI 3.1 §7.6, §7.7.
 */
#include "collective/collective.h"
#include <stdlib.h>

/* The ranks that a rank receives from and sends to. */
struct neighbours {
    int from_count, to_count;
    const int *from, *to;
    bool is_grid; /* two per dimension, in memory owned by this structure */
    int *owned;
};

/* The send or receive buffer: one block for each neighbour, or the same one for all. */
struct part {
    const void *buffer;
    bool is_shared;
    int count;               /* of each block, without `counts` */
    const int *counts;       /* of each block, or NULL */
    const int *places;       /* where each begins, in extents; or NULL */
    const MPI_Aint *offsets; /* where each begins, in bytes; or NULL */
    struct mpi_datatype *type;
    const MPI_Datatype *types; /* of each block, or NULL */
};

static struct block part_block(const struct part *part, int i)
{
    struct mpi_datatype *type = part->types ? part->types[i] : part->type;
    int count = part->counts ? part->counts[i] : part->count;
    MPI_Aint place = part->is_shared ? 0
                     : part->offsets ? part->offsets[i]
                     : part->places  ? part->places[i] * type->extent
                                     : (MPI_Aint)i * count * type->extent;

    return block_of(place_at(part->buffer, place), (size_t)count, type);
}

/* ---- Checks ---- */

static int check_part(const char *name, const struct part *part, int blocks)
{
    int error = MPI_SUCCESS;

    if (part->buffer == MPI_IN_PLACE)
        return mpi_error(MPI_ERR_BUFFER, "argument %sbuf: MPI_IN_PLACE is not for neighbours", name);
    if (!part->counts)
        return check_elements(name, part->count, part->type);
    for (int i = 0; !error && i < blocks; i++)
        error = check_elements(name, part->counts[i], part->types ? part->types[i] : part->type);
    return error;
}

/* ---- Neighbours ---- */

static int grid_neighbours(const struct mpi_comm *comm, struct neighbours *neighbours)
{
    int count = comm->topology->count;

    neighbours->owned = malloc(((size_t)count * 2 + 1) * sizeof(int));
    if (!neighbours->owned)
        return mpi_out_of_memory();
    for (int i = 0; i < count; i++) {
        neighbours->owned[2 * i] = grid_rank_shifted(comm, i, -1);
        neighbours->owned[2 * i + 1] = grid_rank_shifted(comm, i, 1);
    }
    neighbours->from_count = neighbours->to_count = 2 * count;
    neighbours->from = neighbours->to = neighbours->owned;
    neighbours->is_grid = true;
    return MPI_SUCCESS;
}

static int neighbours_find(const struct mpi_comm *comm, struct neighbours *neighbours)
{
    const struct mpi_topology *topology = comm->topology;

    *neighbours = (struct neighbours){ 0 };
    if (!topology)
        return mpi_error(MPI_ERR_TOPOLOGY, "argument comm: it has no topology, and so no neighbours");
    if (topology->kind == MPI_CART)
        return grid_neighbours(comm, neighbours);
    if (topology->kind == MPI_DIST_GRAPH) {
        neighbours->from_count = topology->count;
        neighbours->from = topology->sources;
        neighbours->to_count = topology->edge_count;
        neighbours->to = topology->destinations;
        return MPI_SUCCESS;
    }
    int begin = comm->rank ? topology->index[comm->rank - 1] : 0;
    neighbours->from_count = neighbours->to_count = topology->index[comm->rank] - begin;
    neighbours->from = neighbours->to = topology->edges + begin;
    return MPI_SUCCESS;
}

/* ---- The call ---- */

static int exchange_start(struct mpi_comm *comm, const struct neighbours *neighbours, const struct part *from,
                          const struct part *to, struct mpi_request **request)
{
    const struct team team = { comm, NULL, comm->size, comm->rank };
    const struct call call = { .kind = ALLTOALL };
    struct call held;
    struct schedule *schedule = schedule_make(comm, &call, &held);

    for (int i = 0; i < neighbours->from_count; i++) {
        int at = neighbours->is_grid ? i ^ 1 : i;
        struct block block = part_block(to, at);

        if (neighbours->from[at] != MPI_PROC_NULL && block_bytes(block))
            schedule_receive(schedule, &team, neighbours->from[at], block);
    }
    for (int i = 0; i < neighbours->to_count; i++) {
        struct block block = part_block(from, i);

        if (neighbours->to[i] != MPI_PROC_NULL && block_bytes(block))
            schedule_send(schedule, &team, neighbours->to[i], block);
    }
    return request ? schedule_launch(schedule, request) : schedule_run(schedule);
}

/* Does a call; `request` NULL: it blocks. */
static int neighbour_call(const char *name, struct mpi_comm *comm, const struct part *from,
                          const struct part *to, struct mpi_request **request)
{
    struct neighbours neighbours = { 0 };

    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_request_of(name, request);
    if (!error)
        error = neighbours_find(comm, &neighbours);
    if (!error)
        error = check_part("send", from, neighbours.to_count);
    if (!error)
        error = check_part("recv", to, neighbours.from_count);
    if (!error)
        error = exchange_start(comm, &neighbours, from, to, request);
    free(neighbours.owned);
    return mpi_leave_with(heard, name, error);
}

static struct part equal_parts(const void *buffer, int count, MPI_Datatype type)
{
    return (struct part){ .buffer = buffer, .count = count, .type = type };
}

static struct part shared_part(const void *buffer, int count, MPI_Datatype type)
{
    return (struct part){ .buffer = buffer, .is_shared = true, .count = count, .type = type };
}

static struct part placed_parts(const void *buffer, const int *counts, const int *places, MPI_Datatype type)
{
    return (struct part){ .buffer = buffer, .counts = counts, .places = places, .type = type };
}

static struct part typed_parts(const void *buffer, const int *counts, const MPI_Aint *offsets,
                               const MPI_Datatype *types)
{
    return (struct part){ .buffer = buffer, .counts = counts, .offsets = offsets, .types = types };
}

/* ---- The calls ---- */

int PMPI_Neighbor_allgather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                            MPI_Datatype to_type, MPI_Comm comm)
{
    const struct part out = shared_part(from, from_count, from_type), in = equal_parts(to, to_count, to_type);

    return neighbour_call("MPI_Neighbor_allgather", comm, &out, &in, NULL);
}
MPI_ALIAS(Neighbor_allgather);

int PMPI_Ineighbor_allgather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                             MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request)
{
    const struct part out = shared_part(from, from_count, from_type), in = equal_parts(to, to_count, to_type);

    return neighbour_call("MPI_Ineighbor_allgather", comm, &out, &in, request);
}
MPI_ALIAS(Ineighbor_allgather);

int PMPI_Neighbor_allgatherv(const void *from, int from_count, MPI_Datatype from_type, void *to,
                             const int to_counts[], const int places[], MPI_Datatype to_type, MPI_Comm comm)
{
    const struct part out = shared_part(from, from_count, from_type),
                      in = placed_parts(to, to_counts, places, to_type);

    return neighbour_call("MPI_Neighbor_allgatherv", comm, &out, &in, NULL);
}
MPI_ALIAS(Neighbor_allgatherv);

int PMPI_Ineighbor_allgatherv(const void *from, int from_count, MPI_Datatype from_type, void *to,
                              const int to_counts[], const int places[], MPI_Datatype to_type, MPI_Comm comm,
                              MPI_Request *request)
{
    const struct part out = shared_part(from, from_count, from_type),
                      in = placed_parts(to, to_counts, places, to_type);

    return neighbour_call("MPI_Ineighbor_allgatherv", comm, &out, &in, request);
}
MPI_ALIAS(Ineighbor_allgatherv);

int PMPI_Neighbor_alltoall(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                           MPI_Datatype to_type, MPI_Comm comm)
{
    const struct part out = equal_parts(from, from_count, from_type), in = equal_parts(to, to_count, to_type);

    return neighbour_call("MPI_Neighbor_alltoall", comm, &out, &in, NULL);
}
MPI_ALIAS(Neighbor_alltoall);

int PMPI_Ineighbor_alltoall(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                            MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request)
{
    const struct part out = equal_parts(from, from_count, from_type), in = equal_parts(to, to_count, to_type);

    return neighbour_call("MPI_Ineighbor_alltoall", comm, &out, &in, request);
}
MPI_ALIAS(Ineighbor_alltoall);

int PMPI_Neighbor_alltoallv(const void *from, const int from_counts[], const int from_places[],
                            MPI_Datatype from_type, void *to, const int to_counts[], const int to_places[],
                            MPI_Datatype to_type, MPI_Comm comm)
{
    const struct part out = placed_parts(from, from_counts, from_places, from_type),
                      in = placed_parts(to, to_counts, to_places, to_type);

    return neighbour_call("MPI_Neighbor_alltoallv", comm, &out, &in, NULL);
}
MPI_ALIAS(Neighbor_alltoallv);

int PMPI_Ineighbor_alltoallv(const void *from, const int from_counts[], const int from_places[],
                             MPI_Datatype from_type, void *to, const int to_counts[], const int to_places[],
                             MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request)
{
    const struct part out = placed_parts(from, from_counts, from_places, from_type),
                      in = placed_parts(to, to_counts, to_places, to_type);

    return neighbour_call("MPI_Ineighbor_alltoallv", comm, &out, &in, request);
}
MPI_ALIAS(Ineighbor_alltoallv);

int PMPI_Neighbor_alltoallw(const void *from, const int from_counts[], const MPI_Aint from_offsets[],
                            const MPI_Datatype from_types[], void *to, const int to_counts[],
                            const MPI_Aint to_offsets[], const MPI_Datatype to_types[], MPI_Comm comm)
{
    const struct part out = typed_parts(from, from_counts, from_offsets, from_types),
                      in = typed_parts(to, to_counts, to_offsets, to_types);

    return neighbour_call("MPI_Neighbor_alltoallw", comm, &out, &in, NULL);
}
MPI_ALIAS(Neighbor_alltoallw);

int PMPI_Ineighbor_alltoallw(const void *from, const int from_counts[], const MPI_Aint from_offsets[],
                             const MPI_Datatype from_types[], void *to, const int to_counts[],
                             const MPI_Aint to_offsets[], const MPI_Datatype to_types[], MPI_Comm comm,
                             MPI_Request *request)
{
    const struct part out = typed_parts(from, from_counts, from_offsets, from_types),
                      in = typed_parts(to, to_counts, to_offsets, to_types);

    return neighbour_call("MPI_Ineighbor_alltoallw", comm, &out, &in, request);
}
MPI_ALIAS(Ineighbor_alltoallw);
