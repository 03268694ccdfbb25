/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collectives.c: every collective, blocking and not, from every root, with counts near the limits between
 * algorithms, in place and not, with blocks of different sizes, with gaps, with an operation that does not
 * commute. [MPI 3.1 chapter 5]
 */
#include "check.h"
#include <time.h>

#define COUNTS ((int)(sizeof(counts) / sizeof(counts[0])))

static const int counts[] = { 0, 1, 7, 600, 3001, 40000 };
static int largest = 40000;

static int value_of(int from, int i)
{
    return from * 1009 + i % 977 * 3 + 1;
}

static int sum_of(int ranks, int i)
{
    int sum = 0;

    for (int from = 0; from < ranks; from++)
        sum += value_of(from, i);
    return sum;
}

static int *ints(size_t count)
{
    int *memory = malloc((count + 1) * sizeof(int));

    for (size_t i = 0; i <= count; i++)
        memory[i] = -1;
    return memory;
}

static void fill(int *to, int count, int from, int first)
{
    for (int i = 0; i < count; i++)
        to[i] = value_of(from, first + i);
}

/* Each part is a function of the count and the root, called for both forms. */
static int is_blocking;
#define RUN(name, iname, ...)                                    \
    do {                                                         \
        if (is_blocking) {                                       \
            MPI_##name(__VA_ARGS__, MPI_COMM_WORLD);             \
        } else {                                                 \
            MPI_Request request;                                 \
            MPI_I##iname(__VA_ARGS__, MPI_COMM_WORLD, &request); \
            MPI_Wait(&request, MPI_STATUS_IGNORE);               \
        }                                                        \
    } while (0)

static void broadcast(int count, int root)
{
    int *data = ints((size_t)count);

    if (rank == root)
        fill(data, count, root, 0);
    RUN(Bcast, bcast, data, count, MPI_INT, root);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(data[i], value_of(root, i));
    CHECK_EQUAL(data[count], -1);
    free(data);
}

static void reduce(int count, int root)
{
    int *own = ints((size_t)count), *sum = ints((size_t)count);

    fill(own, count, rank, 0);
    RUN(Reduce, reduce, own, sum, count, MPI_INT, MPI_SUM, root);
    for (int i = 0; i < count; i++) {
        CHECK_EQUAL(sum[i], rank == root ? sum_of(size, i) : -1);
        CHECK_EQUAL(own[i], value_of(rank, i));
    }
#ifdef MPICH_VERSION
    if (is_blocking) { /* MPICH 4.0 may crash in a reduction in place, by 2 ranks of 600 elements to rank 1 */
        free(own);
        free(sum);
        return;
    }
#endif
    RUN(Reduce, reduce, rank == root ? MPI_IN_PLACE : own, rank == root ? own : sum, count, MPI_INT, MPI_SUM,
        root);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(own[i], rank == root ? sum_of(size, i) : value_of(rank, i));
    free(own);
    free(sum);
}

static void allreduce(int count, int root)
{
    int *own = ints((size_t)count), *sum = ints((size_t)count);

    (void)root;
    fill(own, count, rank, 0);
    RUN(Allreduce, allreduce, own, sum, count, MPI_INT, MPI_SUM);
    RUN(Allreduce, allreduce, MPI_IN_PLACE, own, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++) {
        CHECK_EQUAL(sum[i], sum_of(size, i));
        CHECK_EQUAL(own[i], sum[i]);
    }
    CHECK_EQUAL(sum[count], -1);
    free(own);
    free(sum);
}

