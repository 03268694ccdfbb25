/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cart.c: Cartesian grids. Ranks are numbered with the last dimension fastest. A grid of no dimensions is one
 * process.
 *
 * MPI_Dims_create searches for the factors of a number that are closest to each other: the difference of the
 * largest and the smallest is minimal, and among these the smallest factors are as large as possible. Runs
 * under the library's lock.
 *
 * Source: MPI 3.1 §7.5.1, §7.5.2, §7.5.5 … §7.5.8.
 */
#include "construct/construct.h"
#include <stdlib.h>
#include <string.h>

/* ---- Grids ---- */

/* Checks the arguments of a grid; sets *size to its number of processes. */
static int check_grid(const struct mpi_comm *comm, int count, const int *dims, int *size)
{
    int64_t product = 1;

    if (comm->inter)
        return mpi_error(MPI_ERR_COMM, "argument comm: it is an intercommunicator");
    if (count < 0)
        return mpi_error(MPI_ERR_DIMS, "argument ndims: %d is negative", count);
    for (int i = 0; i < count; i++) {
        if (dims[i] <= 0)
            return mpi_error(MPI_ERR_DIMS, "argument dims: element %d, %d, is not positive", i, dims[i]);
        product *= dims[i];
        if (product > comm->size)
            return mpi_error(MPI_ERR_DIMS, "argument dims: the grid is larger than the communicator of %d",
                             comm->size);
    }
    *size = (int)product;
    return MPI_SUCCESS;
}

static int grid_attach(struct mpi_comm *comm, int count, const int *dims, const int *periods)
{
    comm->topology = topology_make(MPI_CART, count, 0);
    if (!comm->topology)
        return mpi_out_of_memory();
    for (int i = 0; i < count; i++) {
        comm->topology->dims[i] = dims[i];
        comm->topology->periods[i] = periods[i] != 0;
    }
    return MPI_SUCCESS;
}

static int Cart_create(MPI_Comm comm, int count, const int dims[], const int periods[], int reorder,
                       MPI_Comm *made)
{
    int size, error = check_grid(comm, count, dims, &size);

    (void)reorder;
    if (error)
        return error;
    error = comm_first_ranks(comm, size, made);
    if (error)
        return error;
    if (*made)
        return grid_attach(*made, count, dims, periods);
    return MPI_SUCCESS;
}
MPI_CALL(Cart_create);

static int Cart_map(MPI_Comm comm, int count, const int dims[], const int periods[], int *rank)
{
    int size, error = check_grid(comm, count, dims, &size);

    (void)periods;
    if (error)
        return error;
    *rank = comm->rank < size ? comm->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_CALL(Cart_map);

/* ---- Coordinates ---- */

static int check_coordinates_room(const struct mpi_comm *comm, int room)
{
    int error = check_topology(comm, MPI_CART);

    if (!error && room < comm->topology->count)
        error = mpi_error(MPI_ERR_ARG, "argument maxdims: room for %d of %d dimensions", room,
                          comm->topology->count);
    return error;
}

static int Cartdim_get(MPI_Comm comm, int *count)
{
    *count = comm->topology->count;
    return MPI_SUCCESS;
}
MPI_CALL(Cartdim_get);

static int Cart_get(MPI_Comm comm, int room, int dims[], int periods[], int coordinates[])
{
    int error = check_coordinates_room(comm, room);

    for (int i = 0; !error && i < comm->topology->count; i++) {
        dims[i] = comm->topology->dims[i];
        periods[i] = comm->topology->periods[i];
        coordinates[i] = grid_coordinate(comm->topology, comm->rank, i);
    }
    return error;
}
MPI_CALL(Cart_get);

static int rank_at(const struct mpi_topology *grid, const int *coordinates, int *rank)
{
    int found = 0;

    for (int i = 0; i < grid->count; i++) {
        int at = coordinates[i], size = grid->dims[i];

        if ((at < 0 || at >= size) && !grid->periods[i])
            return mpi_error(MPI_ERR_ARG, "argument coords: element %d, %d, is not from 0 to %d", i, at,
                             size - 1);
        at %= size;
        found = found * size + (at < 0 ? at + size : at);
    }
    *rank = found;
    return MPI_SUCCESS;
}

static int Cart_rank(MPI_Comm comm, const int coordinates[], int *rank)
{
    return rank_at(comm->topology, coordinates, rank);
}
MPI_CALL(Cart_rank);

static int Cart_coords(MPI_Comm comm, int rank, int room, int coordinates[])
{
    int error = check_coordinates_room(comm, room);

    if (error)
        return error;
    if (rank < 0 || rank >= comm->size)
        return mpi_error(MPI_ERR_RANK, "argument rank: %d is no rank of a communicator of %d", rank,
                         comm->size);
    for (int i = 0; i < comm->topology->count; i++)
        coordinates[i] = grid_coordinate(comm->topology, rank, i);
    return MPI_SUCCESS;
}
MPI_CALL(Cart_coords);

static int Cart_shift(MPI_Comm comm, int direction, int steps, int *source, int *dest)
{
    if (direction < 0 || direction >= comm->topology->count)
        return mpi_error(MPI_ERR_DIMS, "argument direction: %d is none of %d dimensions", direction,
                         comm->topology->count);
    *source = grid_rank_shifted(comm, direction, -(int64_t)steps);
    *dest = grid_rank_shifted(comm, direction, steps);
    return MPI_SUCCESS;
}
MPI_CALL(Cart_shift);

/* Cuts a grid. Processes with the same coordinates in the removed dimensions form one communicator; color and
 * key are ranks in grids. */
static int grid_cut(struct mpi_comm *comm, const int *remain, struct mpi_comm **made)
{
    const struct mpi_topology *grid = comm->topology;
    struct mpi_topology *cut = topology_make(MPI_CART, grid->count, 0);
    int color = 0, key = 0;

    if (!cut)
        return mpi_out_of_memory();
    cut->count = 0;
    for (int i = 0; i < grid->count; i++) {
        int *number = remain[i] ? &key : &color;

        *number = *number * grid->dims[i] + grid_coordinate(grid, comm->rank, i);
        if (!remain[i])
            continue;
        cut->dims[cut->count] = grid->dims[i];
        cut->periods[cut->count++] = grid->periods[i];
    }
    int error = comm_split(comm, color, key, made);
    if (!error)
        error = grid_attach(*made, cut->count, cut->dims, cut->periods);
    topology_free(cut);
    return error;
}

static int Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *made)
{
    return grid_cut(comm, remain, made);
}
MPI_CALL(Cart_sub);

