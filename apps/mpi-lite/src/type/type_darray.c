/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_darray.c: MPI_Type_create_darray: the part of one process of an array that is spread over a grid of
 * processes, along each dimension in blocks, cyclically in pieces, or not at all.
 *
 * All three distributions are pieces of `piece` elements, dealt in turn. With blocks, each process gets at
 * most one piece. A dimension is a run of whole pieces and the rest in the last one; dimensions are nested
 * from the fastest on, with the strides of the whole array. Runs under the library's lock.
 *
 * Source: MPI 3.1 §4.1.4.
 */
#include "type/type_make.h"

struct array {
    int size, rank, dimensions;
    const int *sizes, *distributions, *arguments, *processes;
    int order;
    MPI_Datatype old;
};

/* ---- Checks ---- */

static int check_dimension(const struct array *array, int i)
{
    int distribution = array->distributions[i], argument = array->arguments[i];
    int size = array->sizes[i], processes = array->processes[i];

    if (size < 1)
        return mpi_error(MPI_ERR_ARG, "argument array_of_gsizes: element %d, %d, is not positive", i, size);
    if (processes < 1)
        return mpi_error(MPI_ERR_ARG, "argument array_of_psizes: element %d, %d, is not positive", i,
                         processes);
    if (distribution != MPI_DISTRIBUTE_BLOCK && distribution != MPI_DISTRIBUTE_CYCLIC &&
        distribution != MPI_DISTRIBUTE_NONE)
        return mpi_error(MPI_ERR_ARG, "argument array_of_distribs: element %d, %d, is no MPI_DISTRIBUTE_*", i,
                         distribution);
    if (distribution == MPI_DISTRIBUTE_NONE)
        return processes == 1 ? MPI_SUCCESS
                              : mpi_error(MPI_ERR_ARG,
                                          "argument array_of_psizes: element %d, %d, must be 1: the "
                                          "dimension is not distributed",
                                          i, processes);
    if (argument != MPI_DISTRIBUTE_DFLT_DARG && argument < 1)
        return mpi_error(MPI_ERR_ARG, "argument array_of_dargs: element %d, %d, is not positive", i,
                         argument);
    if (distribution == MPI_DISTRIBUTE_BLOCK && argument != MPI_DISTRIBUTE_DFLT_DARG &&
        (int64_t)argument * processes < size)
        return mpi_error(MPI_ERR_ARG, "dimension %d: %d blocks of %d elements do not hold %d", i, processes,
                         argument, size);
    return MPI_SUCCESS;
}

static int check_array(const struct array *array)
{
    int64_t processes = 1;
    int error = check_type(array->old, "oldtype");

    if (error)
        return error;
    if (array->size < 1)
        return mpi_error(MPI_ERR_ARG, "argument size: %d is not positive", array->size);
    if (array->rank < 0 || array->rank >= array->size)
        return mpi_error(MPI_ERR_ARG, "argument rank: %d is none of %d processes", array->rank, array->size);
    if (array->dimensions < 1)
        return mpi_error(MPI_ERR_DIMS, "argument ndims: %d is less than 1", array->dimensions);
    if (!array->sizes || !array->distributions || !array->arguments || !array->processes)
        return mpi_error(MPI_ERR_ARG, "an array argument is NULL");
    if (array->order != MPI_ORDER_C && array->order != MPI_ORDER_FORTRAN)
        return mpi_error(MPI_ERR_ARG, "argument order: %d is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN",
                         array->order);
    for (int i = 0; !error && i < array->dimensions; i++) {
        error = check_dimension(array, i);
        processes = processes > array->size ? processes : processes * array->processes[i];
    }
    if (!error && processes != array->size)
        error =
            mpi_error(MPI_ERR_ARG, "argument array_of_psizes: it is no grid of %d processes", array->size);
    return error;
}

/* ---- The type ---- */