static void scans(int count, int root)
{
    int *own = ints((size_t)count), *sum = ints((size_t)count);

    (void)root;
    fill(own, count, rank, 0);
    RUN(Scan, scan, own, sum, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(sum[i], sum_of(rank + 1, i));
    RUN(Exscan, exscan, own, sum, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count && rank; i++)
        CHECK_EQUAL(sum[i], sum_of(rank, i));
    RUN(Scan, scan, MPI_IN_PLACE, own, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(own[i], sum_of(rank + 1, i));
    free(own);
    free(sum);
}

static void gather(int count, int root)
{
    int *own = ints((size_t)count), *all = ints((size_t)count * (size_t)size);

    fill(own, count, rank, 0);
    RUN(Gather, gather, own, count, MPI_INT, all, count, MPI_INT, root);
    for (int i = 0; i < count * size; i++)
        CHECK_EQUAL(all[i], rank == root ? value_of(i / count, i % count) : -1);
    if (rank == root) {
        memset(all, 0, (size_t)count * (size_t)size * sizeof(int));
        fill(all + (size_t)root * (size_t)count, count, root, 0);
        RUN(Gather, gather, MPI_IN_PLACE, count, MPI_INT, all, count, MPI_INT, root);
        for (int i = 0; i < count * size; i++)
            CHECK_EQUAL(all[i], value_of(i / count, i % count));
    } else {
        RUN(Gather, gather, own, count, MPI_INT, NULL, 0, MPI_INT, root);
    }
    free(own);
    free(all);
}

static void scatter(int count, int root)
{
    int *own = ints((size_t)count), *all = ints((size_t)count * (size_t)size);

    for (int to = 0; to < size && rank == root; to++)
        fill(all + (size_t)to * (size_t)count, count, to, root);
    if (rank == root)
        RUN(Scatter, scatter, all, count, MPI_INT, own, count, MPI_INT, root);
    else
        RUN(Scatter, scatter, NULL, 0, MPI_INT, own, count, MPI_INT, root);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(own[i], value_of(rank, root + i));
    if (rank == root)
        RUN(Scatter, scatter, all, count, MPI_INT, MPI_IN_PLACE, count, MPI_INT, root);
    else
        RUN(Scatter, scatter, NULL, 0, MPI_INT, own, count, MPI_INT, root);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(own[i], value_of(rank, root + i));
    free(own);
    free(all);
}

static void allgather(int count, int root)
{
    int *own = ints((size_t)count), *all = ints((size_t)count * (size_t)size);

    (void)root;
    fill(own, count, rank, 0);
    RUN(Allgather, allgather, own, count, MPI_INT, all, count, MPI_INT);
    for (int i = 0; i < count * size; i++)
        CHECK_EQUAL(all[i], value_of(i / count, i % count));
    memset(all, 0, (size_t)count * (size_t)size * sizeof(int));
    fill(all + (size_t)rank * (size_t)count, count, rank, 0);
    RUN(Allgather, allgather, MPI_IN_PLACE, 0, MPI_INT, all, count, MPI_INT);
    for (int i = 0; i < count * size; i++)
        CHECK_EQUAL(all[i], value_of(i / count, i % count));
    free(own);
    free(all);
}

static void alltoall(int count, int root)
{
    int *out = ints((size_t)count * (size_t)size), *in = ints((size_t)count * (size_t)size);

    (void)root;
    for (int to = 0; to < size; to++)
        fill(out + (size_t)to * (size_t)count, count, rank, to);
    RUN(Alltoall, alltoall, out, count, MPI_INT, in, count, MPI_INT);
    RUN(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_INT, out, count, MPI_INT);
    for (int i = 0; i < count * size; i++) {
        CHECK_EQUAL(in[i], value_of(i / count, rank + i % count));
        CHECK_EQUAL(out[i], in[i]);
    }
    free(out);
    free(in);
}

static void reduce_scatter(int count, int root)
{
    int *all = ints((size_t)count * (size_t)size), *own = ints((size_t)count);

    (void)root;
    fill(all, count * size, rank, 0);
    RUN(Reduce_scatter_block, reduce_scatter_block, all, own, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(own[i], sum_of(size, rank * count + i));
    RUN(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(all[i], own[i]);
    free(all);
    free(own);
}

/* Tests blocks of different sizes: rank r's have r % 3 * count elements, with a gap before each; Alltoallw's
 * are in bytes. */
static void varying(int count, int root)
{
    int *lengths = malloc((size_t)size * sizeof(int)), *places = malloc((size_t)size * sizeof(int));
    int *to_lengths = malloc((size_t)size * sizeof(int)), *to_places = malloc((size_t)size * sizeof(int));
    int total = 0, mine = rank % 3 * count, to_total = 0;
    MPI_Datatype *types = malloc((size_t)size * sizeof(*types));

    for (int i = 0; i < size; i++) {
        lengths[i] = i % 3 * count;
        places[i] = ++total;
        total += lengths[i];
        to_lengths[i] = mine;
        to_places[i] = ++to_total;
        to_total += mine;
        types[i] = MPI_INT;
    }
    int *own = ints((size_t)mine), *all = ints((size_t)total), *in = ints((size_t)to_total);
    fill(own, mine, rank, 0);
    RUN(Gatherv, gatherv, own, mine, MPI_INT, all, lengths, places, MPI_INT, root);
    for (int i = 0; i < size && rank == root; i++) {
        CHECK_EQUAL(all[places[i] - 1], -1);
        for (int j = 0; j < lengths[i]; j++)
            CHECK_EQUAL(all[places[i] + j], value_of(i, j));
    }
    memset(own, 0, (size_t)mine * sizeof(int));
    RUN(Scatterv, scatterv, all, lengths, places, MPI_INT, own, mine, MPI_INT, root);
    for (int j = 0; j < mine; j++)
        CHECK_EQUAL(own[j], value_of(rank, j));
    memset(all, 0xff, (size_t)total * sizeof(int));
    RUN(Allgatherv, allgatherv, own, mine, MPI_INT, all, lengths, places, MPI_INT);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < lengths[i]; j++)
            CHECK_EQUAL(all[places[i] + j], value_of(i, j));
    /* Block i of `all` goes to rank i, with its own length; each rank sends a block of this rank's length. */
    for (int i = 0; i < size; i++)
        fill(all + places[i], lengths[i], rank, i);
    RUN(Alltoallv, alltoallv, all, lengths, places, MPI_INT, in, to_lengths, to_places, MPI_INT);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < mine; j++)
            CHECK_EQUAL(in[to_places[i] + j], value_of(i, rank + j));
    memset(in, 0xff, (size_t)to_total * sizeof(int));
    for (int i = 0; i < size; i++) {
        places[i] *= (int)sizeof(int);
        to_places[i] *= (int)sizeof(int);
    }
    RUN(Alltoallw, alltoallw, all, lengths, places, types, in, to_lengths, to_places, types);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < mine; j++)
            CHECK_EQUAL(in[to_places[i] / (int)sizeof(int) + j], value_of(i, rank + j));
    fill(all, total - size, rank, 0);
    RUN(Reduce_scatter, reduce_scatter, all, own, lengths, MPI_INT, MPI_SUM);
    for (int j = 0, first = 0; j < mine; j++) {
        first = 0;
        for (int i = 0; i < rank; i++)
            first += lengths[i];
        CHECK_EQUAL(own[j], sum_of(size, first + j));
    }
    free(lengths);
    free(places);
    free(to_lengths);
    free(to_places);
    free(types);
    free(own);
    free(all);
    free(in);
}

/* ---- An operation that does not commute: products of 2 × 2 matrices, modulo a prime ---- */

static void multiply(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        long long *a = (long long *)from + 4 * i, *b = (long long *)to + 4 * i;
        const long long product[4] = { a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                                       a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3] };

        for (int j = 0; j < 4; j++)
            b[j] = product[j] % 1000003;
    }
}

