/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collbench.c: times collectives, by size. A repetition begins with a barrier; each rank times the collective
 * alone; the sample is the largest of these times over the ranks. Statistics are of the samples.
 *
 * The bias: ranks leave the barrier one after the other, so a sample includes the time that the first to
 * leave waits for the last, about the barrier's own skew. Data that a rank sends early does not shorten the
 * next repetition, because there is a barrier in between. Roots are rank 0.
 *
 * The bytes of a row are what a rank contributes to, or receives from, one other rank: for bcast, reduce,
 * allreduce and scan the vector, for the others one rank's part. Reductions add doubles.
 */
#define _GNU_SOURCE
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT          0
#define ELEMENT_BYTES sizeof(double)
#define POISON        0xa5
#define TIMES         BENCH_REPETITIONS_MAX

static const char usage[] =
    "usage: collbench [options]\n"
    "\n"
    "Times collectives over all ranks, from a barrier to the last rank's return.\n"
    "\n"
    "  -c, --collectives LIST  with commas, of: barrier bcast reduce allreduce gather scatter allgather\n"
    "                          alltoall reduce_scatter scan (default: all)\n"
    "  -s, --sizes SIZES       8:1M (powers of two), or 8,1000,64K; bytes of one rank (default 8:1M)\n"
    "  -n, --repetitions N     number of samples (default 100)\n"
    "  -w, --warm-up N         repetitions that are not timed (default 10)\n"
    "      --check             verify the data that each collective delivers, once per size\n"
    "  -o, --output FILE       write the rows for scripts, tab separated\n"
    "      --help              this text\n";

static struct {
    uint64_t repetitions, warm_up;
    struct bench_sizes sizes;
    bool check, chosen[16];
    char output_path[4096];
} given = { .repetitions = 100, .warm_up = 10 };

static struct {
    char *sent, *received;
} buffers;

/* The origin of a part of the received data: it is the sum, over ranks `first` to `last`, of their sent part
 * `part`. */
struct origin {
    int first, last, part;
};

