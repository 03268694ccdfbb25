/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * common.h: what the MPI benchmarks share: options, time, statistics, output, end. It uses only ordinary MPI
 * 3.1 and libc, so that the same source links with mpi-lite, MPICH and Open MPI.
 *
 * Only rank 0 prints. All ranks read the options after MPI_Init. If they are wrong, rank 0 says why, and all
 * ranks end with status 2. If a benchmark cannot verify its result, it ends with status 1.
 */
#ifndef MPI_BENCH_COMMON_H
#define MPI_BENCH_COMMON_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_SIZES_MAX       64
#define BENCH_SIZE_MAX        (UINT64_C(1) << 28)
#define BENCH_RANKS_MAX       4096
#define BENCH_REPETITIONS_MAX 1000000

/* This process in MPI_COMM_WORLD. */
struct bench {
    const char *name;
    int rank, ranks;
};
extern struct bench bench;

/* Message sizes, bytes. */
struct bench_sizes {
    size_t count;
    uint64_t bytes[BENCH_SIZES_MAX];
};

/*
 * An option: `-letter` or `--name`, with a value unless it is a `flag`. The value goes to `number` if it is a
 * whole number from `minimum` to `maximum`; or to `read`, which returns NULL, or a phrase that says which
 * values are right. A table of options ends with one that has neither a letter nor a name.
 */
struct bench_option {
    char letter;
    const char *name;
    bool *flag;
    uint64_t *number;
    uint64_t minimum, maximum;
    const char *(*read)(const char *text);
};

/* Starts MPI with MPI_Init, and fills `bench`. */
void bench_begin(const char *name, int *count, char ***words);

/* Reads the options; --help prints `usage` and ends the program. Refuses words that are no options. */
void bench_options_read(const struct bench_option *options, const char *usage, int count, char **words);

/* Ends all ranks with status 2; rank 0 prints the program's name and the reason to standard error. All ranks
 * call it. */
_Noreturn void bench_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Refuses to run with fewer or more ranks. */
void bench_ranks_check(int minimum, int maximum);

/* Prints why this rank cannot continue, and ends the job with status 1. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns zeroed memory, aligned to a page, its pages touched; bench_fail() if there is none. */
void *bench_memory(size_t bytes);

/* Prints as printf does on rank 0; does nothing on the others. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the lines `# Ranks`, `# Library` and `# Clock`, which follow the first line of every output. */
void bench_say_where(void);

/* Prints `verified` or `not verified`; `good` is the same on all ranks. */
void bench_say_verified(bool good);

/* Ends MPI with MPI_Finalize. Returns the status for main(): 0, or 1 if not `good` or the output could not be
 * written. */
int bench_end(bool good);

/* Returns, on all ranks, whether `here` is true on all of them. */
bool bench_all(bool here);

/* Returns CLOCK_MONOTONIC in ns. */
uint64_t bench_now_ns(void);

/* Order statistics of samples, in microseconds; the 99th percentile is by nearest rank. */
struct bench_times {
    double minimum, median, p99, maximum;
};

/*
 * Computes the statistics of all ranks. Each rank calls it with its times of the same `count` repetitions, in
 * ns. A sample is the largest time of a repetition over the ranks. The result is valid on rank 0; overwrites
 * `times_ns`.
 */
struct bench_times bench_times_of_all(uint64_t *times_ns, size_t count);

/* Reads sizes, `8:1M` (powers of two) or `8,1000,64K`. Returns NULL, or which values are right. */
const char *bench_sizes_read(const char *text, struct bench_sizes *sizes);

/* Reads a grid such as `64,64` or `64,64,64`; of two numbers the third is 1. Returns NULL, or which values
 * are right. */
const char *bench_grid_read(const char *text, uint64_t grid[3], int *dimensions);

/* Returns where block `part` of `parts` nearly equal blocks of `total` begins; block `parts` begins at
 * `total`. */
uint64_t bench_block_first(uint64_t total, int part, int parts);

#endif /* MPI_BENCH_COMMON_H */