static void matrix_of(int from, int i, long long *matrix)
{
    for (int j = 0; j < 4; j++)
        matrix[j] = (from * 7 + i * 3 + j * j + 1) % 1000003;
}

/* Computes the product of the matrices i of ranks 0 … ranks - 1. */
static void product_of(int ranks, int i, long long *product)
{
    long long next[4];
    int one = 1;
    MPI_Datatype none = MPI_DATATYPE_NULL;

    matrix_of(ranks - 1, i, product);
    for (int from = ranks - 2; from >= 0; from--) {
        matrix_of(from, i, next);
        multiply(next, product, &one, &none);
    }
}

static MPI_Datatype matrix;
static MPI_Op product;

static void check_products(const long long *found, int count, int ranks, int first)
{
    long long expected[4];

    for (int i = 0; i < count; i++) {
        product_of(ranks, first + i, expected);
        for (int j = 0; j < 4; j++)
            CHECK_EQUAL(found[4 * i + j], expected[j]);
    }
}

static void ordered(int count, int root)
{
    long long *own = malloc((size_t)(count * size + 1) * 4 * sizeof(*own));
    long long *found = malloc((size_t)(count + 1) * 4 * sizeof(*found));

    if (count > 3001) {
        free(own);
        free(found);
        return;
    }
    for (int i = 0; i < count * size; i++)
        matrix_of(rank, i, own + 4 * i);
    RUN(Reduce, reduce, own, found, count, matrix, product, root);
    if (rank == root)
        check_products(found, count, size, 0);
    RUN(Allreduce, allreduce, own, found, count, matrix, product);
    check_products(found, count, size, 0);
    RUN(Scan, scan, own, found, count, matrix, product);
    check_products(found, count, rank + 1, 0);
    RUN(Exscan, exscan, own, found, count, matrix, product);
    if (rank)
        check_products(found, count, rank, 0);
    RUN(Reduce_scatter_block, reduce_scatter_block, own, found, count, matrix, product);
    check_products(found, count, size, rank * count);
    free(own);
    free(found);
}

