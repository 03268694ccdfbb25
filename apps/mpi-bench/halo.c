/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * halo.c: a stencil whose blocks exchange their faces: Jacobi's iteration for Laplace's equation on a grid of
 * two or three dimensions; a point has 4 or 6 neighbours. The processes form a Cartesian grid
 * (MPI_Dims_create, MPI_Cart_create). Faces are datatypes (subarray and vector), so nothing is packed by
 * hand. A step is Irecv and Isend with each neighbour, Waitall, and the computation.
 *
 * A point's next value is its neighbours' sum, in a fixed order, times a constant: so it has the same bits
 * however the grid is divided. So has the checksum, the sum modulo 2^64 of the values' bits as whole numbers,
 * weighted by place. --check also computes the whole grid on rank 0, and compares.
 */
#define _GNU_SOURCE
#include "common.h"
#include "parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 1000000
#define TAG_FACE  7

static const char usage[] =
    "usage: halo [options]\n"
    "\n"
    "Computes a stencil over a grid that the ranks share; they exchange faces in each step.\n"
    "\n"
    "  -g, --grid X,Y[,Z]     points; X is contiguous in memory (default 64,64,64)\n"
    "  -p, --processes X,Y,Z  how the ranks divide the grid, 0 for the library's choice (default 0,0,0)\n"
    "  -n, --steps N          number of steps (default 100)\n"
    "      --periodic         the grid's ends meet; else they are held at fixed values\n"
    "      --check            compute the grid on rank 0 alone, too, and compare\n"
    "      --help             this text\n";

static struct {
    uint64_t grid[3], steps, processes[3];
    int dimensions;
    bool periodic, check;
} given = { .grid = { 64, 64, 64 }, .steps = 100, .dimensions = 3 };

/*
 * This process's block of the grid: `size` points from `first` on in x, y, z, with a layer of other blocks'
 * points around; `low` and `high` are the neighbours, MPI_PROC_NULL at an end.
 */
struct block {
    MPI_Comm comm;
    int processes[3], low[3], high[3];
    int64_t first[3], size[3];
    size_t row, plane; /* distances of points that are neighbours in y, z */
    double *now, *next;
    MPI_Datatype face[3];
};

static const char *grid_read(const char *text)
{
    return bench_grid_read(text, given.grid, &given.dimensions);
}

static const char *processes_read(const char *text)
{
    uint64_t numbers[3];
    size_t count;

    if (parse_count_list(text, 0, BENCH_RANKS_MAX, numbers, 3, &count) || count != 3)
        return "give three numbers of processes with commas, 0 for the library's choice, such as 0,0,1";
    memcpy(given.processes, numbers, sizeof numbers);
    return NULL;
}

static const struct bench_option options[] = {
    { .letter = 'g', .name = "grid", .read = grid_read },
    { .letter = 'p', .name = "processes", .read = processes_read },
    { .letter = 'n', .name = "steps", .number = &given.steps, .minimum = 1, .maximum = STEPS_MAX },
    { .name = "periodic", .flag = &given.periodic },
    { .name = "check", .flag = &given.check },
    { 0 },
};

/* ---- The block ---- */

static size_t place_of(const struct block *block, int64_t x, int64_t y, int64_t z)
{
    return (size_t)z * block->plane + (size_t)y * block->row + (size_t)x;
}

/* Makes the datatypes of the faces at right angles to x, y and z, one layer deep. */
static void faces_make(struct block *block)
{
    const int x = (int)block->size[0], y = (int)block->size[1], z = (int)block->size[2];
    const int sizes[3] = { z + 2, y + 2, x + 2 }, part[3] = { z, y, 1 }, start[3] = { 0, 0, 0 };

    MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &block->face[0]);
    MPI_Type_vector(z, x, (int)block->plane, MPI_DOUBLE, &block->face[1]);
    MPI_Type_vector(y, x, (int)block->row, MPI_DOUBLE, &block->face[2]);
    for (int d = 0; d < 3; d++)
        MPI_Type_commit(&block->face[d]);
}

/* Returns a value for a point's place in the grid, the same on every process; a multiple of 1/256 below 1. */
static double value_at(const int64_t place[3])
{
    uint64_t mixed = 0;

    for (int d = 0; d < 3; d++)
        mixed = (mixed ^ (uint64_t)(place[d] + 1)) * UINT64_C(0x9e3779b97f4a7c15);
    return (double)(mixed >> 56) / 256;
}

