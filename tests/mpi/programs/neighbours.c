/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neighbours.c: collectives among the neighbours of grids, graphs and distributed graphs, blocking and not;
 * distributed graphs, with weights and without. [MPI 3.1 chapter 7]
 */
#include "check.h"

#define LONG  5000
#define EDGES 512

static int waits; /* tests the blocking calls */

#define CALL(name, ...)                                   \
    do {                                                  \
        MPI_Request request_;                             \
        if (waits) {                                      \
            MPI_Neighbor_##name(__VA_ARGS__);             \
        } else {                                          \
            MPI_Ineighbor_##name(__VA_ARGS__, &request_); \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);       \
        }                                                 \
    } while (0)

/* A communicator's neighbours, and for each source the index of the block that it sends here. */
struct hood {
    MPI_Comm comm;
    int one_way; /* some rank has different numbers of sources and destinations */
    int ins, outs, from[EDGES], to[EDGES], block[EDGES];
};

/* Tells whether the library is Debian's MPICH 4.0 or Open MPI 4.1, which differ from the standard in the
 * cases that call this. */
static int is_theirs(void)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(name, &length);
    return strstr(name, "MPICH") || strstr(name, "Open MPI");
}

static int value(int of, int block, int i)
{
    return 1000000 * of + 10000 * block + i % 9973;
}

/* Makes `blocks` blocks of `count` numbers, with room for `step` numbers each. */
static int *blocks_make(int blocks, int count, int step, int filled)
{
    int *made = malloc(((size_t)blocks * (size_t)step + 1) * sizeof(int));

    for (int i = 0; i < blocks * step; i++)
        made[i] = filled && i % step < count ? value(rank, i / step, i % step) : -1;
    return made;
}

static void gathered(const struct hood *hood, int count)
{
    int *out = blocks_make(1, count, count, 1), *in = blocks_make(hood->ins, count, count, 0);
    int counts[EDGES], places[EDGES];

    CALL(allgather, out, count, MPI_INT, in, count, MPI_INT, hood->comm);
    for (int i = 0; i < hood->ins * count; i++)
        CHECK_EQUAL(in[i], hood->from[i / count] < 0 ? -1 : value(hood->from[i / count], 0, i % count));
    free(in);
    in = blocks_make(hood->ins, count, count, 0);
    for (int i = 0; i < hood->ins; i++) { /* from the last block on; rank r sends r numbers fewer */
        counts[i] = hood->from[i] < 0 ? 1 : count > hood->from[i] ? count - hood->from[i] : 0;
        places[i] = (hood->ins - 1 - i) * count;
    }
    CALL(allgatherv, out, count > rank ? count - rank : 0, MPI_INT, in, counts, places, MPI_INT, hood->comm);
    for (int i = 0; i < hood->ins * count; i++) {
        int at = hood->ins - 1 - i / count, is_there = hood->from[at] >= 0 && i % count < counts[at];

        CHECK_EQUAL(in[i], is_there ? value(hood->from[at], 0, i % count) : -1);
    }
    free(in);
    free(out);
}

static void check_exchange(const struct hood *hood, int count, int step, const int *in)
{
    for (int i = 0; i < hood->ins * step; i++) {
        int at = i / step, is_there = hood->from[at] >= 0 && i % step < count;

        CHECK_EQUAL(in[i], is_there ? value(hood->from[at], hood->block[at], i % step) : -1);
    }
}

static void exchanged(const struct hood *hood, int count)
{
    int step = count + 3, counts[EDGES], places[EDGES];
    MPI_Aint offsets[EDGES];
    MPI_Datatype types[EDGES], every;
    int *out = blocks_make(hood->outs, count, count, 1), *in = blocks_make(hood->ins, count, count, 0);

    CALL(alltoall, out, count, MPI_INT, in, count, MPI_INT, hood->comm);
    check_exchange(hood, count, count, in);
    free(out);
    free(in);
    MPI_Type_contiguous(count, MPI_INT, &every);
    MPI_Type_commit(&every);
    out = blocks_make(hood->outs, count, step, 1);
    for (int form = 0; form < 2; form++) {
        if (form && is_theirs() && hood->one_way)
            continue; /* MPICH 4.0 sends nothing then */
        in = blocks_make(hood->ins, count, step, 0);
        for (int i = 0; i < EDGES; i++) {
            counts[i] = form ? 1 : count;
            places[i] = i * step;
            offsets[i] = (MPI_Aint)places[i] * (MPI_Aint)sizeof(int);
            types[i] = every;
        }
        if (form)
            CALL(alltoallw, out, counts, offsets, types, in, counts, offsets, types, hood->comm);
        else
            CALL(alltoallv, out, counts, places, MPI_INT, in, counts, places, MPI_INT, hood->comm);
        check_exchange(hood, count, step, in);
        free(in);
    }
    free(out);
    MPI_Type_free(&every);
}

