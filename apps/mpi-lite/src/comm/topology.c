/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topology.c: the topology that a communicator may have: a grid, a graph, or this rank's edges of a
 * distributed graph. construct/ has the calls that make and read them.
 *
 * Ranks are never reordered: a rank of the new communicator is the same rank of the old one. Every process
 * holds the whole topology, but of a distributed graph only its own edges. Runs under the library's lock.
 *
 * Source: MPI 3.1 §7.5.
 */
#include "comm/comm.h"
#include <stdlib.h>
#include <string.h>

int mpi_lite_unweighted[1], mpi_lite_weights_empty[1];

static size_t numbers_of(int kind, int count, int edge_count)
{
    if (kind == MPI_CART)
        return 2 * (size_t)count;
    return ((size_t)count + (size_t)edge_count) * (kind == MPI_DIST_GRAPH ? 2 : 1);
}

struct mpi_topology *topology_make(int kind, int count, int edge_count)
{
    struct mpi_topology *topology =
        calloc(1, sizeof(*topology) + numbers_of(kind, count, edge_count) * sizeof(int));

    if (!topology)
        return NULL;
    *topology = (struct mpi_topology){ .kind = kind, .count = count, .edge_count = edge_count };
    topology->dims = topology->index = topology->sources = (int *)(topology + 1);
    topology->periods = topology->edges = topology->destinations = topology->dims + count;
    topology->source_weights = topology->destinations + edge_count;
    topology->destination_weights = topology->source_weights + count;
    return topology;
}

struct mpi_topology *topology_copy(const struct mpi_topology *from)
{
    struct mpi_topology *copy = topology_make(from->kind, from->count, from->edge_count);

    if (copy) {
        copy->weighted = from->weighted;
        memcpy(copy->dims, from->dims, numbers_of(from->kind, from->count, from->edge_count) * sizeof(int));
    }
    return copy;
}

void topology_free(struct mpi_topology *topology)
{
    free(topology);
}

static const char *kind_name(int kind)
{
    switch (kind) {
    case MPI_CART:
        return "Cartesian";
    case MPI_GRAPH:
        return "graph";
    default:
        return "distributed graph";
    }
}

int check_topology(const struct mpi_comm *comm, int kind)
{
    if (!comm->topology || comm->topology->kind != kind)
        return mpi_error(MPI_ERR_TOPOLOGY, "argument comm: it has no %s topology", kind_name(kind));
    return MPI_SUCCESS;
}

/* ---- Grids ---- */

/* Returns the stride of dimension i: coordinate i of a rank is (rank / stride) % dims[i], and the stride is
 * the product of the dimensions after i. */
static int grid_stride(const struct mpi_topology *grid, int i)
{
    int stride = 1;

    while (++i < grid->count)
        stride *= grid->dims[i];
    return stride;
}

int grid_coordinate(const struct mpi_topology *grid, int rank, int i)
{
    return rank / grid_stride(grid, i) % grid->dims[i];
}

int grid_rank_shifted(const struct mpi_comm *comm, int i, int64_t by)
{
    const struct mpi_topology *grid = comm->topology;
    int64_t at = grid_coordinate(grid, comm->rank, i), to = at + by, size = grid->dims[i];

    if ((to < 0 || to >= size) && !grid->periods[i])
        return MPI_PROC_NULL;
    to = (to % size + size) % size;
    return comm->rank + (int)(to - at) * grid_stride(grid, i);
}