/* Returns the number of elements of a piece of dimension i. */
static int64_t piece_of(const struct array *array, int i)
{
    int size = array->sizes[i], processes = array->processes[i], argument = array->arguments[i];

    if (array->distributions[i] == MPI_DISTRIBUTE_NONE)
        return size;
    if (argument != MPI_DISTRIBUTE_DFLT_DARG)
        return argument;
    return array->distributions[i] == MPI_DISTRIBUTE_BLOCK ? ((int64_t)size + processes - 1) / processes : 1;
}

/* Returns the process's place along dimension i: in both orders ranks are numbered with the last dimension
 * fastest. */
static int place_of(const struct array *array, int i)
{
    int after = 1;

    for (int j = i + 1; j < array->dimensions; j++)
        after *= array->processes[j];
    return array->rank / after % array->processes[i];
}

/* Makes dimension i of elements `inner`, which are `stride` bytes apart. */
static int dimension_make(const struct array *array, int i, struct mpi_datatype *inner, MPI_Aint stride,
                          struct mpi_datatype **made)
{
    int64_t size = array->sizes[i], piece = piece_of(array, i), turn = piece * array->processes[i];
    int64_t begin = place_of(array, i) * piece, own = begin < size ? size - begin : 0;
    int64_t whole = own / turn + (own % turn >= piece), rest = own % turn < piece ? own % turn : 0;
    const struct run piece_run = { (size_t)piece, 0, stride, inner };
    struct mpi_datatype *block;
    int error = type_make(1, &piece_run, false, contents_make(MPI_COMBINER_CONTIGUOUS, 0, 0, 0), &block);

    if (error)
        return error;
    const struct run runs[] = {
        { (size_t)whole, begin * stride, turn * stride, block },
        { (size_t)rest, (begin + whole * turn) * stride, stride, inner },
    };
    error = type_make(2, runs, false, contents_make(MPI_COMBINER_CONTIGUOUS, 0, 0, 0), made);
    type_release(block);
    return error;
}

static struct mpi_contents *array_note(const struct array *array)
{
    struct mpi_contents *contents = contents_make(MPI_COMBINER_DARRAY, 4 * array->dimensions + 4, 0, 1);

    if (!contents)
        return NULL;
    contents_integer(contents, array->size);
    contents_integer(contents, array->rank);
    contents_integer(contents, array->dimensions);
    contents_integers(contents, array->dimensions, array->sizes);
    contents_integers(contents, array->dimensions, array->distributions);
    contents_integers(contents, array->dimensions, array->arguments);
    contents_integers(contents, array->dimensions, array->processes);
    contents_integer(contents, array->order);
    contents_type(contents, array->old);
    return contents;
}

static int array_make(const struct array *array, struct mpi_datatype **made)
{
    struct mpi_datatype *inner = array->old, *outer = NULL;
    MPI_Aint stride = array->old->extent;
    int error = MPI_SUCCESS;

    type_hold(inner);
    for (int i = 0; i < array->dimensions && !error; i++) {
        int at = array->order == MPI_ORDER_FORTRAN ? i : array->dimensions - 1 - i;

        error = dimension_make(array, at, inner, stride, &outer);
        stride *= array->sizes[at];
        type_release(inner);
        inner = outer;
    }
    if (error)
        return error;
    const struct run run = { 1, 0, 0, inner };
    error = type_make(1, &run, false, array_note(array), made);
    type_release(inner);
    if (!error)
        type_bound(*made, stride);
    return error;
}

int PMPI_Type_create_darray(int size, int rank, int dimensions, const int sizes[], const int distributions[],
                            const int arguments[], const int processes[], int order, MPI_Datatype old,
                            MPI_Datatype *made)
{
    const struct array array = { size,      rank,      dimensions, sizes, distributions,
                                 arguments, processes, order,      old };

    mpi_enter();
    int error = check_array(&array);
    if (!error)
        error = check_output(made, "newtype");
    if (!error)
        error = array_make(&array, made);
    return mpi_leave_with(NULL, "MPI_Type_create_darray", error);
}
MPI_ALIAS(Type_create_darray);
