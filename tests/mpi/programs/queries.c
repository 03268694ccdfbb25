/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queries.c: properties of large or unusual objects: sizes that no int holds, statuses that a program makes,
 * addresses, hints of communicators, grids and graphs before they are made, deeply nested types, and whether
 * MPI has begun and ended. [MPI 3.1 §3.2.5, §4.1, §6.4.2, §7.5.8, §8.7]
 */
#include "check.h"
#include <stdint.h>

enum { DEPTH = 100 };

/* Tests types of more bytes than an int holds; their data does not exist. */
static void large_types(void)
{
    const MPI_Count gib = (MPI_Count)1 << 30;
    MPI_Datatype block, whole, spread;
    MPI_Count size_x = 0, lower = 0, extent = 0;
    int bytes = 0;

    MPI_Type_contiguous(1 << 28, MPI_INT, &block); /* 1 GiB */
    MPI_Type_contiguous(5, block, &whole);
    MPI_Type_vector(3, 1, 4, block, &spread);
    MPI_Type_size_x(whole, &size_x);
    CHECK_EQUAL(size_x, 5 * gib);
    MPI_Type_size(whole, &bytes);
    CHECK_EQUAL(bytes, MPI_UNDEFINED);
    MPI_Type_get_extent_x(spread, &lower, &extent);
    CHECK(lower == 0 && extent == 9 * gib);
    MPI_Type_get_true_extent_x(spread, &lower, &extent);
    CHECK(lower == 0 && extent == 9 * gib);
    MPI_Type_size_x(spread, &size_x);
    CHECK_EQUAL(size_x, 3 * gib);
    MPI_Type_free(&block);
    MPI_Type_free(&whole);
    MPI_Type_free(&spread);
    passed("large types");
}