/* Tests data with a gap after each element on one side, without gaps on the other. */
static void gaps(int count, int root)
{
    MPI_Datatype column;
    int *spread = ints(2 * (size_t)count), *all = ints((size_t)count * (size_t)size);

    MPI_Type_vector(count, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < count; i++)
        spread[2 * i] = value_of(rank, i);
    RUN(Gather, gather, spread, 1, column, all, count, MPI_INT, root);
    for (int i = 0; i < count * size && rank == root; i++)
        CHECK_EQUAL(all[i], value_of(i / count, i % count));
    RUN(Allgather, allgather, spread, 1, column, all, count, MPI_INT);
    for (int i = 0; i < count * size; i++)
        CHECK_EQUAL(all[i], value_of(i / count, i % count));
    if (rank != root)
        memset(spread, 0xff, 2 * (size_t)count * sizeof(int));
    RUN(Bcast, bcast, spread, 1, column, root);
    for (int i = 0; i < 2 * count - 1; i++)
        CHECK_EQUAL(spread[i], i % 2 ? -1 : value_of(root, i / 2));
    MPI_Type_free(&column);
    free(spread);
    free(all);
}

static void part(const char *name, void (*run)(int count, int root))
{
    for (is_blocking = 0; is_blocking < 2; is_blocking++)
        for (int i = 0; i < COUNTS && counts[i] <= largest; i++)
            for (int root = 0; root < size; root += 1 + size / 3)
                run(counts[i], root);
    passed(name);
}

/* Tests many collectives at once, finished in another order. */
static void at_once(void)
{
    enum { COUNT = 30 };
    int sums[COUNT], values[COUNT];
    MPI_Request requests[2 * COUNT];

    for (int i = 0; i < COUNT; i++) {
        values[i] = rank + i;
        MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[COUNT + i]);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        CHECK_EQUAL(sums[i], size * (size - 1) / 2 + size * i);
    }
    MPI_Waitall(COUNT, requests + COUNT, MPI_STATUSES_IGNORE);
    passed("at once");
}

/* Tests a root that runs ahead of the others as far as possible: they must not take later data first. */
static void ahead(void)
{
    enum { TIMES = 100 };

    for (int root = 0; root < size; root++)
        for (int i = 0; i < TIMES; i++) {
            int value = rank == root ? root * TIMES + i : -1;

            if (rank != root && i % 10 == 0)
                nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
            MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
            CHECK_EQUAL(value, root * TIMES + i);
        }
    passed("ahead");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    if (count > 1)
        largest = atoi(arguments[1]);
    MPI_Type_contiguous(4, MPI_LONG_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &product);
    part("broadcast", broadcast);
    part("reduce", reduce);
    part("allreduce", allreduce);
    part("scans", scans);
    part("gather", gather);
    part("scatter", scatter);
    part("allgather", allgather);
    part("alltoall", alltoall);
    part("reduce scatter", reduce_scatter);
    part("varying", varying);
    part("ordered", ordered);
    part("gaps", gaps);
    at_once();
    ahead();
    MPI_Op_free(&product);
    MPI_Type_free(&matrix);
    MPI_Finalize();
    return 0;
}
