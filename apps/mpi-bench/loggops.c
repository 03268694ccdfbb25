/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loggops.c: the LogGOPS parameters of messages between two ranks, over any MPI: L, o of sends and receives,
 * g, G, O, S, as docs/lab/loggops.md defines them. Measures rank 0 with a rank of another node, and with one
 * of its own, as far as there are such ranks; the others wait.
 *
 * After [Hoefler07, "Low-Overhead LogGP Parameter Assessment"], whose PRTT(n, s) is the time of n messages of
 * s bytes in a row and an answer of one byte:
 *
 *   o_s   how long MPI_Send takes, alone, with one byte; less what reading the clock takes, as o_r
 *   o_r   how long MPI_Recv takes of a message that has arrived long before
 *   O     the slope of both over the bytes: half their sum
 *   g, G  (PRTT(n, s) - PRTT(1, s)) / (n - 1) over the bytes: value at one byte, and slope. Where a processor
 *         is slower than the network this is its own o and O
 *   L     PRTT(1, 1) / 2 - o_s - o_r
 *   S     the most bytes that MPI_Send takes without waiting for the receiver
 *
 * A round measures everything; a value within it is a median. Of the rounds the median is printed, and the
 * 95 % interval of that median by the binomial distribution, which presumes nothing about the values.
 */
#define _GNU_SOURCE
#include "common.h"
#include "order.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES           8
#define BURST           16
#define ROUNDS_MAX      1000
#define REPETITIONS_MAX 10000
#define EAGER_MAX       (UINT64_C(4) << 20)
#define TAG             1
#define TRIES           3
#define MILLIONTHS_50   500000
#define LATE            4 /* round trips after which a message has surely arrived */

static const char usage[] =
    "usage: loggops [options]\n"
    "\n"
    "Measures L, o, g, G, O and S between rank 0 and one rank of another node, and one of its own.\n"
    "\n"
    "  -r, --rounds N        values of each parameter (default 20; at least 6)\n"
    "  -n, --repetitions N   measurements of a value in a round (default 20)\n"
    "  -m, --max BYTES           largest message but for S (default 16384); at most S is used\n";

static struct {
    uint64_t rounds, repetitions, largest;
} given = { .rounds = 20, .repetitions = 20, .largest = 16384 };

enum parameter { L, O_SEND, O_RECEIVE, GAP, GAP_BYTE, O_BYTE, PARAMETERS };
static const char *const names[PARAMETERS] = { "L", "o_s", "o_r", "g", "G", "O" };

static int peer;
static bool measures; /* this rank measures; its peer answers */
static char *buffer;
static uint64_t *times_ns;

/* ---- Messages ---- */