/* Sets the initial values of the block's points and of the layer around, which is constant at the ends. */
static void block_fill(struct block *block)
{
    for (int64_t z = 0; z < block->size[2] + 2; z++) {
        for (int64_t y = 0; y < block->size[1] + 2; y++) {
            for (int64_t x = 0; x < block->size[0] + 2; x++) {
                const int64_t place[3] = { block->first[0] + x - 1, block->first[1] + y - 1,
                                           block->first[2] + z - 1 };
                const size_t here = place_of(block, x, y, z);

                block->now[here] = block->next[here] = value_at(place);
            }
        }
    }
}

/* Decides how `ranks` ranks divide the grid: fills in the zeros of `processes`. Refuses what does not fit. */
static void processes_choose(int processes[3], int ranks)
{
    int64_t product = 1;

    if (given.dimensions == 2 && !processes[2])
        processes[2] = 1;
    for (int d = 0; d < 3; d++)
        product *= processes[d] ? processes[d] : 1;
    const bool is_whole = processes[0] && processes[1] && processes[2];

    if (is_whole ? product != ranks : ranks % product != 0)
        bench_refuse("-p %d,%d,%d: %d ranks: give numbers whose product is that, or divides it if one is 0",
                     processes[0], processes[1], processes[2], ranks);
    MPI_Dims_create(ranks, 3, processes);
    for (int d = 0; d < 3; d++) {
        if (given.grid[d] < (uint64_t)processes[d])
            bench_refuse("-g: %" PRIu64 " points in %c for %d processes: give at least as many, or others "
                         "with -p",
                         given.grid[d], "xyz"[d], processes[d]);
    }
}

/* Makes this process's block. All processes of `comm` call it; they share one grid. */
static void block_make(struct block *block, MPI_Comm comm)
{
    const int periods[3] = { given.periodic, given.periodic, given.periodic };
    int coordinates[3] = { 0, 0, 0 }, ranks, rank;
    size_t points;

    memset(block, 0, sizeof *block);
    MPI_Comm_size(comm, &ranks);
    for (int d = 0; d < 3 && comm != MPI_COMM_SELF; d++)
        block->processes[d] = (int)given.processes[d];
    processes_choose(block->processes, ranks);
    MPI_Cart_create(comm, 3, block->processes, periods, 1, &block->comm);
    MPI_Comm_rank(block->comm, &rank);
    MPI_Cart_coords(block->comm, rank, 3, coordinates);
    for (int d = 0; d < 3; d++) {
        MPI_Cart_shift(block->comm, d, 1, &block->low[d], &block->high[d]);
        const int parts = block->processes[d];

        block->first[d] = (int64_t)bench_block_first(given.grid[d], coordinates[d], parts);
        block->size[d] = (int64_t)bench_block_first(given.grid[d], coordinates[d] + 1, parts);
        block->size[d] -= block->first[d];
    }
    block->row = (size_t)block->size[0] + 2;
    block->plane = block->row * ((size_t)block->size[1] + 2);
    points = block->plane * ((size_t)block->size[2] + 2);
    block->now = bench_memory(points * sizeof *block->now);
    block->next = bench_memory(points * sizeof *block->next);
    faces_make(block);
    block_fill(block);
}

static void block_free(struct block *block)
{
    for (int d = 0; d < 3; d++)
        MPI_Type_free(&block->face[d]);
    MPI_Comm_free(&block->comm);
    free(block->now);
    free(block->next);
}

/* ---- A step ---- */

