/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * graph.c: communicators with a graph, and MPI_Topo_test. Grids are in cart.c, distributed graphs in
 * dist_graph.c. Runs under the library's lock.
 *
 * Source: MPI 3.1 §7.5.3, §7.5.5, §7.5.8.
 */
#include "construct/construct.h"
#include <string.h>

static int Topo_test(MPI_Comm comm, int *status)
{
    *status = comm->topology ? comm->topology->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_CALL(Topo_test);

/* ---- Graphs ---- */

static int check_graph(const struct mpi_comm *comm, int nodes, const int *index, const int *edges)
{
    if (comm->inter)
        return mpi_error(MPI_ERR_COMM, "argument comm: it is an intercommunicator");
    if (nodes < 0 || nodes > comm->size)
        return mpi_error(MPI_ERR_ARG, "argument nnodes: %d, of a communicator of %d", nodes, comm->size);
    for (int i = 0; i < nodes; i++)
        if (index[i] < (i ? index[i - 1] : 0))
            return mpi_error(MPI_ERR_ARG, "argument index: element %d, %d, is less than the one before", i,
                             index[i]);
    for (int i = 0; nodes && i < index[nodes - 1]; i++)
        if (edges[i] < 0 || edges[i] >= nodes)
            return mpi_error(MPI_ERR_ARG, "argument edges: element %d, %d, is no node of %d", i, edges[i],
                             nodes);
    return MPI_SUCCESS;
}

static int graph_attach(struct mpi_comm *comm, int nodes, const int *index, const int *edges)
{
    int edge_count = index[nodes - 1];

    comm->topology = topology_make(MPI_GRAPH, nodes, edge_count);
    if (!comm->topology)
        return mpi_out_of_memory();
    memcpy(comm->topology->index, index, (size_t)nodes * sizeof(int));
    if (edge_count)
        memcpy(comm->topology->edges, edges, (size_t)edge_count * sizeof(int));
    return MPI_SUCCESS;
}

static int Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                        MPI_Comm *made)
{
    (void)reorder;
    int error = check_graph(comm, nodes, index, edges);
    if (error)
        return error;
    error = comm_first_ranks(comm, nodes, made);
    if (error)
        return error;
    if (*made)
        return graph_attach(*made, nodes, index, edges);
    return MPI_SUCCESS;
}
MPI_CALL(Graph_create);

static int Graph_map(MPI_Comm comm, int nodes, const int index[], const int edges[], int *rank)
{
    int error = check_graph(comm, nodes, index, edges);
    if (error)
        return error;
    *rank = comm->rank < nodes ? comm->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_CALL(Graph_map);

static int Graphdims_get(MPI_Comm comm, int *nodes, int *edges)
{
    *nodes = comm->topology->count;
    *edges = comm->topology->edge_count;
    return MPI_SUCCESS;
}
MPI_CALL(Graphdims_get);

static int check_room(const char *argument, int room, int count)
{
    if (room < count)
        return mpi_error(MPI_ERR_ARG, "argument %s: %d, of %d", argument, room, count);
    return MPI_SUCCESS;
}

static int Graph_get(MPI_Comm comm, int max_index, int max_edges, int index[], int edges[])
{
    int error = check_room("maxindex", max_index, comm->topology->count);
    if (error)
        return error;
    error = check_room("maxedges", max_edges, comm->topology->edge_count);
    if (error)
        return error;
    memcpy(index, comm->topology->index, (size_t)comm->topology->count * sizeof(int));
    if (comm->topology->edge_count)
        memcpy(edges, comm->topology->edges, (size_t)comm->topology->edge_count * sizeof(int));
    return MPI_SUCCESS;
}
MPI_CALL(Graph_get);

/* Finds the neighbours of a rank. */
static int neighbours_of(const struct mpi_comm *comm, int rank, const int **neighbours, int *count)
{
    int error = check_topology(comm, MPI_GRAPH);

    if (!error && (rank < 0 || rank >= comm->size))
        error =
            mpi_error(MPI_ERR_RANK, "argument rank: %d is no rank of a communicator of %d", rank, comm->size);
    if (error)
        return error;
    int begin = rank ? comm->topology->index[rank - 1] : 0;
    *neighbours = comm->topology->edges + begin;
    *count = comm->topology->index[rank] - begin;
    return MPI_SUCCESS;
}

static int Graph_neighbors_count(MPI_Comm comm, int rank, int *count)
{
    const int *neighbours;

    return neighbours_of(comm, rank, &neighbours, count);
}
MPI_CALL(Graph_neighbors_count);

static int Graph_neighbors(MPI_Comm comm, int rank, int room, int to[])
{
    const int *neighbours;
    int count = 0, error = neighbours_of(comm, rank, &neighbours, &count);

    if (!error)
        error = check_room("maxneighbors", room, count);
    if (!error && count)
        memcpy(to, neighbours, (size_t)count * sizeof(int));
    return error;
}
MPI_CALL(Graph_neighbors);
