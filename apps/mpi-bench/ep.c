/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ep.c: Embarrassingly Parallel, in the manner of the NAS Parallel Benchmarks: pairs of uniform numbers
 * become pairs of Gaussian numbers by acceptance and rejection; their sums, and their counts in each square
 * annulus, are added over the ranks. It measures what nodes compute if they hardly communicate.
 *
 * Written from D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.2.1; the sums are
 * verified against the published ones. Ranks take blocks of 2^16 pairs; any number of ranks.
 */
#define _GNU_SOURCE
#include "common.h"
#include "generator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#ifndef EP_SEED
#define EP_SEED 271828183
#endif

#define BLOCK_LOG2 16
#define ANNULI     10
#define TOLERANCE  1e-8

static const char usage[] = "usage: ep [-c CLASS]\n"
                            "\n"
                            "Gaussian pairs by acceptance and rejection, in the manner of NPB's EP.\n"
                            "\n"
                            "  -c, --class CLASS   S, W or A: 2^24, 2^25 or 2^28 pairs (default S)\n"
                            "      --help          this text\n";

static const struct problem {
    char name;
    unsigned pairs_log2;
    double sum_x, sum_y;
} problems[] = {
    { 'S', 24, -3.247834652034740e+3, -6.958407078382297e+3 },
    { 'W', 25, -2.863319731645753e+3, -6.320053679109499e+3 },
    { 'A', 28, -4.295875165629892e+3, -1.580732573678431e+4 },
};

static const struct problem *problem = problems;

/* The results of a rank, or of all ranks. */
struct tally {
    double sums[2];
    uint64_t counts[ANNULI];
};

static const char *class_read(const char *text)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        if (text[0] == problems[i].name && !text[1]) {
            problem = &problems[i];
            return NULL;
        }
    }
    return "give a class: S, W or A";
}

static const struct bench_option options[] = {
    { .letter = 'c', .name = "class", .read = class_read },
    { 0 },
};

/* Returns the next number, uniform in -1 .. 1. */
static double uniform_next(uint64_t *state)
{
    return 2 * ((double)generator_next(state) / (double)(UINT64_C(1) << GENERATOR_BITS)) - 1;
}

static void block_tally(uint64_t block, struct tally *tally)
{
    uint64_t state = generator_after(EP_SEED, block << (BLOCK_LOG2 + 1));

    for (uint32_t i = 0; i < UINT32_C(1) << BLOCK_LOG2; i++) {
        const double x = uniform_next(&state), y = uniform_next(&state);
        const double square = x * x + y * y;

        if (square > 1)
            continue;
        const double scale = sqrt(-2 * log(square) / square);
        const double gauss_x = x * scale, gauss_y = y * scale;

        tally->counts[(int)fmax(fabs(gauss_x), fabs(gauss_y))]++;
        tally->sums[0] += gauss_x;
        tally->sums[1] += gauss_y;
    }
}

static bool is_near(double found, double published)
{
    return fabs((found - published) / published) <= TOLERANCE;
}

static void report(const struct tally *all, double seconds)
{
    uint64_t accepted = 0;

    for (int i = 0; i < ANNULI; i++)
        accepted += all->counts[i];
    bench_say("Gaussian pairs: %" PRIu64 "\n", accepted);
    bench_say("Sums: %.9e %.9e\n", all->sums[0], all->sums[1]);
    bench_say("Counts:");
    for (int i = 0; i < ANNULI; i++)
        bench_say(" %" PRIu64, all->counts[i]);
    bench_say("\nTime [s]: %.3f\n", seconds);
    bench_say("Rate [million pairs/s]: %.3f\n", ldexp(1, (int)problem->pairs_log2) / seconds / 1e6);
}

int main(int count, char **words)
{
    struct tally here = { 0 }, all = { 0 };

    bench_begin("ep", &count, &words);
    bench_options_read(options, usage, count, words);
    bench_say("# ep: class %c, 2^%u pairs, seed %d\n", problem->name, problem->pairs_log2, EP_SEED);
    bench_say_where();

    const uint64_t blocks = UINT64_C(1) << (problem->pairs_log2 - BLOCK_LOG2);
    const uint64_t end = bench_block_first(blocks, bench.rank + 1, bench.ranks);

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = MPI_Wtime();
    for (uint64_t block = bench_block_first(blocks, bench.rank, bench.ranks); block < end; block++)
        block_tally(block, &here);
    MPI_Allreduce(here.sums, all.sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(here.counts, all.counts, ANNULI, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    const double mine_s = MPI_Wtime() - begin_s;
    double seconds = mine_s;

    MPI_Reduce(&mine_s, &seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    report(&all, seconds);
    const bool good = bench_all(is_near(all.sums[0], problem->sum_x) && is_near(all.sums[1], problem->sum_y));

    bench_say_verified(good);
    return bench_end(good);
}