static void data_send(uint64_t bytes)
{
    MPI_Send(buffer, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
}

static void data_receive(uint64_t bytes)
{
    MPI_Recv(buffer, (int)bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_until(uint64_t end_ns)
{
    while (bench_now_ns() < end_ns)
        ;
}

static double median(void)
{
    order_sort(times_ns, given.repetitions);
    return (double)order_quantile(times_ns, given.repetitions, MILLIONTHS_50);
}

/* ---- What is timed. Both ranks call it; the result is valid on the one that measures, but for receives.
 * ---- */

/* Returns what a measurement of nothing shows. */
static double clock_alone(void)
{
    for (uint64_t i = 0; i < given.repetitions; i++) {
        const uint64_t begin_ns = bench_now_ns();

        times_ns[i] = bench_now_ns() - begin_ns;
    }
    return median();
}

/* Returns PRTT(n, s). */
static double trip(int n, uint64_t bytes)
{
    for (uint64_t i = 0; i < given.repetitions; i++) {
        const uint64_t begin_ns = bench_now_ns();

        for (int k = 0; k < n; k++)
            measures ? data_send(bytes) : data_receive(bytes);
        measures ? data_receive(1) : data_send(1);
        times_ns[i] = bench_now_ns() - begin_ns;
    }
    return median();
}

/* Returns how long a send takes that begins when no other message is under way. */
static double send_alone(uint64_t bytes, double trip_ns)
{
    for (uint64_t i = 0; i < given.repetitions; i++) {
        const uint64_t begin_ns = bench_now_ns();

        if (measures)
            data_send(bytes);
        times_ns[i] = bench_now_ns() - begin_ns;
        if (!measures)
            data_receive(bytes);
        wait_until(begin_ns + (uint64_t)(LATE * trip_ns));
        measures ? data_receive(1) : data_send(1);
    }
    return median();
}

/* Returns how long a receive takes of a message that is there. The peer is asked for it, and sends it. */
static double receive_alone(uint64_t bytes, double trip_ns)
{
    for (uint64_t i = 0; i < given.repetitions; i++) {
        if (!measures) {
            data_receive(1);
            data_send(bytes);
            continue;
        }
        data_send(1);
        wait_until(bench_now_ns() + (uint64_t)(LATE * trip_ns));
        const uint64_t begin_ns = bench_now_ns();
        data_receive(bytes);
        times_ns[i] = bench_now_ns() - begin_ns;
    }
    return measures ? median() : 0;
}

/* Returns whether a send of this size has ended although its receiver comes late. Valid on both ranks. */
static bool ends_alone(uint64_t bytes, double trip_ns)
{
    const uint64_t late_ns = (uint64_t)(LATE * trip_ns) + 1000 * 1000;
    char eager = 0;

    if (!measures) {
        data_receive(1); /* the sender is about to begin */
        wait_until(bench_now_ns() + late_ns);
        data_receive(bytes);
        MPI_Recv(&eager, 1, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return eager;
    }
    data_send(1);
    const uint64_t begin_ns = bench_now_ns();
    data_send(bytes);
    eager = bench_now_ns() - begin_ns < late_ns / 2;
    MPI_Send(&eager, 1, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    return eager;
}

/* Returns the same of several tries, because one that is disturbed seems to wait. */
static bool is_eager(uint64_t bytes, double trip_ns)
{
    for (int i = 0; i < TRIES; i++)
        if (ends_alone(bytes, trip_ns))
            return true;
    return false;
}

/* ---- Parameters ---- */

/* Returns S: bisects, after the first size by doubling that waits. EAGER_MAX: none waits. */
static uint64_t eager_limit(double trip_ns)
{
    uint64_t eager = 0, waits = 1;

    while (waits <= EAGER_MAX && is_eager(waits, trip_ns)) {
        eager = waits;
        waits *= 2;
    }
    if (waits > EAGER_MAX)
        return EAGER_MAX;
    while (waits - eager > 1) {
        const uint64_t middle = eager + (waits - eager) / 2;

        if (is_eager(middle, trip_ns))
            eager = middle;
        else
            waits = middle;
    }
    return eager;
}

/* Fits a line by least squares; returns its slope, and its value at one byte. */
static double line_fit(const uint64_t *bytes, const double *values, double *at_one)
{
    double mean_x = 0, mean_y = 0, products = 0, squares = 0;

    for (int i = 0; i < SIZES; i++) {
        mean_x += (double)bytes[i] / SIZES;
        mean_y += values[i] / SIZES;
    }
    for (int i = 0; i < SIZES; i++) {
        products += ((double)bytes[i] - mean_x) * (values[i] - mean_y);
        squares += ((double)bytes[i] - mean_x) * ((double)bytes[i] - mean_x);
    }
    *at_one = mean_y - products / squares * (mean_x - 1);
    return products / squares;
}

static void round_measure(uint64_t largest, double *found)
{
    uint64_t bytes[SIZES];
    double gaps[SIZES], sends[SIZES], receives[SIZES], one_ns = 0, ignored;

    const double clock_ns = clock_alone();

    for (int i = 0; i < SIZES; i++) {
        bytes[i] = 1 + (largest - 1) * (uint64_t)i / (SIZES - 1);
        const double trip_ns = trip(1, bytes[i]);

        one_ns = i ? one_ns : trip_ns;
        gaps[i] = (trip(BURST, bytes[i]) - trip_ns) / (BURST - 1);
        sends[i] = send_alone(bytes[i], trip_ns) - clock_ns;
        receives[i] = receive_alone(bytes[i], trip_ns) - clock_ns;
    }
    found[GAP_BYTE] = line_fit(bytes, gaps, &found[GAP]);
    found[O_BYTE] = (line_fit(bytes, sends, &ignored) + line_fit(bytes, receives, &ignored)) / 2;
    found[O_SEND] = sends[0];
    found[O_RECEIVE] = receives[0];
    found[L] = one_ns / 2 - sends[0] - receives[0];
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the number of sorted values below the 95 % interval of their median, as many as above it: at most
 * that many of `count` fair coins show heads in at most 2.5 % of all throws. */
static size_t interval_below(size_t count)
{
    double chance = pow(0.5, (double)count), sum = 0;
    size_t below = 0;

    while ((sum += chance) <= 0.025) {
        chance *= (double)(count - below) / (double)(below + 1);
        below++;
    }
    return below ? below - 1 : 0;
}

/* ---- Output ---- */

static void result_say(const char *where, double (*found)[PARAMETERS], uint64_t eager)
{
    const size_t rounds = given.rounds, below = interval_below(rounds);
    double values[ROUNDS_MAX], medians[PARAMETERS];

    for (int p = 0; p < PARAMETERS; p++) {
        for (size_t i = 0; i < rounds; i++)
            values[i] = found[i][p];
        qsort(values, rounds, sizeof *values, compare);
        medians[p] = (values[(rounds - 1) / 2] + values[rounds / 2]) / 2;
        printf("%-8s %-4s %12.4f %12.4f %12.4f  %s\n", where, names[p], medians[p], values[below],
               values[rounds - 1 - below], p == GAP_BYTE || p == O_BYTE ? "ns/byte" : "ns");
    }
    printf("%-8s %-4s %12" PRIu64 "%s bytes\n", where, "S", eager, eager == EAGER_MAX ? " or more" : "");
    if (medians[L] < 0)
        printf("# %s: L below 0: a call does what the other rank does meanwhile, as on one machine; take 0\n",
               where);
    for (int p = 0; p < PARAMETERS; p++)
        medians[p] = medians[p] > 0 ? medians[p] : 0; /* the model has no negative times */
    printf("# %s: sim -L %.0f --os %.0f --or %.0f -g %.0f -G %.6f -O %.6f -S %" PRIu64 "\n", where,
           medians[L], medians[O_SEND], medians[O_RECEIVE], medians[GAP], medians[GAP_BYTE], medians[O_BYTE],
           eager);
    fflush(stdout);
}

/* Measures between rank 0 and another. All ranks call it; -1: there is no such rank. */
static void pair_measure(const char *where, int other)
{
    static double found[ROUNDS_MAX][PARAMETERS];

    MPI_Barrier(MPI_COMM_WORLD);
    if (other < 0 || (bench.rank && bench.rank != other))
        return;
    measures = bench.rank == 0;
    peer = measures ? other : 0;
    const double trip_ns = trip(1, 1);
    const uint64_t eager = eager_limit(trip_ns);
    uint64_t largest = eager < given.largest ? eager : given.largest;
    largest = largest < SIZES ? SIZES : largest;
    for (uint64_t i = 0; i <= given.rounds; i++) /* the first one warms up */
        round_measure(largest, found[i ? i - 1 : 0]);
    if (measures)
        result_say(where, found, eager);
}

/* Finds the lowest rank of this node, and of another node, that is not rank 0; valid on all ranks. */
static void pairs_find(int *here, int *there)
{
    MPI_Comm node;
    int first = bench.rank, lowest[2] = { INT32_MAX, INT32_MAX };

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Bcast(&first, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    if (bench.rank)
        lowest[first != 0] = bench.rank;
    MPI_Allreduce(MPI_IN_PLACE, lowest, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    *here = lowest[0] == INT32_MAX ? -1 : lowest[0];
    *there = lowest[1] == INT32_MAX ? -1 : lowest[1];
}

static const char *largest_read(const char *text)
{
    struct bench_sizes sizes;
    const char *wrong = bench_sizes_read(text, &sizes);

    if (wrong || sizes.count != 1 || sizes.bytes[0] < SIZES || sizes.bytes[0] > EAGER_MAX)
        return "give one size from 8 bytes to 4M";
    given.largest = sizes.bytes[0];
    return NULL;
}

static const struct bench_option options[] = {
    { .letter = 'r', .name = "rounds", .number = &given.rounds, .minimum = 6, .maximum = ROUNDS_MAX },
    { .letter = 'n',
      .name = "repetitions",
      .number = &given.repetitions,
      .minimum = 1,
      .maximum = REPETITIONS_MAX },
    { .letter = 'm', .name = "max", .read = largest_read },
    { 0 },
};

int main(int count, char **words)
{
    int here, there;

    bench_begin("loggops", &count, &words);
    bench_options_read(options, usage, count, words);
    bench_ranks_check(2, BENCH_RANKS_MAX);
    buffer = bench_memory(EAGER_MAX + 1);
    times_ns = bench_memory(given.repetitions * sizeof *times_ns);
    pairs_find(&here, &there);
    bench_say("# loggops: %" PRIu64 " rounds of %" PRIu64 " repetitions, messages of 1 to %" PRIu64
              " bytes\n",
              given.rounds, given.repetitions, given.largest);
    bench_say_where();
    bench_say("# Ranks 0 and: %d of the same node, %d of another (-1: none)\n", here, there);
    bench_say("#where   name       median   95 %% from           to\n");
    pair_measure("node", here);
    pair_measure("between", there);
    MPI_Barrier(MPI_COMM_WORLD);
    return bench_end(true);
}
