/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cg.c: conjugate gradients (M. Hestenes, E. Stiefel, 1952) for the Laplacian on a grid of two or three
 * dimensions with fixed ends. The matrix is sparse; each rank has a block of rows. The MPI library gets: in
 * every iteration two allreduces of one number, and persistent sends and receives of the vector's elements
 * that other ranks' rows need. The lists of these elements are made once by alltoall and alltoallv, as in
 * solvers that do not know the matrix's origin.
 *
 * The right side is made from a known solution, row by row, without messages. The result is verified: the
 * error's norm is at most the residual's over the least eigenvalue, which is known (with a factor of 2 for
 * rounding).
 */
#define _GNU_SOURCE
#include "common.h"
#include "parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX      100000
#define NEIGHBOURS_MAX 6
#define TAG_INDICES    3
#define SLACK          2.0

static const char usage[] =
    "usage: cg [options]\n"
    "\n"
    "Solves for the Laplacian on a grid by conjugate gradients.\n"
    "\n"
    "  -g, --grid X,Y[,Z]    points (default 32,32,32)\n"
    "  -t, --tolerance T     norm of the residual over that of the right side (default 1e-10)\n"
    "  -n, --iterations N    most iterations (default 1000)\n"
    "      --help            this text\n";

static struct {
    uint64_t grid[3], iterations;
    int dimensions;
    double tolerance;
} given = { .grid = { 32, 32, 32 }, .iterations = 1000, .dimensions = 3, .tolerance = 1e-10 };

/*
 * The rows `first` to `end` of the matrix, compressed: row i's elements are at begins[i] to begins[i + 1].
 * A column is a place in a vector of this rank, which holds its own rows and then the ghosts: elements of
 * other ranks in rising order of their rows.
 */
static struct {
    int64_t first, end, plane;
    int rows, ghosts;
    int *begins, *columns;
    double *values;
    /* The place of row first - plane + i, and of row end + i - plane for i from plane on; 0 if not needed. */
    int *ghost_places;
} matrix;

/* The exchange: for each rank the elements to send and to receive; and the requests. */
static struct {
    int *sent, *sent_first, *received, *received_first, *indices;
    double *packed;
    int total_sent, requests_count;
    MPI_Request *requests;
} plan;

static const char *grid_read(const char *text)
{
    return bench_grid_read(text, given.grid, &given.dimensions);
}

static const char *tolerance_read(const char *text)
{
    double tolerance;

    if (parse_positive(text, 1, &tolerance) || tolerance < 1e-13 || tolerance > 0.1)
        return "give a number from 1e-13 to 0.1, such as 1e-8";
    given.tolerance = tolerance;
    return NULL;
}

static const struct bench_option options[] = {
    { .letter = 'g', .name = "grid", .read = grid_read },
    { .letter = 't', .name = "tolerance", .read = tolerance_read },
    { .letter = 'n', .name = "iterations", .number = &given.iterations, .minimum = 1, .maximum = LIMIT_MAX },
    { 0 },
};

/* ---- The matrix ---- */

