/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * darray.c: the types of distributed arrays: each process's part of arrays of one to three dimensions, in
 * blocks, cyclically, or whole, compared element by element with the standard's definition. [MPI 3.1 §4.1.4]
 */
#include "check.h"

#define MOST 2048 /* elements of an array */

struct spread {
    int dimensions, sizes[3], kinds[3], arguments[3], processes[3], order;
};

#define BLOCK   MPI_DISTRIBUTE_BLOCK
#define CYCLIC  MPI_DISTRIBUTE_CYCLIC
#define NONE    MPI_DISTRIBUTE_NONE
#define DEFAULT MPI_DISTRIBUTE_DFLT_DARG

static const struct spread spreads[] = {
    { 1, { 10 }, { BLOCK }, { DEFAULT }, { 3 }, MPI_ORDER_C },
    { 1, { 10 }, { BLOCK }, { 6 }, { 3 }, MPI_ORDER_C }, /* nothing for the last one */
    { 1, { 11 }, { CYCLIC }, { DEFAULT }, { 4 }, MPI_ORDER_C },
    { 1, { 17 }, { CYCLIC }, { 3 }, { 2 }, MPI_ORDER_FORTRAN },
    { 1, { 2 }, { CYCLIC }, { 4 }, { 3 }, MPI_ORDER_FORTRAN },
    { 2, { 6, 9 }, { BLOCK, CYCLIC }, { DEFAULT, 2 }, { 2, 3 }, MPI_ORDER_C },
    { 2, { 6, 9 }, { BLOCK, CYCLIC }, { DEFAULT, 2 }, { 2, 3 }, MPI_ORDER_FORTRAN },
    { 2, { 7, 5 }, { NONE, BLOCK }, { DEFAULT, DEFAULT }, { 1, 2 }, MPI_ORDER_C },
    { 2, { 7, 5 }, { CYCLIC, NONE }, { 2, DEFAULT }, { 3, 1 }, MPI_ORDER_FORTRAN },
    { 3, { 5, 8, 7 }, { BLOCK, NONE, CYCLIC }, { 3, DEFAULT, 2 }, { 2, 1, 2 }, MPI_ORDER_C },
    { 3, { 5, 8, 7 }, { CYCLIC, CYCLIC, BLOCK }, { 1, 3, DEFAULT }, { 2, 2, 2 }, MPI_ORDER_FORTRAN },
};

static int processes_of(const struct spread *spread)
{
    int count = 1;

    for (int i = 0; i < spread->dimensions; i++)
        count *= spread->processes[i];
    return count;
}

static int elements_of(const struct spread *spread)
{
    int count = 1;

    for (int i = 0; i < spread->dimensions; i++)
        count *= spread->sizes[i];
    return count;
}

/* Returns the process that has element `at` of dimension i. */
static int owner(const struct spread *spread, int i, int at)
{
    int processes = spread->processes[i], argument = spread->arguments[i];

    if (spread->kinds[i] == NONE)
        return 0;
    if (spread->kinds[i] == BLOCK)
        return at / (argument == DEFAULT ? (spread->sizes[i] + processes - 1) / processes : argument);
    return at / (argument == DEFAULT ? 1 : argument) % processes;
}

/* Tells whether process `own` has the element at `place` in memory. */
static int is_owned(const struct spread *spread, int own, int place)
{
    int found = 0, at[3];

    for (int i = 0; i < spread->dimensions; i++) {
        int fast = spread->order == MPI_ORDER_FORTRAN ? i : spread->dimensions - 1 - i;

        at[fast] = place % spread->sizes[fast];
        place /= spread->sizes[fast];
    }
    for (int i = 0; i < spread->dimensions; i++)
        found = found * spread->processes[i] + owner(spread, i, at[i]);
    return found == own;
}

static void check_contents(const struct spread *spread, int own, MPI_Datatype type)
{
    int integers = -1, addresses = -1, types = -1, combiner = -1, numbers[16] = { 0 },
        count = spread->dimensions;
    MPI_Aint places[1];
    MPI_Datatype olds[1];

    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(integers == 4 * count + 4 && addresses == 0 && types == 1 && combiner == MPI_COMBINER_DARRAY);
    MPI_Type_get_contents(type, 16, 1, 1, numbers, places, olds);
    CHECK(numbers[0] == processes_of(spread) && numbers[1] == own && numbers[2] == count);
    for (int i = 0; i < count; i++) {
        CHECK(numbers[3 + i] == spread->sizes[i] && numbers[3 + count + i] == spread->kinds[i]);
        CHECK(numbers[3 + 2 * count + i] == spread->arguments[i]);
        CHECK(numbers[3 + 3 * count + i] == spread->processes[i]);
    }
    CHECK(numbers[3 + 4 * count] == spread->order && olds[0] == MPI_INT);
}

