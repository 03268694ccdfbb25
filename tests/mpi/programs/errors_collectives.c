/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors_collectives.c: wrong arguments of every collective, blocking and not, on all ranks at once; then a
 * correct collective shows that the errors have no later effect. [MPI 3.1 chapter 5]
 */
#include "refused.h"

static MPI_Datatype uncommitted;
static MPI_Request request = MPI_REQUEST_NULL;
static int from[64], to[64], *counts, *negative, *places;
static MPI_Datatype *types, *null_types;

#define ALL(...) __VA_ARGS__
/* Both forms of a call with these arguments, the communicator last. */
#define BOTH_BUT(libraries, name, iname, arguments, comm, class)                    \
    do {                                                                            \
        REFUSED_BUT(libraries, MPI_##name(ALL arguments, comm), class);             \
        REFUSED_BUT(libraries, MPI_I##iname(ALL arguments, comm, &request), class); \
        CHECK(request == MPI_REQUEST_NULL);                                         \
    } while (0)
#define WRONG_BUT(libraries, name, iname, arguments, class) \
    BOTH_BUT(libraries, name, iname, arguments, MPI_COMM_WORLD, class)
#define WRONG(name, iname, arguments, class) WRONG_BUT(0, name, iname, arguments, class)
#define NO_COMM(name, iname, arguments)      BOTH_BUT(0, name, iname, arguments, MPI_COMM_NULL, MPI_ERR_COMM)

static void arrays_make(void)
{
    size_t room = (size_t)size;

    counts = malloc(room * sizeof(int));
    negative = malloc(room * sizeof(int));
    places = malloc(room * sizeof(int));
    types = malloc(room * sizeof(*types));
    null_types = malloc(room * sizeof(*types));
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        negative[i] = -1;
        places[i] = i;
        types[i] = MPI_INT;
        null_types[i] = MPI_DATATYPE_NULL;
    }
}

static void arrays_free(void)
{
    free(counts);
    free(negative);
    free(places);
    free(types);
    free(null_types);
}

static void communicators(void)
{
    REFUSED(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    REFUSED(MPI_Ibarrier(MPI_COMM_NULL, &request), MPI_ERR_COMM);
    NO_COMM(Bcast, bcast, (from, 1, MPI_INT, 0));
    NO_COMM(Reduce, reduce, (from, to, 1, MPI_INT, MPI_SUM, 0));
    NO_COMM(Allreduce, allreduce, (from, to, 1, MPI_INT, MPI_SUM));
    NO_COMM(Scan, scan, (from, to, 1, MPI_INT, MPI_SUM));
    NO_COMM(Exscan, exscan, (from, to, 1, MPI_INT, MPI_SUM));
    NO_COMM(Gather, gather, (from, 1, MPI_INT, to, 1, MPI_INT, 0));
    NO_COMM(Gatherv, gatherv, (from, 1, MPI_INT, to, counts, places, MPI_INT, 0));
    NO_COMM(Scatter, scatter, (from, 1, MPI_INT, to, 1, MPI_INT, 0));
    NO_COMM(Scatterv, scatterv, (from, counts, places, MPI_INT, to, 1, MPI_INT, 0));
    BOTH_BUT(IN_OPENMPI, Allgather, allgather, (from, 1, MPI_INT, to, 1, MPI_INT), MPI_COMM_NULL,
             MPI_ERR_COMM); /* it crashes */
    NO_COMM(Allgatherv, allgatherv, (from, 1, MPI_INT, to, counts, places, MPI_INT));
    NO_COMM(Alltoall, alltoall, (from, 1, MPI_INT, to, 1, MPI_INT));
    NO_COMM(Alltoallv, alltoallv, (from, counts, places, MPI_INT, to, counts, places, MPI_INT));
    NO_COMM(Alltoallw, alltoallw, (from, counts, places, types, to, counts, places, types));
    NO_COMM(Reduce_scatter, reduce_scatter, (from, to, counts, MPI_INT, MPI_SUM));
    NO_COMM(Reduce_scatter_block, reduce_scatter_block, (from, to, 1, MPI_INT, MPI_SUM));
    passed("communicators");
}

static void roots(void)
{
    const int wrong[] = { size, -1, -99 };

    for (int i = 0; i < 3; i++) {
        int root = wrong[i];

        WRONG(Bcast, bcast, (from, 1, MPI_INT, root), MPI_ERR_ROOT);
        WRONG(Reduce, reduce, (from, to, 1, MPI_INT, MPI_SUM, root), MPI_ERR_ROOT);
        WRONG(Gather, gather, (from, 1, MPI_INT, to, 1, MPI_INT, root), MPI_ERR_ROOT);
        WRONG(Gatherv, gatherv, (from, 1, MPI_INT, to, counts, places, MPI_INT, root), MPI_ERR_ROOT);
        WRONG(Scatter, scatter, (from, 1, MPI_INT, to, 1, MPI_INT, root), MPI_ERR_ROOT);
        WRONG(Scatterv, scatterv, (from, counts, places, MPI_INT, to, 1, MPI_INT, root), MPI_ERR_ROOT);
    }
    passed("roots");
}

/* Tests negative counts. MPICH crashes in reductions, Open MPI in MPI_Allgatherv. */
static void negative_counts(void)
{
    WRONG(Bcast, bcast, (from, -1, MPI_INT, 0), MPI_ERR_COUNT);
    WRONG_BUT(IN_MPICH, Reduce, reduce, (from, to, -1, MPI_INT, MPI_SUM, 0), MPI_ERR_COUNT);
    WRONG_BUT(IN_MPICH, Allreduce, allreduce, (from, to, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    WRONG_BUT(IN_MPICH, Scan, scan, (from, to, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    WRONG_BUT(IN_MPICH, Exscan, exscan, (from, to, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    WRONG(Gather, gather, (from, -1, MPI_INT, to, -1, MPI_INT, 0), MPI_ERR_COUNT);
    WRONG(Gatherv, gatherv, (from, -1, MPI_INT, to, negative, places, MPI_INT, 0), MPI_ERR_COUNT);
    WRONG(Scatter, scatter, (from, -1, MPI_INT, to, -1, MPI_INT, 0), MPI_ERR_COUNT);
    WRONG(Scatterv, scatterv, (from, negative, places, MPI_INT, to, -1, MPI_INT, 0), MPI_ERR_COUNT);
    WRONG(Allgather, allgather, (from, -1, MPI_INT, to, -1, MPI_INT), MPI_ERR_COUNT);
    WRONG_BUT(IN_OPENMPI, Allgatherv, allgatherv, (from, 1, MPI_INT, to, negative, places, MPI_INT),
              MPI_ERR_COUNT);
    WRONG(Alltoall, alltoall, (from, -1, MPI_INT, to, -1, MPI_INT), MPI_ERR_COUNT);
    WRONG(Alltoallv, alltoallv, (from, negative, places, MPI_INT, to, counts, places, MPI_INT),
          MPI_ERR_COUNT);
    WRONG(Alltoallw, alltoallw, (from, counts, places, types, to, negative, places, types), MPI_ERR_COUNT);
    WRONG(Reduce_scatter, reduce_scatter, (from, to, negative, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    WRONG_BUT(IN_MPICH, Reduce_scatter_block, reduce_scatter_block, (from, to, -1, MPI_INT, MPI_SUM),
              MPI_ERR_COUNT);
    passed("counts");
}

/* Tests wrong types. Other libraries report the operation instead of the type; Open MPI checks only one of
 * two types. */
static void wrong_types(void)
{
    const MPI_Datatype wrong[] = { MPI_DATATYPE_NULL, uncommitted };

    for (int i = 0; i < 2; i++) {
        MPI_Datatype type = wrong[i];

        WRONG(Bcast, bcast, (from, 1, type, 0), MPI_ERR_TYPE);
        WRONG_BUT(IN_OTHERS, Reduce, reduce, (from, to, 1, type, MPI_SUM, 0), MPI_ERR_TYPE);
        WRONG_BUT(IN_OTHERS, Allreduce, allreduce, (from, to, 1, type, MPI_SUM), MPI_ERR_TYPE);
        WRONG_BUT(IN_OTHERS, Scan, scan, (from, to, 1, type, MPI_SUM), MPI_ERR_TYPE);
        WRONG_BUT(IN_OTHERS, Exscan, exscan, (from, to, 1, type, MPI_SUM), MPI_ERR_TYPE);
        WRONG(Gather, gather, (from, 1, type, to, 1, MPI_INT, 0), MPI_ERR_TYPE);
        WRONG(Gatherv, gatherv, (from, 1, type, to, counts, places, type, 0), MPI_ERR_TYPE);
        WRONG_BUT(IN_OPENMPI, Scatter, scatter, (from, 1, MPI_INT, to, 1, type, 0), MPI_ERR_TYPE);
        WRONG(Scatterv, scatterv, (from, counts, places, type, to, 1, type, 0), MPI_ERR_TYPE);
        WRONG_BUT(IN_OPENMPI, Allgather, allgather, (from, 1, MPI_INT, to, 1, type), MPI_ERR_TYPE);
        WRONG(Allgatherv, allgatherv, (from, 1, type, to, counts, places, MPI_INT), MPI_ERR_TYPE);
        WRONG(Alltoall, alltoall, (from, 1, type, to, 1, MPI_INT), MPI_ERR_TYPE);
        WRONG(Alltoallv, alltoallv, (from, counts, places, MPI_INT, to, counts, places, type), MPI_ERR_TYPE);
        WRONG_BUT(IN_OTHERS, Reduce_scatter, reduce_scatter, (from, to, counts, type, MPI_SUM), MPI_ERR_TYPE);
        WRONG_BUT(IN_OTHERS, Reduce_scatter_block, reduce_scatter_block, (from, to, 1, type, MPI_SUM),
                  MPI_ERR_TYPE);
    }
    WRONG(Alltoallw, alltoallw, (from, counts, places, null_types, to, counts, places, types), MPI_ERR_TYPE);
    passed("types");
}

static void operations(void)
{
    const struct {
        MPI_Op op;
        MPI_Datatype type;
    } wrong[] = { { MPI_OP_NULL, MPI_INT },    { MPI_BAND, MPI_DOUBLE }, { MPI_MINLOC, MPI_INT },
                  { MPI_SUM, MPI_DOUBLE_INT }, { MPI_LAND, MPI_BYTE },   { MPI_MAX, MPI_C_DOUBLE_COMPLEX } };

    for (int i = 0; i < 6; i++) {
        MPI_Op op = wrong[i].op;
        MPI_Datatype type = wrong[i].type;
        int others = i ? IN_OPENMPI : 0; /* it checks only the operation */

        WRONG_BUT(others, Reduce, reduce, (from, to, 1, type, op, 0), MPI_ERR_OP);
        WRONG_BUT(others, Allreduce, allreduce, (from, to, 1, type, op), MPI_ERR_OP);
        WRONG_BUT(others, Scan, scan, (from, to, 1, type, op), MPI_ERR_OP);
        WRONG_BUT(others, Exscan, exscan, (from, to, 1, type, op), MPI_ERR_OP);
        WRONG_BUT(others, Reduce_scatter, reduce_scatter, (from, to, counts, type, op), MPI_ERR_OP);
        WRONG_BUT(others, Reduce_scatter_block, reduce_scatter_block, (from, to, 1, type, op), MPI_ERR_OP);
        REFUSED_BUT(IN_OPENMPI, MPI_Reduce_local(from, to, 1, type, op), MPI_ERR_OP);
    }
    REFUSED_BUT(IN_MPICH, MPI_Reduce_local(from, to, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OTHERS, MPI_Reduce_local(from, to, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
    passed("operations");
}

/* Tests one buffer for both arguments, and MPI_IN_PLACE on the wrong side. */
static void buffers(void)
{
    WRONG_BUT(IN_OPENMPI, Allreduce, allreduce, (from, from, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    WRONG_BUT(IN_OPENMPI, Scan, scan, (from, from, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    WRONG_BUT(IN_OPENMPI, Exscan, exscan, (from, from, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    WRONG_BUT(IN_OPENMPI, Alltoall, alltoall, (from, 1, MPI_INT, from, 1, MPI_INT), MPI_ERR_BUFFER);
    WRONG_BUT(IN_OTHERS, Reduce_scatter, reduce_scatter, (from, from, counts, MPI_INT, MPI_SUM),
              MPI_ERR_BUFFER);
    WRONG_BUT(IN_OPENMPI, Reduce_scatter_block, reduce_scatter_block, (from, from, 1, MPI_INT, MPI_SUM),
              MPI_ERR_BUFFER);
    WRONG_BUT(IN_OTHERS, Allreduce, allreduce, (from, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    WRONG_BUT(IN_OTHERS, Bcast, bcast, (MPI_IN_PLACE, 1, MPI_INT, 0), MPI_ERR_BUFFER);
    WRONG_BUT(IN_OPENMPI, Allgather, allgather, (to + rank, 1, MPI_INT, to, 1, MPI_INT), MPI_ERR_BUFFER);
    WRONG_BUT(IN_OPENMPI, Alltoallv, alltoallv, (to, counts, places, MPI_INT, to, counts, places, MPI_INT),
              MPI_ERR_BUFFER);
    REFUSED_BUT(IN_OPENMPI, MPI_Reduce_local(from, from, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    REFUSED_BUT(IN_OPENMPI, MPI_Reduce_local(MPI_IN_PLACE, to, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    if (rank != 0)
        REFUSED_BUT(IN_OTHERS, MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, to, 1, MPI_INT, 0, MPI_COMM_WORLD),
                    MPI_ERR_BUFFER);
    passed("buffers");
}

/* Tests ranks with different counts: a rank that receives more or less than it expects reports it. */
static void lengths(void)
{
    int error = MPI_Bcast(to, rank ? 10 : 1, MPI_INT, 0, MPI_COMM_WORLD);

    CHECK(rank != 1 || error != MPI_SUCCESS);
    error = MPI_Bcast(to, rank ? 1 : 10, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(rank != 1 || error != MPI_SUCCESS);
    passed("lengths");
}

static void still_right(void)
{
    int value = rank + 1, sum = 0;

    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, size * (size + 1) / 2);
    passed("right ones");
}

/* Tests NULL for the request of a nonblocking collective. */
static void nulls(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    int dims[1] = { 1 }, periods[1] = { 0 };
    MPI_Comm grid;

    REFUSED(MPI_Ibarrier(world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Ibcast(to, 1, MPI_INT, 0, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Iallreduce(from, to, 1, MPI_INT, MPI_SUM, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Ialltoall(from, 0, MPI_INT, to, 0, MPI_INT, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Iscan(from, to, 1, MPI_INT, MPI_SUM, world, NULL), MPI_ERR_ARG);
    MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &grid);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    REFUSED(MPI_Ineighbor_allgather(from, 1, MPI_INT, to, 1, MPI_INT, grid, NULL), MPI_ERR_ARG);
    MPI_Comm_free(&grid);
    passed("nulls");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    arrays_make();
    communicators();
    roots();
    negative_counts();
    wrong_types();
    operations();
    buffers();
    nulls();
    lengths();
    still_right();
    arrays_free();
    MPI_Type_free(&uncommitted);
    MPI_Finalize();
    return 0;
}
