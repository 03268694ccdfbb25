/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pingpong.c: messages between two ranks: latency, bandwidth one way and both ways, and message rate. Ranks
 * form pairs, rank i of the lower half with rank i + N/2. By default there is one pair. The other ranks wait
 * for its end (if there are more ranks than CPUs, they disturb it).
 *
 * latency        half of a round trip; a sample is the mean of `batch` of them
 * bandwidth      a window of messages one way, then an empty answer
 * bidirectional  a window each way at the same time, then an empty answer
 * rate           as bandwidth, with RATE_WINDOWS windows before the answer; messages of all pairs are added
 *
 * The lower rank measures; of several pairs the slowest counts. Every message of a window has its own place
 * at both ends, so that large windows do not stay in a cache; WINDOW_BYTES limits a window's memory.
 */
#define _GNU_SOURCE
#include "common.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WINDOW_MAX    1024
#define WINDOW_BYTES  (UINT64_C(64) << 20)
#define RATE_WINDOWS  16
#define BATCH_MAX     1000000
#define TAG_DATA      1
#define TAG_ANSWER    2
#define POISON        0xa5
#define SIZES_DEFAULT "0:4M"

static const char usage[] =
    "usage: pingpong [options]\n"
    "\n"
    "Times messages between rank 0 and rank N/2 of N.\n"
    "\n"
    "  -m, --modes LIST      with commas, of: latency bandwidth bidirectional rate (default latency)\n"
    "  -s, --sizes SIZES     0:4M (powers of two), or 0,1000,64K; bytes (default 0:4M)\n"
    "  -n, --repetitions N   samples (default 100)\n"
    "  -w, --warm-up N       repetitions that are not timed (default 10)\n"
    "  -W, --window N        messages in flight in one direction, at most 64M in all (default 64)\n"
    "  -b, --batch N         round trips per latency sample (default 1)\n"
    "  -p, --pairs N         pairs at the same time, rank i with rank i + N/2 (default 1)\n"
    "      --check           verify the data that a repetition leaves, once per size\n"
    "      --help            this text\n";

static struct {
    uint64_t repetitions, warm_up, window, batch, pairs;
    struct bench_sizes sizes;
    bool check, chosen[8];
} given = { .repetitions = 100, .warm_up = 10, .window = 64, .batch = 1, .pairs = 1 };

/* This rank's role: whether it is in a pair, its peer, and whether it is the lower rank, which begins. */
static struct {
    bool active, lower;
    int peer;
} self;

/* A window of messages of `bytes` each. */
struct load {
    int bytes, window;
};

static struct {
    char *sent, *received;
} buffers;
static MPI_Request requests[2 * WINDOW_MAX];

/* ---- The modes ---- */

static void data_send(int bytes)
{
    MPI_Send(buffers.sent, bytes, MPI_BYTE, self.peer, TAG_DATA, MPI_COMM_WORLD);
}