/* ---- MPI_Dims_create ---- */

static int largest_prime(int number)
{
    int largest = 1;

    for (int prime = 2; prime <= number / prime; prime++)
        for (; number % prime == 0; number /= prime)
            largest = prime;
    return number > largest ? number : largest;
}

/* Compares the product of `count` factors `each` with `number`: -1, 0 or 1. */
static int power_compare(int each, int count, int number)
{
    int64_t product = 1;

    for (int i = 0; i < count && product <= number && each > 1; i++)
        product *= each;
    return (product > number) - (product < number);
}

/* Falling factors: the current ones, and the best so far. */
struct factors {
    int count, spread; /* of the best: its first factor less its last */
    int *now, *best;
};

/* Returns whether the current factors are closer together than the best: their spread is smaller, or the same
 * and their smallest factors are larger. */
static bool factors_are_better(const struct factors *factors)
{
    int last = factors->count - 1, spread = factors->now[0] - factors->now[last], i = last;

    while (i > 0 && factors->now[i] == factors->best[i])
        i--;
    return spread < factors->spread || (spread == factors->spread && factors->now[i] > factors->best[i]);
}

/* Tries all falling factors of `number`, from place `at` on and none above `limit`, that may be better. */
static void factors_find(struct factors *factors, int at, int number, int limit)
{
    int count = factors->count - at;

    if (count == 1) {
        factors->now[at] = number;
        if (number <= limit && factors_are_better(factors)) {
            memcpy(factors->best, factors->now, (size_t)factors->count * sizeof(*factors->best));
            factors->spread = factors->best[0] - number;
        }
        return;
    }
    int factor = largest_prime(number);
    while (power_compare(factor, count, number) < 0)
        factor++;
    for (; factor <= limit && factor <= number; factor++) {
        int first = at ? factors->now[0] : factor;

        /* The larger the factor, the smaller is what is left for those after it. */
        if (power_compare(first - factors->spread, count - 1, number / factor) > 0)
            break;
        if (number % factor == 0) {
            factors->now[at] = factor;
            factors_find(factors, at + 1, number / factor, factor);
        }
    }
}

static int dims_fill(int nodes, int count, int *dims)
{
    int free_count = 0, at = 0, rest = nodes;

    for (int i = 0; i < count; i++) {
        if (dims[i] < 0)
            return mpi_error(MPI_ERR_DIMS, "argument dims: element %d, %d, is negative", i, dims[i]);
        if (dims[i] && rest % dims[i])
            return mpi_error(MPI_ERR_DIMS,
                             "argument dims: %d processes are not a multiple of its fixed dimensions", nodes);
        rest /= dims[i] ? dims[i] : 1;
        free_count += dims[i] == 0;
    }
    if (free_count == 0)
        return rest == 1 || count == 0
                   ? MPI_SUCCESS
                   : mpi_error(MPI_ERR_DIMS, "argument dims: its fixed dimensions do not make %d processes",
                               nodes);
    int *places = calloc(2 * (size_t)free_count, sizeof(*places));
    if (!places)
        return mpi_out_of_memory();
    struct factors factors = { free_count, rest, places, places + free_count };
    factors_find(&factors, 0, rest, rest);
    for (int i = 0; i < count; i++)
        if (dims[i] == 0)
            dims[i] = factors.best[at++];
    free(places);
    return MPI_SUCCESS;
}

static int Dims_create(int nodes, int count, int dims[])
{
    if (nodes <= 0)
        return mpi_error(MPI_ERR_ARG, "argument nnodes: %d is not positive", nodes);
    if (count < 0)
        return mpi_error(MPI_ERR_DIMS, "argument ndims: %d is negative", count);
    int error = count ? check_output(dims, "dims") : MPI_SUCCESS;
    return error ? error : dims_fill(nodes, count, dims);
}
MPI_CALL(Dims_create);