/* Fills the layer around the block from its neighbours. */
static void faces_exchange(struct block *block)
{
    MPI_Request requests[12];
    int count = 0;

    for (int d = 0; d < given.dimensions; d++) {
        int64_t own_low[3] = { 1, 1, 1 }, own_high[3] = { 1, 1, 1 };
        int64_t around_low[3] = { 1, 1, 1 }, around_high[3] = { 1, 1, 1 };

        own_high[d] = block->size[d];
        around_low[d] = 0;
        around_high[d] = block->size[d] + 1;
#define FACE(at) (block->now + place_of(block, at[0], at[1], at[2])), 1, block->face[d]
        MPI_Irecv(FACE(around_low), block->low[d], TAG_FACE + 2 * d, block->comm, &requests[count++]);
        MPI_Irecv(FACE(around_high), block->high[d], TAG_FACE + 2 * d + 1, block->comm, &requests[count++]);
        MPI_Isend(FACE(own_high), block->high[d], TAG_FACE + 2 * d, block->comm, &requests[count++]);
        MPI_Isend(FACE(own_low), block->low[d], TAG_FACE + 2 * d + 1, block->comm, &requests[count++]);
#undef FACE
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* Computes one row of x. Sums have a fixed order, and no multiply-add applies, so the bits are always the
 * same. */
static void row_compute(const struct block *block, size_t begin)
{
    const double *restrict now = block->now + begin;
    double *restrict next = block->next + begin;
    const ptrdiff_t row = (ptrdiff_t)block->row, plane = (ptrdiff_t)block->plane;

    if (given.dimensions == 2) {
        for (ptrdiff_t x = 0; x < block->size[0]; x++)
            next[x] = (now[x - 1] + now[x + 1] + now[x - row] + now[x + row]) * (1.0 / 4);
        return;
    }
    for (ptrdiff_t x = 0; x < block->size[0]; x++)
        next[x] = (now[x - 1] + now[x + 1] + now[x - row] + now[x + row] + now[x - plane] + now[x + plane]) *
                  (1.0 / 6);
}

static void step(struct block *block)
{
    double *now = block->now;

    faces_exchange(block);
    for (int64_t z = 1; z <= block->size[2]; z++) {
        for (int64_t y = 1; y <= block->size[1]; y++)
            row_compute(block, place_of(block, 1, y, z));
    }
    block->now = block->next;
    block->next = now;
}

/* ---- The result ---- */

/* The results, which do not depend on how the grid is divided. */
struct result {
    uint64_t checksum;
    double change; /* the largest of the last step */
};

static struct result result_of(const struct block *block)
{
    struct result here = { 0 }, all = { 0 };

    for (int64_t z = 1; z <= block->size[2]; z++) {
        for (int64_t y = 1; y <= block->size[1]; y++) {
            for (int64_t x = 1; x <= block->size[0]; x++) {
                const size_t at = place_of(block, x, y, z);
                const uint64_t index = (((uint64_t)(block->first[2] + z - 1) * given.grid[1]) +
                                        (uint64_t)(block->first[1] + y - 1)) *
                                           given.grid[0] +
                                       (uint64_t)(block->first[0] + x - 1);
                uint64_t bits;

                memcpy(&bits, &block->now[at], sizeof bits);
                here.checksum += (bits ^ bits >> 29) * (2 * index + 1);
                here.change = fmax(here.change, fabs(block->now[at] - block->next[at]));
            }
        }
    }
    MPI_Allreduce(&here.checksum, &all.checksum, 1, MPI_UINT64_T, MPI_SUM, block->comm);
    MPI_Allreduce(&here.change, &all.change, 1, MPI_DOUBLE, MPI_MAX, block->comm);
    return all;
}

/* Computes the same on rank 0 alone. Returns, on all ranks, whether the results agree. */
static bool result_is_right(const struct result *found)
{
    bool right = true;

    if (bench.rank == 0) {
        struct block whole;

        block_make(&whole, MPI_COMM_SELF);
        for (uint64_t i = 0; i < given.steps; i++)
            step(&whole);
        right = result_of(&whole).checksum == found->checksum;
        block_free(&whole);
    }
    return bench_all(right);
}

static void header_say(const struct block *block)
{
    bench_say("# halo: %d points, grid %" PRIu64 ",%" PRIu64 ",%" PRIu64 ", %" PRIu64 " steps, %s%s\n",
              given.dimensions == 2 ? 5 : 7, given.grid[0], given.grid[1], given.grid[2], given.steps,
              given.periodic ? "periodic" : "fixed ends", given.check ? "; the result is verified" : "");
    bench_say_where();
    bench_say("# Processes: %d,%d,%d\n", block->processes[0], block->processes[1], block->processes[2]);
}

int main(int count, char **words)
{
    struct block block;
    bool good = true;

    bench_begin("halo", &count, &words);
    bench_options_read(options, usage, count, words);
    block_make(&block, MPI_COMM_WORLD);
    header_say(&block);
    uint64_t *times_ns = bench_memory(given.steps * sizeof *times_ns);

    MPI_Barrier(block.comm);
    for (uint64_t i = 0; i < given.steps; i++) {
        const uint64_t begin_ns = bench_now_ns();

        step(&block);
        times_ns[i] = bench_now_ns() - begin_ns;
    }
    const struct bench_times times = bench_times_of_all(times_ns, given.steps);
    const struct result result = result_of(&block);

    bench_say("Checksum: %016" PRIx64 "\n", result.checksum);
    bench_say("Largest change of the last step: %.9e\n", result.change);
    bench_say("Step [us]: min %.3f, median %.3f, p99 %.3f, max %.3f\n", times.minimum, times.median,
              times.p99, times.maximum);
    if (given.check) {
        good = result_is_right(&result);
        bench_say_verified(good);
    }
    block_free(&block);
    free(times_ns);
    return bench_end(good);
}