static void barrier_run(int count)
{
    (void)count; /* there is no data */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast_run(int count)
{
    void *buffer = bench.rank == ROOT ? buffers.sent : buffers.received;

    MPI_Bcast(buffer, count, MPI_BYTE, ROOT, MPI_COMM_WORLD);
}

static void reduce_run(int count)
{
    MPI_Reduce(buffers.sent, buffers.received, count, MPI_DOUBLE, MPI_SUM, ROOT, MPI_COMM_WORLD);
}

static void allreduce_run(int count)
{
    MPI_Allreduce(buffers.sent, buffers.received, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather_run(int count)
{
    MPI_Gather(buffers.sent, count, MPI_BYTE, buffers.received, count, MPI_BYTE, ROOT, MPI_COMM_WORLD);
}

static void scatter_run(int count)
{
    MPI_Scatter(buffers.sent, count, MPI_BYTE, buffers.received, count, MPI_BYTE, ROOT, MPI_COMM_WORLD);
}

static void allgather_run(int count)
{
    MPI_Allgather(buffers.sent, count, MPI_BYTE, buffers.received, count, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall_run(int count)
{
    MPI_Alltoall(buffers.sent, count, MPI_BYTE, buffers.received, count, MPI_BYTE, MPI_COMM_WORLD);
}

static void reduce_scatter_run(int count)
{
    static int counts[BENCH_RANKS_MAX];

    if (counts[0] != count) {
        for (int r = 0; r < bench.ranks; r++)
            counts[r] = count;
    }
    MPI_Reduce_scatter(buffers.sent, buffers.received, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan_run(int count)
{
    MPI_Scan(buffers.sent, buffers.received, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Returns the origin of part `part` of the data that this rank receives; so do the next functions. */
static struct origin from_root(int part)
{
    return (struct origin){ ROOT, ROOT, part };
}

static struct origin from_root_mine(int part)
{
    return (struct origin){ ROOT, ROOT, part + bench.rank };
}

static struct origin from_each(int part)
{
    return (struct origin){ part, part, 0 };
}

static struct origin from_each_mine(int part)
{
    return (struct origin){ part, part, bench.rank };
}

static struct origin sum_of_all(int part)
{
    return (struct origin){ 0, bench.ranks - 1, part };
}

static struct origin sum_of_all_mine(int part)
{
    return (struct origin){ 0, bench.ranks - 1, part + bench.rank };
}

static struct origin sum_to_mine(int part)
{
    return (struct origin){ 0, bench.rank, part };
}

/* Which ranks receive. */
enum receivers { NOBODY, THE_ROOT, ALL_BUT_ROOT, EVERYBODY };

static const struct collective {
    const char *name;
    void (*run)(int count);
    /* It sends a part to each rank; receives a part from each rank; adds doubles. */
    bool sends_parts, receives_parts, adds;
    enum receivers receivers;
    struct origin (*origin)(int part);
} collectives[] = {
    { "barrier", barrier_run, false, false, false, NOBODY, NULL },
    { "bcast", bcast_run, false, false, false, ALL_BUT_ROOT, from_root },
    { "reduce", reduce_run, false, false, true, THE_ROOT, sum_of_all },
    { "allreduce", allreduce_run, false, false, true, EVERYBODY, sum_of_all },
    { "gather", gather_run, false, true, false, THE_ROOT, from_each },
    { "scatter", scatter_run, true, false, false, EVERYBODY, from_root_mine },
    { "allgather", allgather_run, false, true, false, EVERYBODY, from_each },
    { "alltoall", alltoall_run, true, true, false, EVERYBODY, from_each_mine },
    { "reduce_scatter", reduce_scatter_run, true, false, true, EVERYBODY, sum_of_all_mine },
    { "scan", scan_run, false, false, true, EVERYBODY, sum_to_mine },
};
#define COLLECTIVES ((int)(sizeof collectives / sizeof *collectives))

/* ---- Data ---- */

/* Returns what rank `rank` sends at `index` of its part `part`: small numbers, so that sums are exact. */
static unsigned pattern(int rank, int part, size_t index)
{
    return (unsigned)((size_t)rank * 37 + (size_t)part * 101 + index * 7 + index / 251) % 251;
}

static void data_prepare(const struct collective *collective, size_t bytes)
{
    const size_t count = collective->adds ? bytes / ELEMENT_BYTES : bytes;
    const int parts = collective->sends_parts ? bench.ranks : 1;

    for (int part = 0; part < parts; part++) {
        char *begin = buffers.sent + (size_t)part * bytes;

        for (size_t i = 0; i < count; i++) {
            if (collective->adds)
                ((double *)(void *)begin)[i] = pattern(bench.rank, part, i);
            else
                begin[i] = (char)pattern(bench.rank, part, i);
        }
    }
    memset(buffers.received, POISON, bytes * (collective->receives_parts ? (size_t)bench.ranks : 1));
}

static bool part_is_right(const struct collective *collective, int part, size_t bytes)
{
    const size_t count = collective->adds ? bytes / ELEMENT_BYTES : bytes;
    const struct origin origin = collective->origin(part);
    const char *begin = buffers.received + (size_t)part * bytes;

    for (size_t i = 0; i < count; i++) {
        unsigned sum = 0;

        for (int r = origin.first; r <= origin.last; r++)
            sum += pattern(r, origin.part, i);
        if (collective->adds && ((const double *)(const void *)begin)[i] != sum)
            return false;
        if (!collective->adds && (unsigned char)begin[i] != sum)
            return false;
    }
    return true;
}

/* Runs the collective once. Returns, on all ranks, whether every rank has received the right data. */
static bool data_is_right(const struct collective *collective, size_t bytes, int count)
{
    const bool is_root = bench.rank == ROOT;
    const int parts = collective->receives_parts ? bench.ranks : 1;
    bool right = true;

    data_prepare(collective, bytes);
    collective->run(count);
    if (collective->receivers == EVERYBODY || (collective->receivers == THE_ROOT && is_root) ||
        (collective->receivers == ALL_BUT_ROOT && !is_root)) {
        for (int part = 0; part < parts; part++)
            right = right && part_is_right(collective, part, bytes);
    }
    return bench_all(right);
}

/* ---- Time ---- */

static struct bench_times times_measure(const struct collective *collective, int count)
{
    static uint64_t *times_ns;

    if (!times_ns)
        times_ns = bench_memory(given.repetitions * sizeof *times_ns);
    for (uint64_t i = 0; i < given.warm_up; i++)
        collective->run(count);
    for (uint64_t i = 0; i < given.repetitions; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const uint64_t begin_ns = bench_now_ns();

        collective->run(count);
        times_ns[i] = bench_now_ns() - begin_ns;
    }
    return bench_times_of_all(times_ns, given.repetitions);
}

/* Measures and prints a row; returns whether its data is right. */
static bool row_measure(const struct collective *collective, uint64_t bytes, FILE *output)
{
    const int count = (int)(collective->adds ? bytes / ELEMENT_BYTES : bytes);
    const bool checked = given.check && collective->receivers != NOBODY;
    const bool right = !checked || data_is_right(collective, bytes, count);
    const char *verdict = !checked ? "-" : right ? "ok" : "wrong";
    const struct bench_times times = times_measure(collective, count);

    bench_say("%-14s %9" PRIu64 " %11.3f %11.3f %11.3f %11.3f  %s\n", collective->name, bytes, times.minimum,
              times.median, times.p99, times.maximum, verdict);
    if (output)
        fprintf(output, "%s\t%" PRIu64 "\t%.3f\t%.3f\t%.3f\t%.3f\t%s\n", collective->name, bytes,
                times.minimum, times.median, times.p99, times.maximum, verdict);
    if (bench.rank == 0)
        fflush(stdout);
    return right;
}

/* ---- Options ---- */

static const char *collectives_read(const char *text)
{
    memset(given.chosen, 0, sizeof given.chosen);
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        int which = 0;

        while (which < COLLECTIVES &&
               (strncmp(text, collectives[which].name, length) || collectives[which].name[length]))
            which++;
        if (which == COLLECTIVES)
            return "give names with commas, of barrier bcast reduce allreduce gather scatter allgather "
                   "alltoall reduce_scatter scan";
        given.chosen[which] = true;
        text += length;
        if (!*text)
            return NULL;
    }
}

static const char *sizes_read(const char *text)
{
    return bench_sizes_read(text, &given.sizes);
}

static const char *output_read(const char *text)
{
    if (!*text || strlen(text) >= sizeof given.output_path)
        return "give the path of a file";
    strcpy(given.output_path, text);
    return NULL;
}

static const struct bench_option options[] = {
    { .letter = 'c', .name = "collectives", .read = collectives_read },
    { .letter = 's', .name = "sizes", .read = sizes_read },
    { .letter = 'n', .name = "repetitions", .number = &given.repetitions, .minimum = 1, .maximum = TIMES },
    { .letter = 'w', .name = "warm-up", .number = &given.warm_up, .maximum = TIMES },
    { .name = "check", .flag = &given.check },
    { .letter = 'o', .name = "output", .read = output_read },
    { 0 },
};

/* Refuses sizes that a chosen reduction cannot take. */
static void sizes_check(void)
{
    for (int c = 0; c < COLLECTIVES; c++) {
        for (size_t s = 0; s < given.sizes.count && given.chosen[c] && collectives[c].adds; s++) {
            if (given.sizes.bytes[s] % ELEMENT_BYTES)
                bench_refuse("-s %" PRIu64 ": %s adds doubles: give multiples of %zu, or others with -c",
                             given.sizes.bytes[s], collectives[c].name, ELEMENT_BYTES);
        }
    }
}

/* Opens the file of -o on rank 0; all ranks end if it cannot be written. */
static FILE *output_open(void)
{
    FILE *output = NULL;
    int fault = 0;

    if (!given.output_path[0])
        return NULL;
    if (bench.rank == 0) {
        output = fopen(given.output_path, "w");
        fault = output ? 0 : errno;
    }
    MPI_Bcast(&fault, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (fault)
        bench_refuse("-o %s: %s", given.output_path, strerror(fault));
    return output;
}

static void header_say(FILE *output)
{
    bench_say("# collbench: %" PRIu64 " repetitions after %" PRIu64 " of warm-up%s\n", given.repetitions,
              given.warm_up, given.check ? "; data is verified once per size" : "");
    bench_say_where();
    bench_say("# Sample: the largest time of a rank in one repetition, from a barrier on; it includes the "
              "barrier's skew\n");
    bench_say("# Times [us]; bytes of one rank (of one pair of ranks for alltoall); root %d\n", ROOT);
    bench_say("#%-13s %9s %11s %11s %11s %11s  check\n", "collective", "bytes", "min", "median", "p99",
              "max");
    if (output)
        fprintf(output, "#collective\tbytes\tmin_us\tmedian_us\tp99_us\tmax_us\tcheck\n");
}

int main(int count, char **words)
{
    uint64_t largest = 0;
    bool good = true;

    bench_begin("collbench", &count, &words);
    bench_sizes_read("8:1M", &given.sizes);
    memset(given.chosen, true, sizeof given.chosen);
    bench_options_read(options, usage, count, words);
    bench_ranks_check(1, BENCH_RANKS_MAX);
    sizes_check();
    FILE *output = output_open();

    for (size_t s = 0; s < given.sizes.count; s++)
        largest = given.sizes.bytes[s] > largest ? given.sizes.bytes[s] : largest;
    buffers.sent = bench_memory(largest * (size_t)bench.ranks);
    buffers.received = bench_memory(largest * (size_t)bench.ranks);
    header_say(output);
    for (int c = 0; c < COLLECTIVES; c++) {
        const bool is_sized = collectives[c].receivers != NOBODY;

        for (size_t s = 0; given.chosen[c] && s < (is_sized ? given.sizes.count : 1); s++)
            good = row_measure(&collectives[c], is_sized ? given.sizes.bytes[s] : 0, output) && good;
    }
    if (given.check)
        bench_say_verified(good);
    if (output && fclose(output)) {
        fprintf(stderr, "collbench: -o %s: %s\n", given.output_path, strerror(errno));
        good = false;
    }
    return bench_end(good);
}