/* Tests statuses of messages with more bytes than an int holds. */
static void large_statuses(void)
{
    const MPI_Count many = (MPI_Count)3 << 30;
    MPI_Status status;
    MPI_Count elements = 0;
    MPI_Datatype pair;
    int count = 0, flag = 0;

    memset(&status, 0, sizeof(status));
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
#ifndef MPICH_VERSION /* it counts whole pairs if elements are set (4.0) */
    MPI_Status_set_elements(&status, pair, 6);
    MPI_Get_count(&status, pair, &count);
    CHECK_EQUAL(count, 3);
    MPI_Get_elements(&status, pair, &count);
    CHECK_EQUAL(count, 6);
    MPI_Status_set_elements(&status, pair, 5);
    MPI_Get_count(&status, pair, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Get_elements_x(&status, pair, &elements);
    CHECK_EQUAL(elements, 5);
#endif
    MPI_Status_set_elements(&status, MPI_INT, 5);
    MPI_Get_count(&status, pair, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Status_set_elements_x(&status, MPI_INT, many);
    MPI_Get_elements_x(&status, MPI_INT, &elements);
    CHECK_EQUAL(elements, many);
    MPI_Get_elements(&status, MPI_INT, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Type_free(&pair);
    passed("large statuses");
}

static void addresses(void)
{
    int values[4] = { 0 };
    MPI_Aint first = 0, last = 0;

    MPI_Get_address(&values[0], &first);
    MPI_Get_address(&values[3], &last);
    CHECK_EQUAL(MPI_Aint_diff(last, first), 3 * (int)sizeof(int));
    CHECK_EQUAL(MPI_Aint_add(first, 12), last);
    CHECK((uintptr_t)first == (uintptr_t)values);
#ifndef OPEN_MPI /* it has no functions that MPI 3.0 has removed */
    MPI_Aint lower = -1, upper = -1, extent = -1;
    MPI_Datatype resized;
    MPI_Type_create_resized(MPI_INT, -4, 16, &resized);
    MPI_Type_lb(resized, &lower);
    MPI_Type_ub(resized, &upper);
    MPI_Type_extent(resized, &extent);
    CHECK(lower == -4 && upper == 12 && extent == 16);
    MPI_Type_free(&resized);
#endif
    passed("addresses");
}

/* Tests nested types: each is made of the one before; only the last is kept, and moves the same data. */
static void nested_types(void)
{
    MPI_Datatype type = MPI_INT, outer;
    int from[3 * DEPTH], to[3 * DEPTH], count = 0;
    MPI_Aint lower = 0, extent = 0;
    MPI_Status status;

    for (int i = 0; i < DEPTH; i++) {
        if (i % 3 == 0)
            MPI_Type_create_resized(type, 0, (MPI_Aint)sizeof(int), &outer);
        else if (i % 3 == 1)
            MPI_Type_contiguous(1, type, &outer);
        else
            MPI_Type_vector(1, 1, 1, type, &outer);
        if (type != MPI_INT)
            MPI_Type_free(&type);
        type = outer;
    }
    MPI_Type_vector(DEPTH, 1, 3, type, &outer);
    MPI_Type_free(&type);
    MPI_Type_commit(&outer);
    MPI_Type_get_extent(outer, &lower, &extent);
    CHECK_EQUAL(extent, (3 * DEPTH - 2) * (int)sizeof(int));
    for (int i = 0; i < 3 * DEPTH; i++) {
        from[i] = i;
        to[i] = -1;
    }
    MPI_Sendrecv(from, 1, outer, rank, 1, to, 1, outer, rank, 1, MPI_COMM_WORLD, &status);
    for (int i = 0; i < 3 * DEPTH; i++)
        CHECK_EQUAL(to[i], i % 3 ? -1 : i);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, DEPTH);
    MPI_Type_free(&outer);
    passed("nested types");
}

static void hints(void)
{
    MPI_Info info, used = MPI_INFO_NULL;
    MPI_Comm copy;
    int same = -1;

    MPI_Info_create(&info);
    MPI_Info_set(info, "an_unknown_hint", "1");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy);
    MPI_Comm_compare(copy, MPI_COMM_WORLD, &same);
    CHECK_EQUAL(same, MPI_CONGRUENT);
    MPI_Comm_set_info(copy, info);
    MPI_Info_free(&info);
    MPI_Comm_get_info(copy, &used);
    CHECK(used != MPI_INFO_NULL);
    MPI_Info_free(&used);
    MPI_Comm_free(&copy);
    passed("hints");
}

/* Tests the remote group of an intercommunicator of the even and the odd ranks. */
static void remote_group(void)
{
    MPI_Comm half, between;
    MPI_Group others, all;
    int local = 0, remote = -1, expected = rank % 2 ? (size + 1) / 2 : size / 2, first = 0, in_world = -1;

    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &between);
        MPI_Comm_remote_group(between, &others);
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_size(others, &remote);
        MPI_Comm_size(between, &local);
        CHECK_EQUAL(remote, expected);
        CHECK_EQUAL(local + remote, size);
        MPI_Group_translate_ranks(others, 1, &first, all, &in_world);
        CHECK_EQUAL(in_world, rank % 2 ? 0 : 1);
        MPI_Group_free(&others);
        MPI_Group_free(&all);
        MPI_Comm_free(&between);
        MPI_Comm_free(&half);
    }
    passed("remote group");
}

/* Tests a ring: the rank that each process would get, and the graph after its creation. */
static void topologies(void)
{
    int dims[1] = { size }, periods[1] = { 1 }, place = -2, nodes = 0, count = 0;
    int *index = malloc((size_t)size * sizeof(int)), *edges = malloc((size_t)size * sizeof(int));
    int *had_index = malloc((size_t)size * sizeof(int)), *had_edges = malloc((size_t)size * sizeof(int));
    MPI_Comm ring;

    for (int i = 0; i < size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % size;
    }
    MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &place);
    CHECK(place >= 0 && place < size);
    MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &place);
    CHECK(place >= 0 && place < size);
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &ring);
    MPI_Graphdims_get(ring, &nodes, &count);
    CHECK(nodes == size && count == size);
    MPI_Graph_get(ring, size, size, had_index, had_edges);
    for (int i = 0; i < size; i++)
        CHECK(had_index[i] == index[i] && had_edges[i] == edges[i]);
    MPI_Comm_free(&ring);
    free(index);
    free(edges);
    free(had_index);
    free(had_edges);
    passed("topologies");
}

int main(int count, char **arguments)
{
    int begun = -1, ended = -1;

    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    CHECK(begun == 0 && ended == 0);
    begin(&count, &arguments);
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    CHECK(begun == 1 && ended == 0);
    MPI_Pcontrol(1);
    large_types();
    large_statuses();
    addresses();
    nested_types();
    hints();
    remote_group();
    topologies();
    MPI_Finalize();
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (begun != 1 || ended != 1) {
        fprintf(stderr, "queries.c: MPI_Finalized says %d, MPI_Initialized %d\n", ended, begun);
        return 3;
    }
    return 0;
}
