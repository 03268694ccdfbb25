/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * common.h: what the MPI benchmarks share: options, time, statistics, output, end. Everything here is
 * ordinary MPI 3.1 and libc, so that the same source links with mpi-lite, MPICH and Open MPI.
 *
 * Rank 0 alone prints. Options are read by all ranks after MPI_Init: all of them refuse the same, one of them
 * says why, and all end with status 2. What a benchmark could not verify ends with status 1.
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

/* This process among those of MPI_COMM_WORLD. */
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
 * An option: `-letter` or `--name`, with a value unless it is a `flag`. The value goes to `number`, checked
 * to be a whole number from `minimum` to `maximum`, or to `read`, which answers NULL or what would be right.
 * A table of them ends with one that has neither a letter nor a name.
 */
struct bench_option {
    char letter;
    const char *name;
    bool *flag;
    uint64_t *number;
    uint64_t minimum, maximum;
    const char *(*read)(const char *text);
};

/* MPI_Init, and who this is. */
void bench_begin(const char *name, int *count, char ***words);

/* Reads the options; --help prints `usage` and ends. Words that are no options are refused. */
void bench_options_read(const struct bench_option *options, const char *usage, int count, char **words);

/* All ranks: rank 0 says why on the error stream, after the program's name; all end with status 2. */
_Noreturn void bench_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Refuses to run on fewer ranks, or more. */
void bench_ranks_check(int minimum, int maximum);

/* One rank: says why it cannot go on, and ends the job with status 1. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory, aligned to a page, its pages touched; bench_fail() if there is none. */
void *bench_memory(size_t bytes);

/* printf of rank 0; nothing on the others. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The lines `# Ranks`, `# Library` and `# Clock`, with which every output begins after its own first. */
void bench_say_where(void);

/* Says `verified` or `not verified`; the same `good` on all ranks. */
void bench_say_verified(bool good);

/* MPI_Finalize; the status for main() to return, 1 too if the output could not be written. */
int bench_end(bool good);

/* Whether it is so on all ranks; on all ranks. */
bool bench_all(bool here);

/* ns of CLOCK_MONOTONIC. */
uint64_t bench_now_ns(void);

/* Order statistics of samples, microseconds; the 99th percentile is the nearest rank. */
struct bench_times {
    double minimum, median, p99, maximum;
};

/*
 * All ranks call it, each with its times of the same `count` repetitions, ns. A sample is the largest time of
 * a repetition over the ranks. The answer is valid on rank 0; `times_ns` is used as room.
 */
struct bench_times bench_times_of_all(uint64_t *times_ns, size_t count);

/* `8:1M` (powers of two), or `8,1000,64K`; NULL, or what would be right. */
const char *bench_sizes_read(const char *text, struct bench_sizes *sizes);

/* A grid such as `64,64` or `64,64,64`; the third is 1 of two. NULL, or what would be right. */
const char *bench_grid_read(const char *text, uint64_t grid[3], int *dimensions);

/* Where block `part` of `parts` nearly equal blocks of `total` begins; block `parts` begins at `total`. */
uint64_t bench_block_first(uint64_t total, int part, int parts);

#endif /* MPI_BENCH_COMMON_H */