static void collectives(const struct hood *hood)
{
    for (waits = 0; waits < 2; waits++) {
        gathered(hood, 1);
        gathered(hood, LONG);
        exchanged(hood, 1);
        exchanged(hood, LONG);
    }
}

/* ---- Grids ---- */

static void grid(int dimensions, int periodic)
{
    int sides[3] = { 0 }, periods[3] = { 0 };
    struct hood hood = { .ins = 2 * dimensions, .outs = 2 * dimensions };

    MPI_Dims_create(size, dimensions, sides);
    /* In a periodic dimension of one or two ranks both neighbours are the same rank. MPI 4.0 defines which
     * block goes where, as an erratum to 3.1 (Annex B.1.1). */
    for (int i = 0; i < dimensions; i++)
        periods[i] = periodic && i != 1 && (sides[i] > 2 || !is_theirs());
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, periods, 0, &hood.comm);
    for (int i = 0; i < dimensions; i++) {
        MPI_Cart_shift(hood.comm, i, 1, &hood.from[2 * i], &hood.from[2 * i + 1]);
        hood.to[2 * i] = hood.from[2 * i];
        hood.to[2 * i + 1] = hood.from[2 * i + 1];
        hood.block[2 * i] = 2 * i + 1; /* the neighbour below has sent it upwards */
        hood.block[2 * i + 1] = 2 * i;
    }
    collectives(&hood);
    MPI_Comm_free(&hood.comm);
}

static void grids(void)
{
    for (int dimensions = 1; dimensions <= 3; dimensions++)
        for (int periodic = 0; periodic < 2; periodic++)
            grid(dimensions, periodic);
    passed("grids");
}

/* ---- Graphs ---- */

/* Tests a star: rank 0 is a neighbour of every rank, including itself. */
static void star(void)
{
    int ends[64], edges[128];
    struct hood hood = { .ins = rank ? 1 : size, .outs = rank ? 1 : size };

    for (int i = 0; i < size; i++) {
        ends[i] = size + i;
        edges[i] = i;
        edges[size + i] = 0;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &hood.comm);
    for (int i = 0; i < hood.ins; i++) {
        hood.from[i] = hood.to[i] = rank ? 0 : i;
        hood.block[i] = rank;
    }
    collectives(&hood);
    MPI_Comm_free(&hood.comm);
    passed("graph");
}

/* Makes a graph in which rank r sends to r + 1, r + 2 and r + 1 again. */
static void ring_find(struct hood *hood)
{
    hood->one_way = 0;
    hood->ins = hood->outs = 3;
    for (int i = 0; i < 3; i++) {
        int distance = i == 1 ? 2 : 1;

        hood->to[i] = (rank + distance) % size;
        hood->from[i] = (rank + 2 * size - distance) % size;
        hood->block[i] = i;
    }
}

static void check_neighbours(const struct hood *hood, int expected_weight)
{
    int ins = -1, outs = -1, weighted = -1, kind = -1;
    int from[4] = { -1, -1, -1, -1 }, to[4] = { -1, -1, -1, -1 };
    int in_weights[4] = { -1, -1, -1, -1 }, out_weights[4] = { -1, -1, -1, -1 };

    MPI_Topo_test(hood->comm, &kind);
    CHECK_EQUAL(kind, MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(hood->comm, &ins, &outs, &weighted);
    CHECK(ins == 3 && outs == 3 && !weighted == !expected_weight);
    MPI_Dist_graph_neighbors(hood->comm, 3, from, expected_weight ? in_weights : MPI_UNWEIGHTED, 3, to,
                             expected_weight ? out_weights : MPI_UNWEIGHTED);
    for (int i = 0; i < 3; i++) {
        CHECK(from[i] == hood->from[i] && to[i] == hood->to[i]);
        CHECK_EQUAL(in_weights[i], expected_weight ? 100 * hood->from[i] + i : -1);
        CHECK_EQUAL(out_weights[i], expected_weight ? 100 * rank + i : -1);
    }
    CHECK(from[3] == -1 && to[3] == -1);
    if (is_theirs())
        return;
    from[1] = to[1] = -1; /* room for one neighbour: the first */
    MPI_Dist_graph_neighbors(hood->comm, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED);
    CHECK(from[0] == hood->from[0] && to[0] == hood->to[0] && from[1] == -1 && to[1] == -1);
}

static void adjacent(void)
{
    int in_weights[3], out_weights[3];
    struct hood hood, copy;

    ring_find(&hood);
    for (int i = 0; i < 3; i++) {
        in_weights[i] = 100 * hood.from[i] + i;
        out_weights[i] = 100 * rank + i;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, hood.from, in_weights, 3, hood.to, out_weights,
                                   MPI_INFO_NULL, 0, &hood.comm);
    check_neighbours(&hood, 1);
    if (!is_theirs()) /* of two edges between the same ranks, the first edge's block comes first [§8.6 of 4.1]
                       */
        collectives(&hood);
    copy = hood;
    MPI_Comm_dup(hood.comm, &copy.comm);
    MPI_Comm_free(&hood.comm);
    check_neighbours(&copy, 1);
    if (!is_theirs())
        collectives(&copy);
    MPI_Comm_free(&copy.comm);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, hood.from, MPI_UNWEIGHTED, 3, hood.to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 1, &hood.comm);
    check_neighbours(&hood, 0);
    MPI_Comm_free(&hood.comm);

    /* Rank 0 sends to all and receives from none. */
    hood.one_way = 1;
    hood.ins = rank != 0;
    hood.outs = rank ? 0 : size - 1;
    hood.from[0] = 0;
    hood.block[0] = rank - 1;
    for (int i = 1; i < size; i++)
        hood.to[i - 1] = i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, hood.ins, hood.from,
                                   hood.ins ? in_weights : MPI_WEIGHTS_EMPTY, hood.outs, hood.to,
                                   hood.outs ? hood.to : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &hood.comm);
    collectives(&hood);
    MPI_Comm_free(&hood.comm);
    passed("own neighbours");
}

