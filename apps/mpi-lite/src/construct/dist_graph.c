/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dist_graph.c: distributed graphs, of which a process holds only its own edges.
 *
 * Each process of MPI_Dist_graph_create names edges of any nodes. Both ends of an edge receive it, by one
 * exchange of counts and one of edges, so that the work of a process grows with the number of ranks and of
 * edges that it names or has, not with the number of all edges. Edges are in the order of the ranks that
 * named them, then in the order in which a rank named them. Runs under the library's lock.
 *
 * Source: MPI 3.1 §7.5.4, §7.5.5.
 */
#include "construct/construct.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checks ---- */

static int check_intra(const struct mpi_comm *comm)
{
    int error = check_comm(comm);

    if (!error && comm->inter)
        error = mpi_error(MPI_ERR_COMM, "argument comm: it is an intercommunicator");
    return error;
}

static int check_ranks(const char *argument, int count, const int *ranks, const struct mpi_comm *comm)
{
    if (count && !ranks)
        return mpi_error(MPI_ERR_ARG, "argument %s: NULL, of %d", argument, count);
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return mpi_error(MPI_ERR_RANK, "argument %s: element %d, %d, is no rank of a communicator of %d",
                             argument, i, ranks[i], comm->size);
    return MPI_SUCCESS;
}

static int check_weights(const char *argument, int count, const int *weights)
{
    if (weights == MPI_UNWEIGHTED || count == 0)
        return MPI_SUCCESS;
    if (!weights || weights == MPI_WEIGHTS_EMPTY)
        return mpi_error(MPI_ERR_ARG, "argument %s: %s, of %d", argument,
                         weights ? "MPI_WEIGHTS_EMPTY" : "NULL", count);
    for (int i = 0; i < count; i++)
        if (weights[i] < 0)
            return mpi_error(MPI_ERR_ARG, "argument %s: element %d, %d, is negative", argument, i,
                             weights[i]);
    return MPI_SUCCESS;
}

static int check_degree(const char *argument, int value)
{
    return value < 0 ? mpi_error(MPI_ERR_ARG, "argument %s: %d is negative", argument, value) : MPI_SUCCESS;
}

/* ---- Its own neighbours ---- */

static void numbers_take(int *to, const int *from, int count)
{
    if (count)
        memcpy(to, from, (size_t)count * sizeof(int));
}

/* One side's edges, as the program gave them. */
struct edges {
    const char *degree_name, *ranks_name, *weights_name;
    int count;
    const int *ranks, *weights;
};

static int check_edges(const struct edges *edges, const struct mpi_comm *comm)
{
    int error = check_degree(edges->degree_name, edges->count);

    if (!error)
        error = check_ranks(edges->ranks_name, edges->count, edges->ranks, comm);
    return error ? error : check_weights(edges->weights_name, edges->count, edges->weights);
}

static int adjacent_make(struct mpi_comm *comm, const struct edges *in, const struct edges *out,
                         struct mpi_comm **made)
{
    int error = comm_first_ranks(comm, comm->size, made);
    struct mpi_topology *graph = error ? NULL : topology_make(MPI_DIST_GRAPH, in->count, out->count);

