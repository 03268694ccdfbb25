/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topology.c: Cartesian grids, with their neighbours and parts, and graphs. [MPI 3.1 chapter 7]
 */
#include "check.h"

static void dimensions(void)
{
    for (int ranks = 1; ranks <= 64; ranks++)
        for (int count = 1; count <= 3; count++) {
            int sides[3] = { 0, 0, 0 }, product = 1;

            MPI_Dims_create(ranks, count, sides);
            for (int i = 0; i < count; i++) {
                product *= sides[i];
                CHECK(i == 0 || sides[i] <= sides[i - 1]);
            }
            CHECK_EQUAL(product, ranks);
        }
    int sides[3] = { 0, 3, 0 };
    MPI_Dims_create(12, 3, sides);
    CHECK(sides[0] == 2 && sides[1] == 3 && sides[2] == 2);
    passed("dimensions");
}

static void grid(void)
{
    int sides[2] = { 0, 0 }, periods[2] = { 1, 0 }, got_sides[2], got_periods[2], place[2], other[2],
        kind = 0, count = 0;
    int up = -5, down = -5, left = -5, right = -5, found = -1;
    MPI_Comm cart;

    MPI_Dims_create(size, 2, sides);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &cart);
    MPI_Topo_test(cart, &kind);
    CHECK_EQUAL(kind, MPI_CART);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    CHECK_EQUAL(kind, MPI_UNDEFINED);
    MPI_Cartdim_get(cart, &count);
    CHECK_EQUAL(count, 2);
    MPI_Cart_get(cart, 2, got_sides, got_periods, place);
    CHECK(got_sides[0] == sides[0] && got_sides[1] == sides[1] && got_periods[0] && !got_periods[1]);
    CHECK(place[0] == rank / sides[1] && place[1] == rank % sides[1]);
    for (int i = 0; i < size; i++) {
        MPI_Cart_coords(cart, i, 2, other);
        MPI_Cart_rank(cart, other, &found);
        CHECK_EQUAL(found, i);
    }
    other[0] = -1;
    other[1] = 0;
    MPI_Cart_rank(cart, other, &found); /* that dimension is periodic */
    CHECK_EQUAL(found, (sides[0] - 1) * sides[1]);
    MPI_Cart_shift(cart, 0, 1, &up, &down);
    CHECK_EQUAL(up, (place[0] + sides[0] - 1) % sides[0] * sides[1] + place[1]);
    CHECK_EQUAL(down, (place[0] + 1) % sides[0] * sides[1] + place[1]);
    MPI_Cart_shift(cart, 1, 1, &left, &right);
    CHECK_EQUAL(left, place[1] ? rank - 1 : MPI_PROC_NULL);
    CHECK_EQUAL(right, place[1] + 1 < sides[1] ? rank + 1 : MPI_PROC_NULL);
    int out = rank, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 1, cart, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in, left == MPI_PROC_NULL ? -1 : left);

    MPI_Comm row;
    int keeps[2] = { 0, 1 }, sum = 0;
    MPI_Cart_sub(cart, keeps, &row);
    MPI_Comm_size(row, &found);
    CHECK_EQUAL(found, sides[1]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
    CHECK_EQUAL(sum, sides[1] * place[0] * sides[1] + sides[1] * (sides[1] - 1) / 2);
    MPI_Comm copy;
    MPI_Comm_dup(cart, &copy);
    MPI_Topo_test(copy, &kind);
    CHECK_EQUAL(kind, MPI_CART);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&row);
    MPI_Comm_free(&cart);
    passed("grid");
}

/* Makes a grid of fewer ranks than there are. */
static void smaller(void)
{
    int side = size > 1 ? size - 1 : 1, period = 0;
    MPI_Comm line;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &side, &period, 1, &line);
    CHECK((line == MPI_COMM_NULL) == (rank >= side));
    if (line != MPI_COMM_NULL)
        MPI_Comm_free(&line);
    passed("smaller");
}

/* Makes a ring as a graph. */
static void graph(void)
{
    int ends[64], edges[128], kind = 0, nodes = 0, count = 0, neighbours[2] = { -1, -1 };
    MPI_Comm ring;

    for (int i = 0; i < size; i++) {
        ends[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &ring);
    MPI_Topo_test(ring, &kind);
    CHECK_EQUAL(kind, MPI_GRAPH);
    MPI_Graphdims_get(ring, &nodes, &count);
    CHECK(nodes == size && count == 2 * size);
    MPI_Graph_neighbors_count(ring, rank, &count);
    CHECK_EQUAL(count, 2);
    MPI_Graph_neighbors(ring, rank, 2, neighbours);
    CHECK(neighbours[0] == (rank + size - 1) % size && neighbours[1] == (rank + 1) % size);
    MPI_Comm_free(&ring);
    passed("graph");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    dimensions();
    grid();
    smaller();
    graph();
    MPI_Finalize();
    return 0;
}