static int ascending(const void *one, const void *two)
{
    return *(const int *)one - *(const int *)two;
}

/* Tests a graph in which rank r names the edges from r + 1 to all other ranks: every rank has all others as
 * neighbours, in an order that the library chooses. */
static void named(int weighted)
{
    int source = (rank + 1) % size, degree = size, destinations[64], weights[64], found = -1;
    int ins = -1, outs = -1, from[64], to[64], in_weights[64], out_weights[64];
    struct hood hood;

    for (int i = 0; i < size; i++) {
        destinations[i] = (source + i) % size;
        weights[i] = 100 * source + destinations[i];
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, destinations,
                          weighted ? weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &hood.comm);
    MPI_Dist_graph_neighbors_count(hood.comm, &ins, &outs, &found);
    CHECK(ins == size && outs == size && !found == !weighted);
    MPI_Dist_graph_neighbors(hood.comm, ins, from, weighted ? in_weights : MPI_UNWEIGHTED, outs, to,
                             weighted ? out_weights : MPI_UNWEIGHTED);
    for (int i = 0; weighted && i < size; i++)
        CHECK(in_weights[i] == 100 * from[i] + rank && out_weights[i] == 100 * rank + to[i]);
    hood.one_way = 0;
    hood.ins = hood.outs = size;
    memcpy(hood.from, from, sizeof(from));
    /* The index of a source's block is this rank's place in the source's order, which it sends. */
    int orders[64 * 64];
    MPI_Allgather(to, size, MPI_INT, orders, size, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            if (orders[from[i] * size + j] == rank)
                hood.block[i] = j;
    collectives(&hood);
    qsort(from, (size_t)size, sizeof(int), ascending);
    qsort(to, (size_t)size, sizeof(int), ascending);
    for (int i = 0; i < size; i++)
        CHECK(from[i] == i && to[i] == i);
    MPI_Comm_free(&hood.comm);

    /* Rank 0 names a chain; the others name nothing. */
    int nodes = rank ? 0 : size - 1, sources[64], degrees[64];
    for (int i = 0; i < size; i++) {
        sources[i] = i;
        degrees[i] = 1;
        destinations[i] = i + 1;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, nodes, sources, degrees, destinations,
                          !weighted ? MPI_UNWEIGHTED
                          : nodes   ? weights
                                    : MPI_WEIGHTS_EMPTY,
                          MPI_INFO_NULL, 0, &hood.comm);
    hood.one_way = 1;
    hood.ins = rank > 0;
    hood.outs = rank < size - 1;
    hood.from[0] = rank - 1;
    hood.block[0] = 0;
    MPI_Dist_graph_neighbors_count(hood.comm, &ins, &outs, &found);
    CHECK(ins == hood.ins && outs == hood.outs);
    collectives(&hood);
    MPI_Comm_free(&hood.comm);
}

static void any_edges(void)
{
    named(0);
    named(1);
    passed("edges that others name");
}

/* ---- Refusals ---- */

static int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

static void refusals(void)
{
    int out[64] = { 0 }, in[64] = { 0 }, negative = -1;
    MPI_Comm world, made;

    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    CHECK_EQUAL(class_of(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, world)), MPI_ERR_TOPOLOGY);
    CHECK_EQUAL(class_of(MPI_Dist_graph_neighbors_count(world, in, in, in)), MPI_ERR_TOPOLOGY);
    CHECK_EQUAL(class_of(MPI_Dist_graph_create_adjacent(world, -1, out, MPI_UNWEIGHTED, 0, out,
                                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made)),
                MPI_ERR_ARG);
    if (!is_theirs()) /* MPICH 4.0 accepts it */
        CHECK_EQUAL(class_of(MPI_Dist_graph_create(world, 1, out, &negative, out, MPI_UNWEIGHTED,
                                                   MPI_INFO_NULL, 0, &made)),
                    MPI_ERR_ARG);
    MPI_Comm_free(&world);
    passed("refusals");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    grids();
    star();
    adjacent();
    any_edges();
    refusals();
    MPI_Finalize();
    return 0;
}