static void data_receive(int bytes)
{
    MPI_Recv(buffers.received, bytes, MPI_BYTE, self.peer, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void answer_exchange(bool sends)
{
    if (sends)
        MPI_Send(NULL, 0, MPI_BYTE, self.peer, TAG_ANSWER, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, self.peer, TAG_ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void window_exchange(const struct load *load, bool sends, bool receives)
{
    int count = 0;

    for (int i = 0; i < load->window && receives; i++)
        MPI_Irecv(buffers.received + (size_t)i * (size_t)load->bytes, load->bytes, MPI_BYTE, self.peer,
                  TAG_DATA, MPI_COMM_WORLD, &requests[count++]);
    for (int i = 0; i < load->window && sends; i++)
        MPI_Isend(buffers.sent + (size_t)i * (size_t)load->bytes, load->bytes, MPI_BYTE, self.peer, TAG_DATA,
                  MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void latency_run(const struct load *load)
{
    for (uint64_t i = 0; i < given.batch; i++) {
        if (self.lower)
            data_send(load->bytes);
        data_receive(load->bytes);
        if (!self.lower)
            data_send(load->bytes);
    }
}

static void bandwidth_run(const struct load *load)
{
    window_exchange(load, self.lower, !self.lower);
    answer_exchange(!self.lower);
}

static void bidirectional_run(const struct load *load)
{
    window_exchange(load, true, true);
    answer_exchange(!self.lower);
}

static void rate_run(const struct load *load)
{
    for (int i = 0; i < RATE_WINDOWS; i++)
        window_exchange(load, self.lower, !self.lower);
    answer_exchange(!self.lower);
}

static const struct mode {
    const char *name;
    void (*run)(const struct load *load);
    /* Windows of a repetition, both directions; 0 for messages one by one. */
    int windows;
    /* Whether the lower rank receives data; the upper rank does in every mode. */
    bool lower_receives;
} modes[] = {
    { "latency", latency_run, 0, true },
    { "bandwidth", bandwidth_run, 1, false },
    { "bidirectional", bidirectional_run, 2, true },
    { "rate", rate_run, RATE_WINDOWS, false },
};
#define MODES (sizeof modes / sizeof *modes)

/* ---- Data ---- */

static char pattern(int rank, size_t index)
{
    return (char)((size_t)rank * 59 + index * 13 + index / 241);
}

static bool data_is_right(const struct mode *mode, const struct load *load)
{
    const size_t bytes = (size_t)load->bytes * (size_t)load->window;
    bool right = true;

    for (size_t i = 0; i < bytes; i++)
        buffers.sent[i] = pattern(bench.rank, i);
    memset(buffers.received, POISON, bytes);
    if (self.active) {
        mode->run(load);
        for (size_t i = 0; i < bytes && (!self.lower || mode->lower_receives); i++)
            right = right && buffers.received[i] == pattern(self.peer, i);
    }
    return bench_all(right);
}

/* ---- Time ---- */

static struct bench_times times_measure(const struct mode *mode, const struct load *load)
{
    static uint64_t *times_ns;

    if (!times_ns)
        times_ns = bench_memory(given.repetitions * sizeof *times_ns);
    for (uint64_t i = 0; i < given.warm_up && self.active; i++)
        mode->run(load);
    /* Pairs begin together; within a pair, a repetition begins when the one before has been answered. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint64_t i = 0; i < given.repetitions && self.active; i++) {
        const uint64_t begin_ns = bench_now_ns();

        mode->run(load);
        times_ns[i] = self.lower ? bench_now_ns() - begin_ns : 0;
    }
    if (!self.active)
        memset(times_ns, 0, given.repetitions * sizeof *times_ns);
    return bench_times_of_all(times_ns, given.repetitions);
}

/* Measures and prints a row; returns whether its data is right. */
static bool row_measure(const struct mode *mode, uint64_t bytes)
{
    struct load load = { .bytes = (int)bytes, .window = 1 };

    if (mode->windows) {
        const uint64_t room = WINDOW_BYTES / (bytes ? bytes : 1);

        load.window = (int)(given.window < room ? given.window : room ? room : 1);
    }
    const bool right = !given.check || data_is_right(mode, &load);
    const struct bench_times times = times_measure(mode, &load);
    /* The divisor of a sample, which is half of a round trip, or a repetition. */
    const double parts = mode->windows ? 1 : 2 * (double)given.batch;
    const double messages = (mode->windows ? mode->windows * load.window : 1) * (double)given.pairs;
    const double median_us = times.median / parts;
    const double rate = median_us > 0 ? messages / median_us : 0;

    bench_say("%-14s %9" PRIu64 " %6d %11.3f %11.3f %11.3f %11.3f %11.2f %11.4f  %s\n", mode->name, bytes,
              load.window, times.minimum / parts, median_us, times.p99 / parts, times.maximum / parts,
              rate * (double)bytes, rate,
              !given.check ? "-"
              : right      ? "ok"
                           : "wrong");
    if (bench.rank == 0)
        fflush(stdout);
    return right;
}

/* ---- Options ---- */

static const char *modes_read(const char *text)
{
    memset(given.chosen, 0, sizeof given.chosen);
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        size_t which = 0;

        while (which < MODES && (strncmp(text, modes[which].name, length) || modes[which].name[length]))
            which++;
        if (which == MODES)
            return "give names with commas, of latency bandwidth bidirectional rate";
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

static const struct bench_option options[] = {
    { .letter = 'm', .name = "modes", .read = modes_read },
    { .letter = 's', .name = "sizes", .read = sizes_read },
    { .letter = 'n',
      .name = "repetitions",
      .number = &given.repetitions,
      .minimum = 1,
      .maximum = BENCH_REPETITIONS_MAX },
    { .letter = 'w', .name = "warm-up", .number = &given.warm_up, .maximum = BENCH_REPETITIONS_MAX },
    { .letter = 'W', .name = "window", .number = &given.window, .minimum = 1, .maximum = WINDOW_MAX },
    { .letter = 'b', .name = "batch", .number = &given.batch, .minimum = 1, .maximum = BATCH_MAX },
    { .letter = 'p', .name = "pairs", .number = &given.pairs, .minimum = 1, .maximum = BENCH_RANKS_MAX },
    { .name = "check", .flag = &given.check },
    { 0 },
};

static void pairs_make(void)
{
    const int half = bench.ranks / 2, pairs = (int)given.pairs;

    if (pairs > half)
        bench_refuse("-p %d: %d ranks: give at most %d", pairs, bench.ranks, half);
    self.lower = bench.rank < half;
    self.active = self.lower ? bench.rank < pairs : bench.rank - half < pairs;
    self.peer = self.lower ? bench.rank + half : bench.rank - half;
}

/* Allocates room for the largest window of the largest messages. */
static void buffers_make(void)
{
    uint64_t largest = WINDOW_BYTES, needed = 0;

    for (size_t s = 0; s < given.sizes.count; s++) {
        const uint64_t bytes = given.sizes.bytes[s], window = bytes * given.window;

        largest = bytes > largest ? bytes : largest;
        needed = window > needed ? window : needed;
    }
    buffers.sent = bench_memory(needed < largest ? needed : largest);
    buffers.received = bench_memory(needed < largest ? needed : largest);
}

static void header_say(void)
{
    bench_say("# pingpong: %" PRIu64 " repetitions after %" PRIu64 " of warm-up, window %" PRIu64
              ", batch %" PRIu64 "%s\n",
              given.repetitions, given.warm_up, given.window, given.batch,
              given.check ? "; data is verified once per size" : "");
    bench_say_where();
    bench_say("# Pairs: %" PRIu64 ", rank i with rank i + %d\n", given.pairs, bench.ranks / 2);
    bench_say("# Sample: latency: half of a round trip; bandwidth, bidirectional: a window and its answer; "
              "rate: %d windows and their answer\n",
              RATE_WINDOWS);
    bench_say("# Times [us]; MB/s of 10^6 bytes and messages/us of all pairs, at the median\n");
    bench_say("#%-13s %9s %6s %11s %11s %11s %11s %11s %11s  check\n", "mode", "bytes", "window", "min",
              "median", "p99", "max", "MB/s", "messages/us");
}

int main(int count, char **words)
{
    bool good = true;

    bench_begin("pingpong", &count, &words);
    bench_sizes_read(SIZES_DEFAULT, &given.sizes);
    given.chosen[0] = true;
    bench_options_read(options, usage, count, words);
    bench_ranks_check(2, BENCH_RANKS_MAX);
    pairs_make();
    buffers_make();
    header_say();
    for (size_t m = 0; m < MODES; m++) {
        for (size_t s = 0; given.chosen[m] && s < given.sizes.count; s++)
            good = row_measure(&modes[m], given.sizes.bytes[s]) && good;
    }
    if (given.check)
        bench_say_verified(good);
    return bench_end(good);
}