static void one(const struct spread *spread, int own)
{
    static int array[2 * MOST], packed[2 * MOST];
    int elements = elements_of(spread), bytes = -1, position = 0, owned = 0;
    MPI_Aint lower = -1, extent = -1;
    MPI_Datatype type;

    MPI_Type_create_darray(processes_of(spread), own, spread->dimensions, spread->sizes, spread->kinds,
                           spread->arguments, spread->processes, spread->order, MPI_INT, &type);
    MPI_Type_commit(&type);
    check_contents(spread, own, type);
    MPI_Type_get_extent(type, &lower, &extent);
    CHECK_EQUAL(lower, 0);
    CHECK_EQUAL(extent, elements * (int)sizeof(int));
    for (int i = 0; i < 2 * elements; i++)
        array[i] = i;
    MPI_Pack(array, 2, type, packed, sizeof(packed), &position, MPI_COMM_SELF);
    for (int i = 0; i < 2 * elements; i++)
        if (is_owned(spread, own, i % elements))
            CHECK_EQUAL(packed[owned++], i);
    MPI_Type_size(type, &bytes);
    CHECK(owned * (int)sizeof(int) == position && position == 2 * bytes);
    for (int i = 0; i < 2 * elements; i++)
        array[i] = -1;
    position = 0;
    MPI_Unpack(packed, (int)sizeof(packed), &position, array, 2, type, MPI_COMM_SELF);
    for (int i = 0; i < 2 * elements; i++)
        CHECK_EQUAL(array[i], is_owned(spread, own, i % elements) ? i : -1);
    MPI_Type_free(&type);
}

/* Gathers every process's part of an array over all ranks at rank 0, where each part has its place. */
static void gathered(void)
{
    static int array[MOST], in[MOST];
    int sizes[2] = { 13, 11 }, kinds[2] = { CYCLIC, BLOCK }, arguments[2] = { 2, DEFAULT },
        processes[2] = { 0, 0 };
    MPI_Datatype type;
    MPI_Request request;

    MPI_Dims_create(size, 2, processes);
    MPI_Type_create_darray(size, rank, 2, sizes, kinds, arguments, processes, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 13 * 11; i++) {
        array[i] = i;
        in[i] = -1;
    }
    MPI_Isend(array, 1, type, 0, 3, MPI_COMM_WORLD, &request);
    for (int i = 0; rank == 0 && i < size; i++) {
        MPI_Datatype part;

        MPI_Type_create_darray(size, i, 2, sizes, kinds, arguments, processes, MPI_ORDER_C, MPI_INT, &part);
        MPI_Type_commit(&part);
        MPI_Recv(in, 1, part, i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&part);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 0 && i < 13 * 11; i++)
        CHECK_EQUAL(in[i], i);
    MPI_Type_free(&type);
}

static int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

static int refusal(int count, int own, int argument, int processes)
{
    int sizes[1] = { 10 }, kinds[1] = { BLOCK };
    MPI_Datatype type;

    return class_of(MPI_Type_create_darray(count, own, 1, sizes, kinds, &argument, &processes, MPI_ORDER_C,
                                           MPI_INT, &type));
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++)
        for (int own = 0; own < processes_of(&spreads[i]); own++)
            one(&spreads[i], own);
    passed("parts");
    gathered();
    passed("gathered");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(refusal(0, 0, DEFAULT, 1) != MPI_SUCCESS); /* libraries differ in the class */
    CHECK(refusal(2, 2, DEFAULT, 2) != MPI_SUCCESS);
    CHECK_EQUAL(refusal(2, 0, -7, 2), MPI_ERR_ARG);
    CHECK_EQUAL(refusal(2, 0, 4, 2), MPI_ERR_ARG); /* two blocks of 4 do not hold 10 */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("refusals");
    MPI_Finalize();
    return 0;
}