/* Returns the known solution: a multiple of 1/256 from 1 to below 2. */
static double solution_at(int64_t row)
{
    return 1 + (double)((uint64_t)(row + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 56) / 256;
}

/* Lists the rows of a point's neighbours in the grid, rising; returns their number. */
static int neighbours_of(int64_t row, int64_t rows[NEIGHBOURS_MAX])
{
    const int64_t x_size = (int64_t)given.grid[0], y_size = (int64_t)given.grid[1];
    const int64_t z_size = (int64_t)given.grid[2], plane = x_size * y_size;
    const int64_t x = row % x_size, y = row / x_size % y_size, z = row / plane;
    int count = 0;

    if (z > 0)
        rows[count++] = row - plane;
    if (y > 0)
        rows[count++] = row - x_size;
    if (x > 0)
        rows[count++] = row - 1;
    if (x + 1 < x_size)
        rows[count++] = row + 1;
    if (y + 1 < y_size)
        rows[count++] = row + x_size;
    if (z + 1 < z_size)
        rows[count++] = row + plane;
    return count;
}

/* Returns the note of the place of another rank's row; a neighbour is at most a plane away. */
static int *ghost_place(int64_t row)
{
    return &matrix.ghost_places[row < matrix.first ? row - (matrix.first - matrix.plane)
                                                   : row - matrix.end + matrix.plane];
}

static bool is_own(int64_t row)
{
    return row >= matrix.first && row < matrix.end;
}

/* Assigns places to the elements of other ranks that the rows need. Returns how many elements the matrix has
 * on this rank. */
static size_t ghosts_find(void)
{
    int64_t rows[NEIGHBOURS_MAX];
    size_t elements = 0;

    for (int64_t row = matrix.first; row < matrix.end; row++) {
        const int count = neighbours_of(row, rows);

        for (int k = 0; k < count; k++) {
            if (!is_own(rows[k]))
                *ghost_place(rows[k]) = 1;
        }
        elements += (size_t)count + 1;
    }
    for (int64_t i = 0; i < 2 * matrix.plane; i++) {
        if (matrix.ghost_places[i])
            matrix.ghost_places[i] = matrix.rows + matrix.ghosts++;
    }
    return elements;
}

/* Makes this rank's rows, and its part of the right side for the known solution. */
static void matrix_make(double **right)
{
    const uint64_t total = given.grid[0] * given.grid[1] * given.grid[2];
    int64_t rows[NEIGHBOURS_MAX];
    int at = 0;

    matrix.first = (int64_t)bench_block_first(total, bench.rank, bench.ranks);
    matrix.end = (int64_t)bench_block_first(total, bench.rank + 1, bench.ranks);
    matrix.rows = (int)(matrix.end - matrix.first);
    matrix.plane = (int64_t)(given.dimensions == 2 ? given.grid[0] : given.grid[0] * given.grid[1]);
    matrix.ghost_places = bench_memory(2 * (size_t)matrix.plane * sizeof *matrix.ghost_places);

    const size_t elements = ghosts_find();

    matrix.begins = bench_memory(((size_t)matrix.rows + 1) * sizeof *matrix.begins);
    matrix.columns = bench_memory(elements * sizeof *matrix.columns);
    matrix.values = bench_memory(elements * sizeof *matrix.values);
    *right = bench_memory((size_t)matrix.rows * sizeof **right);
    for (int i = 0; i < matrix.rows; i++) {
        const int64_t row = matrix.first + i;
        const int count = neighbours_of(row, rows);

        matrix.values[at] = 2 * given.dimensions;
        matrix.columns[at++] = i;
        (*right)[i] = 2 * given.dimensions * solution_at(row);
        for (int k = 0; k < count; k++) {
            matrix.values[at] = -1;
            matrix.columns[at++] = is_own(rows[k]) ? (int)(rows[k] - matrix.first) : *ghost_place(rows[k]);
            (*right)[i] -= solution_at(rows[k]);
        }
        matrix.begins[i + 1] = at;
    }
}

/* ---- The exchange ---- */

/* Lists the rows of the ghosts in order, and counts them for each rank. */
static int *ghost_rows_list(void)
{
    int *rows = bench_memory((size_t)matrix.ghosts * sizeof *rows);
    const int64_t total = (int64_t)(given.grid[0] * given.grid[1] * given.grid[2]);
    int owner = 0, count = 0;

    for (int64_t i = 0; i < 2 * matrix.plane; i++) {
        const int64_t row = i + (i < matrix.plane ? matrix.first : matrix.end) - matrix.plane;

        if (!matrix.ghost_places[i])
            continue;
        while (row >= (int64_t)bench_block_first((uint64_t)total, owner + 1, bench.ranks))
            owner++;
        plan.received[owner]++;
        rows[count++] = (int)row;
    }
    return rows;
}

/* Tells every owner, once, which of its elements are ghosts here. */
static void plan_make(void)
{
    const size_t row = (size_t)bench.ranks * sizeof(int);
    int received = 0;

    plan.sent = bench_memory(row);
    plan.sent_first = bench_memory(row);
    plan.received = bench_memory(row);
    plan.received_first = bench_memory(row);
    int *ghost_rows = ghost_rows_list();

    MPI_Alltoall(plan.received, 1, MPI_INT, plan.sent, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < bench.ranks; r++) {
        plan.received_first[r] = received;
        plan.sent_first[r] = plan.total_sent;
        received += plan.received[r];
        plan.total_sent += plan.sent[r];
    }
    plan.indices = bench_memory((size_t)plan.total_sent * sizeof *plan.indices);
    plan.packed = bench_memory((size_t)plan.total_sent * sizeof *plan.packed);
    plan.requests = bench_memory(2 * (size_t)bench.ranks * sizeof(MPI_Request));
    MPI_Alltoallv(ghost_rows, plan.received, plan.received_first, MPI_INT, plan.indices, plan.sent,
                  plan.sent_first, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < plan.total_sent; i++) {
        plan.indices[i] -= (int)matrix.first;
        if (plan.indices[i] < 0 || plan.indices[i] >= matrix.rows)
            bench_fail("another rank requests a row that this rank does not have");
    }
    free(ghost_rows);
}

/* Makes the persistent requests that fill the ghosts of `vector`. */
static void requests_make(double *vector)
{
    for (int r = 0; r < bench.ranks; r++) {
        if (plan.received[r])
            MPI_Recv_init(vector + matrix.rows + plan.received_first[r], plan.received[r], MPI_DOUBLE, r,
                          TAG_INDICES, MPI_COMM_WORLD, &plan.requests[plan.requests_count++]);
    }
    for (int r = 0; r < bench.ranks; r++) {
        if (plan.sent[r])
            MPI_Send_init(plan.packed + plan.sent_first[r], plan.sent[r], MPI_DOUBLE, r, TAG_INDICES,
                          MPI_COMM_WORLD, &plan.requests[plan.requests_count++]);
    }
}

static void ghosts_exchange(const double *vector)
{
    for (int i = 0; i < plan.total_sent; i++)
        plan.packed[i] = vector[plan.indices[i]];
    MPI_Startall(plan.requests_count, plan.requests);
    MPI_Waitall(plan.requests_count, plan.requests, MPI_STATUSES_IGNORE);
}

/* ---- Conjugate gradients ---- */

static double dot(const double *a, const double *b)
{
    double here = 0, all = 0;

    for (int i = 0; i < matrix.rows; i++)
        here += a[i] * b[i];
    MPI_Allreduce(&here, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void matrix_multiply(const double *vector, double *product)
{
    for (int i = 0; i < matrix.rows; i++) {
        double sum = 0;

        for (int k = matrix.begins[i]; k < matrix.begins[i + 1]; k++)
            sum += matrix.values[k] * vector[matrix.columns[k]];
        product[i] = sum;
    }
}

/* Solves for `right` into `found`, which is zero at first; `right` becomes the residual. Returns the number
 * of iterations; `*square` is the residual's square at the end. */
static uint64_t solve(double *right, double *found, uint64_t *times_ns, double *square)
{
    double *direction = bench_memory((size_t)(matrix.rows + matrix.ghosts) * sizeof *direction);
    double *product = bench_memory((size_t)matrix.rows * sizeof *product);
    const double goal = (*square = dot(right, right)) * given.tolerance * given.tolerance;
    uint64_t iteration = 0;

    requests_make(direction);
    memcpy(direction, right, (size_t)matrix.rows * sizeof *direction);
    while (iteration<given.iterations && * square> goal) {
        const uint64_t begin_ns = bench_now_ns();
        const double before = *square;

        ghosts_exchange(direction);
        matrix_multiply(direction, product);
        const double pace = before / dot(direction, product);

        for (int i = 0; i < matrix.rows; i++) {
            found[i] += pace * direction[i];
            right[i] -= pace * product[i];
        }
        *square = dot(right, right);
        for (int i = 0; i < matrix.rows; i++)
            direction[i] = right[i] + *square / before * direction[i];
        times_ns[iteration++] = bench_now_ns() - begin_ns;
    }
    for (int i = 0; i < plan.requests_count; i++)
        MPI_Request_free(&plan.requests[i]);
    free(direction);
    free(product);
    return iteration;
}

static double eigenvalue_min(void)
{
    double sum = 0;

    for (int d = 0; d < given.dimensions; d++) {
        const double sine = sin(M_PI / (2 * (double)(given.grid[d] + 1)));

        sum += 4 * sine * sine;
    }
    return sum;
}

int main(int count, char **words)
{
    double *right, square;

    bench_begin("cg", &count, &words);
    bench_options_read(options, usage, count, words);
    bench_say("# cg: Laplacian of %d points, grid %" PRIu64 ",%" PRIu64 ",%" PRIu64
              ", tolerance %.0e, at most %" PRIu64 " iterations\n",
              2 * given.dimensions + 1, given.grid[0], given.grid[1], given.grid[2], given.tolerance,
              given.iterations);
    bench_say_where();
    matrix_make(&right);
    plan_make();

    double *found = bench_memory((size_t)matrix.rows * sizeof *found);
    uint64_t *times_ns = bench_memory(given.iterations * sizeof *times_ns);
    const double right_norm = sqrt(dot(right, right));
    const uint64_t iterations = solve(right, found, times_ns, &square);
    const struct bench_times times = bench_times_of_all(times_ns, iterations);

    /* found becomes the error. */
    for (int i = 0; i < matrix.rows; i++)
        found[i] -= solution_at(matrix.first + i);
    const double error = sqrt(dot(found, found)), residual = sqrt(square) / right_norm;
    const double bound = SLACK * given.tolerance * right_norm / eigenvalue_min();
    const bool good = bench_all(residual <= given.tolerance && error <= bound);

    bench_say("Iterations: %" PRIu64 "\n", iterations);
    bench_say("Residual: %.1e\n", residual);
    bench_say("Error: %.1e, at most %.1e\n", error, bound);
    bench_say("Iteration [us]: min %.3f, median %.3f, p99 %.3f, max %.3f\n", times.minimum, times.median,
              times.p99, times.maximum);
    bench_say_verified(good);
    return bench_end(good);
}