    if (error)
        return error;
    (*made)->topology = graph;
    if (!graph)
        return mpi_out_of_memory();
    graph->weighted = in->weights != MPI_UNWEIGHTED;
    numbers_take(graph->sources, in->ranks, in->count);
    numbers_take(graph->destinations, out->ranks, out->count);
    if (graph->weighted) {
        numbers_take(graph->source_weights, in->weights, in->count);
        numbers_take(graph->destination_weights, out->weights, out->count);
    }
    return MPI_SUCCESS;
}

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm, int in_count, const int sources[],
                                    const int source_weights[], int out_count, const int destinations[],
                                    const int destination_weights[], MPI_Info info, int reorder,
                                    MPI_Comm *made)
{
    const struct edges in = { "indegree", "sources", "sourceweights", in_count, sources, source_weights };
    const struct edges out = { "outdegree", "destinations", "destweights",
                               out_count,   destinations,   destination_weights };

    (void)info;
    (void)reorder;
    mpi_enter();
    int error = check_intra(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_output(made, "comm_dist_graph");
    if (!error)
        error = check_edges(&in, comm);
    if (!error)
        error = check_edges(&out, comm);
    if (!error && (source_weights == MPI_UNWEIGHTED) != (destination_weights == MPI_UNWEIGHTED))
        error = mpi_error(MPI_ERR_ARG, "arguments sourceweights, destweights: one is MPI_UNWEIGHTED");
    if (!error)
        error = adjacent_make(comm, &in, &out, made);
    return mpi_leave_with(heard, "MPI_Dist_graph_create_adjacent", error);
}
MPI_ALIAS(Dist_graph_create_adjacent);

/* ---- Any edges ---- */

/* What a process receives of one of its edges: 3 integers of a message. */
struct edge_end {
    int is_source; /* the other end is the source of the edge */
    int other, weight;
};

/* The exchange: counts and places of integers, to and from each rank; the edges sent and received. */
struct exchange {
    int *out_counts, *out_places, *in_counts, *in_places;
    struct edge_end *out, *in;
    int in_count; /* of edges */
};

/* Edges as MPI_Dist_graph_create takes them: `degrees[i]` of them begin at sources[i]. */
struct named {
    int count;
    const int *sources, *degrees, *destinations, *weights;
};

static void exchange_free(struct exchange *exchange)
{
    free(exchange->out_counts);
    free(exchange->out);
    free(exchange->in);
}

static int check_named(const struct named *named, const struct mpi_comm *comm)
{
    int64_t edges = 0;
    int error = check_degree("n", named->count);

    if (!error)
        error = check_ranks("sources", named->count, named->sources, comm);
    if (!error && named->count && !named->degrees)
        error = mpi_error(MPI_ERR_ARG, "argument degrees: NULL, of %d", named->count);
    for (int i = 0; !error && i < named->count; i++) {
        error = check_degree("degrees", named->degrees[i]);
        edges += named->degrees[i];
    }
    if (!error && edges > INT_MAX / 6)
        error = mpi_error(MPI_ERR_ARG, "argument degrees: %lld edges of one process; the maximum is %d",
                          (long long)edges, INT_MAX / 6);
    if (!error)
        error = check_ranks("destinations", (int)edges, named->destinations, comm);
    return error ? error : check_weights("weights", (int)edges, named->weights);
}

/* Computes places from counts; returns the sum of the counts. */
static int64_t places_find(const int *counts, int size, int *places)
{
    int64_t at = 0;

    for (int i = 0; i < size; i++) {
        places[i] = (int)at;
        at += counts[i];
    }
    return at;
}

static void edge_count(struct exchange *exchange, int source, int destination)
{
    exchange->out_counts[source] += 3;
    exchange->out_counts[destination] += 3;
}

/* Appends an edge for a rank; `next` is where the next edge for each rank goes, in integers. */
static void end_send(struct exchange *exchange, int *next, int rank, struct edge_end end)
{
    exchange->out[next[rank] / 3] = end;
    next[rank] += 3;
}

static void edges_exchange(struct exchange *exchange, const struct named *named, int *next)
{
    bool weighted = named->weights != MPI_UNWEIGHTED;

    for (int i = 0, edge = 0; i < named->count; i++)
        for (int last = edge + named->degrees[i]; edge < last; edge++) {
            int source = named->sources[i], destination = named->destinations[edge];
            int weight = weighted ? named->weights[edge] : 0;

            end_send(exchange, next, source, (struct edge_end){ 0, destination, weight });
            end_send(exchange, next, destination, (struct edge_end){ 1, source, weight });
        }
}

/* Exchanges edges, so that each process receives its own. The caller frees the exchange, even after an error.
 */
static int exchange_run(struct mpi_comm *comm, const struct named *named, struct exchange *exchange)
{
    size_t size = (size_t)comm->size;
    int *numbers = calloc(5 * size, sizeof(int)), *next = numbers + 4 * size;

    *exchange =
        (struct exchange){ numbers, numbers + size, numbers + 2 * size, numbers + 3 * size, NULL, NULL, 0 };
    if (!numbers)
        return mpi_out_of_memory();
    for (int i = 0, edge = 0; i < named->count; i++)
        for (int last = edge + named->degrees[i]; edge < last; edge++)
            edge_count(exchange, named->sources[i], named->destinations[edge]);
    int64_t out_count = places_find(exchange->out_counts, comm->size, exchange->out_places) / 3;
    exchange->out = malloc(((size_t)out_count + 1) * sizeof(struct edge_end));
    if (!exchange->out)
        return mpi_out_of_memory();
    memcpy(next, exchange->out_places, size * sizeof(int));
    edges_exchange(exchange, named, next);
    int error = PMPI_Alltoall(exchange->out_counts, 1, MPI_INT, exchange->in_counts, 1, MPI_INT, comm);
    if (error)
        return error;
    int64_t in_numbers = places_find(exchange->in_counts, comm->size, exchange->in_places);
    if (in_numbers > INT_MAX)
        return mpi_error(MPI_ERR_ARG, "argument destinations: rank %d has %lld edges; the maximum is %d",
                         comm->rank, (long long)in_numbers / 3, INT_MAX / 3);
    exchange->in_count = (int)(in_numbers / 3);
    exchange->in = malloc(((size_t)exchange->in_count + 1) * sizeof(struct edge_end));
    if (!exchange->in)
        return mpi_out_of_memory();
    return PMPI_Alltoallv(exchange->out, exchange->out_counts, exchange->out_places, MPI_INT, exchange->in,
                          exchange->in_counts, exchange->in_places, MPI_INT, comm);
}

static int graph_attach(struct mpi_comm *comm, const struct exchange *exchange, bool weighted)
{
    int sources = 0, destinations = 0;

    for (int i = 0; i < exchange->in_count; i++)
        sources += exchange->in[i].is_source;
    struct mpi_topology *graph = topology_make(MPI_DIST_GRAPH, sources, exchange->in_count - sources);
    comm->topology = graph;
    if (!graph)
        return mpi_out_of_memory();
    graph->weighted = weighted;
    sources = 0;
    for (int i = 0; i < exchange->in_count; i++) {
        const struct edge_end *end = &exchange->in[i];

        if (end->is_source) {
            graph->sources[sources] = end->other;
            graph->source_weights[sources++] = end->weight;
        } else {
            graph->destinations[destinations] = end->other;
            graph->destination_weights[destinations++] = end->weight;
        }
    }
    return MPI_SUCCESS;
}

static int graph_make(struct mpi_comm *comm, const struct named *named, struct mpi_comm **made)
{
    struct exchange exchange;
    int error = exchange_run(comm, named, &exchange);

    if (!error)
        error = comm_first_ranks(comm, comm->size, made);
    if (!error)
        error = graph_attach(*made, &exchange, named->weights != MPI_UNWEIGHTED);
    exchange_free(&exchange);
    return error;
}

int PMPI_Dist_graph_create(MPI_Comm comm, int count, const int sources[], const int degrees[],
                           const int destinations[], const int weights[], MPI_Info info, int reorder,
                           MPI_Comm *made)
{
    const struct named named = { count, sources, degrees, destinations, weights };

    (void)info;
    (void)reorder;
    mpi_enter();
    int error = check_intra(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_output(made, "comm_dist_graph");
    if (!error)
        error = check_named(&named, comm);
    if (!error)
        error = graph_make(comm, &named, made);
    return mpi_leave_with(heard, "MPI_Dist_graph_create", error);
}
MPI_ALIAS(Dist_graph_create);

/* ---- What it is ---- */

static int Dist_graph_neighbors_count(MPI_Comm comm, int *in_count, int *out_count, int *weighted)
{
    *in_count = comm->topology->count;
    *out_count = comm->topology->edge_count;
    *weighted = comm->topology->weighted;
    return MPI_SUCCESS;
}
MPI_CALL(Dist_graph_neighbors_count);

/* Copies as many neighbours as there is room for. */
static void neighbours_give(const struct mpi_topology *graph, int room, int count, const int *ranks,
                            const int *weights, int *to, int *to_weights)
{
    int given = room < count ? room : count;

    numbers_take(to, ranks, given);
    if (graph->weighted && to_weights && to_weights != MPI_UNWEIGHTED && to_weights != MPI_WEIGHTS_EMPTY)
        numbers_take(to_weights, weights, given);
}

static int Dist_graph_neighbors(MPI_Comm comm, int in_room, int sources[], int source_weights[], int out_room,
                                int destinations[], int destination_weights[])
{
    int error = check_degree("maxindegree", in_room);
    if (error)
        return error;
    error = check_degree("maxoutdegree", out_room);
    if (error)
        return error;
    const struct mpi_topology *graph = comm->topology;

    neighbours_give(graph, in_room, graph->count, graph->sources, graph->source_weights, sources,
                    source_weights);
    neighbours_give(graph, out_room, graph->edge_count, graph->destinations, graph->destination_weights,
                    destinations, destination_weights);
    return MPI_SUCCESS;
}
MPI_CALL(Dist_graph_neighbors);
