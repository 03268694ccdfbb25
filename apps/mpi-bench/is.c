/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * is.c: Integer Sort, in the manner of the NAS Parallel Benchmarks: computes the ranks of keys, nearly
 * normally distributed, ten times; two keys change before each time. The MPI library gets: an allreduce of
 * bucket sizes, an alltoall of counts, and an alltoallv of all keys.
 *
 * Written from D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.2.5 (partial and full
 * verification: its tables; class W's values: NPB 2.3 and later). A key's rank is the number of smaller keys.
 * Buckets go to processes in rising order, so that process p's keys are not above those of p + 1. Any number
 * of processes.
 */
#define _GNU_SOURCE
#include "common.h"
#include "generator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifndef IS_SEED
#define IS_SEED 314159265
#endif

#define ITERATIONS   10
#define TESTS        5
#define BUCKETS_LOG2 10
#define BUCKETS      (1 << BUCKETS_LOG2)

static const char usage[] =
    "usage: is [-c CLASS]\n"
    "\n"
    "Computes the ranks of integer keys, ten times, in the manner of NPB's IS.\n"
    "\n"
    "  -c, --class CLASS   S: 2^16 keys below 2^11; W: 2^20, 2^16; A: 2^23, 2^19 (default S)\n"
    "      --help          this text\n";

/*
 * A test key: in iteration i, 1 to 10, the rank of the key at `place` is `rank` + (i + `shift`) if it
 * `rises`, else `rank` - (i + `shift`).
 */
static const struct problem {
    char name;
    unsigned keys_log2, key_log2;
    struct test {
        int64_t place, rank;
        bool rises;
        int shift;
    } tests[TESTS];
} problems[] = {
    { 'S',
      16,
      11,
      { { 48427, 0, true, 0 },
        { 17148, 18, true, 0 },
        { 23627, 346, true, 0 },
        { 62548, 64917, false, 0 },
        { 4431, 65463, false, 0 } } },
    { 'W',
      20,
      16,
      { { 357773, 1249, true, -2 },
        { 934767, 11698, true, -2 },
        { 875723, 1039987, false, 0 },
        { 898999, 1043896, false, 0 },
        { 404505, 1048018, false, 0 } } },
    { 'A',
      23,
      19,
      { { 2112377, 104, true, -1 },
        { 662041, 17523, true, -1 },
        { 5336171, 123928, true, -1 },
        { 3642833, 8288932, false, -1 },
        { 4250760, 8388264, false, -1 } } },
};

static const struct problem *problem = problems;

/* The keys of this process: places `first` .. `first + count` of the sequence. */
static struct {
    int64_t first;
    int count;
    int *values;
    int *by_bucket;
} mine;

/* The keys that this process ranks, with values from `low` to below `high`; `before` is the number of smaller
 * keys. `less[v - low]` is the number of all keys that are less than v. */
static struct {
    int low, high, count, room;
    int *values;
    int64_t before;
    int64_t *less;
} ranked;

/* For each process: the number of keys to send there and to receive from it, and where they begin. */
static struct {
    int *sent, *sent_first, *received, *received_first;
} parts;

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

/* Generates the keys of this process. A key is a quarter of the largest key times the sum of four random
 * numbers, computed in whole numbers. */
static void keys_generate(void)
{
    const uint64_t total = UINT64_C(1) << problem->keys_log2;
    const unsigned drop = GENERATOR_BITS - (problem->key_log2 - 2);

    mine.first = (int64_t)bench_block_first(total, bench.rank, bench.ranks);
    mine.count = (int)((int64_t)bench_block_first(total, bench.rank + 1, bench.ranks) - mine.first);
    mine.values = bench_memory((size_t)mine.count * sizeof *mine.values);
    mine.by_bucket = bench_memory((size_t)mine.count * sizeof *mine.by_bucket);

    uint64_t state = generator_after(IS_SEED, 4 * (uint64_t)mine.first);

    for (int i = 0; i < mine.count; i++) {
        uint64_t sum = 0;

        for (int k = 0; k < 4; k++)
            sum += generator_next(&state);
        mine.values[i] = (int)(sum >> drop);
    }
}

static void key_set(int64_t place, int value)
{
    if (place >= mine.first && place < mine.first + mine.count)
        mine.values[place - mine.first] = value;
}

static int bucket_of(int key)
{
    return key >> (problem->key_log2 - BUCKETS_LOG2);
}

/* Sorts the keys of this process into buckets; sets `ends` to the end of each bucket. */
static void buckets_fill(const int *sizes, int *ends)
{
    int sum = 0;

    for (int b = 0; b < BUCKETS; b++) {
        ends[b] = sum;
        sum += sizes[b];
    }
    for (int i = 0; i < mine.count; i++)
        mine.by_bucket[ends[bucket_of(mine.values[i])]++] = mine.values[i];
}

/*
 * Gives buckets to processes, so that each has about the same number of keys: a bucket goes to the process
 * whose share of the keys holds the bucket's middle. Notes how many keys to send to each process, and which
 * keys this process ranks.
 */
static void buckets_share(const int *sizes, const int *all_sizes)
{
    const int64_t total = INT64_C(1) << problem->keys_log2;
    const int width = 1 << (problem->key_log2 - BUCKETS_LOG2);
    int64_t before = 0;

    memset(parts.sent, 0, (size_t)bench.ranks * sizeof *parts.sent);
    ranked.low = ranked.high = 0;
    ranked.before = 0;
    for (int b = 0; b < BUCKETS; b++) {
        int owner = (int)((before + all_sizes[b] / 2) * bench.ranks / total);

        if (owner >= bench.ranks)
            owner = bench.ranks - 1;
        parts.sent[owner] += sizes[b];
        if (owner == bench.rank) {
            if (ranked.high == 0) {
                ranked.low = b * width;
                ranked.before = before;
            }
            ranked.high = (b + 1) * width;
        }
        before += all_sizes[b];
    }
}

static void keys_exchange(void)
{
    int sent = 0;

    MPI_Alltoall(parts.sent, 1, MPI_INT, parts.received, 1, MPI_INT, MPI_COMM_WORLD);
    ranked.count = 0;
    for (int p = 0; p < bench.ranks; p++) {
        parts.sent_first[p] = sent;
        parts.received_first[p] = ranked.count;
        sent += parts.sent[p];
        ranked.count += parts.received[p];
    }
    if (ranked.count > ranked.room) {
        free(ranked.values);
        ranked.room = ranked.count + ranked.count / 8;
        ranked.values = bench_memory((size_t)ranked.room * sizeof *ranked.values);
    }
    MPI_Alltoallv(mine.by_bucket, parts.sent, parts.sent_first, MPI_INT, ranked.values, parts.received,
                  parts.received_first, MPI_INT, MPI_COMM_WORLD);
}

/* Counts, for each value of this process, the keys that are less; false if it received a foreign key. */
static bool keys_count(void)
{
    const int width = ranked.high - ranked.low;
    int64_t sum = ranked.before;

    memset(ranked.less, 0, (size_t)width * sizeof *ranked.less);
    for (int i = 0; i < ranked.count; i++) {
        if (ranked.values[i] < ranked.low || ranked.values[i] >= ranked.high)
            return false;
        ranked.less[ranked.values[i] - ranked.low]++;
    }
    for (int v = 0; v < width; v++) {
        const int64_t equal = ranked.less[v];

        ranked.less[v] = sum;
        sum += equal;
    }
    return true;
}

/* Computes the ranks of all keys once, and gets the values of the test keys. Returns false on an error. */
static bool keys_rank(int iteration, int *test_values)
{
    static int sizes[BUCKETS], all_sizes[BUCKETS], ends[BUCKETS];
    int values[TESTS] = { 0 };

    key_set(iteration, iteration);
    key_set(iteration + ITERATIONS, (1 << problem->key_log2) - iteration);
    for (int t = 0; t < TESTS; t++) {
        const int64_t place = problem->tests[t].place - mine.first;

        if (place >= 0 && place < mine.count)
            values[t] = mine.values[place];
    }
    memset(sizes, 0, sizeof sizes);
    for (int i = 0; i < mine.count; i++)
        sizes[bucket_of(mine.values[i])]++;
    MPI_Allreduce(sizes, all_sizes, BUCKETS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(values, test_values, TESTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    buckets_fill(sizes, ends);
    buckets_share(sizes, all_sizes);
    keys_exchange();
    return keys_count();
}

/* Returns how many of the test keys that this process ranks have the published rank. */
static int tests_passed(int iteration, const int *test_values)
{
    int passed = 0;

    for (int t = 0; t < TESTS; t++) {
        const struct test *test = &problem->tests[t];
        const int64_t move = iteration + test->shift;

        if (test_values[t] >= ranked.low && test_values[t] < ranked.high)
            passed += ranked.less[test_values[t] - ranked.low] == test->rank + (test->rises ? move : -move);
    }
    return passed;
}

/* Computes number, sum and sum of squares of keys, which sorting preserves. */
static void keys_digest(const int *values, int count, uint64_t digest[3])
{
    digest[0] = (uint64_t)count;
    digest[1] = digest[2] = 0;
    for (int i = 0; i < count; i++) {
        digest[1] += (uint64_t)values[i];
        digest[2] += (uint64_t)values[i] * (uint64_t)values[i];
    }
}

static int value_compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/*
 * Puts each key at the place of its rank. Returns, on all processes, whether the whole sequence rises, also
 * from process to process, and has the same keys as before.
 */
static bool is_sorted(void)
{
    uint64_t here[2][3], all[2][3];
    int *sorted = bench_memory((size_t)ranked.count * sizeof *sorted);
    int largest_before = -1;
    bool rises = true;

    for (int i = 0; i < ranked.count; i++) {
        const int64_t place = ranked.less[ranked.values[i] - ranked.low]++ - ranked.before;

        if (place < 0 || place >= ranked.count)
            bench_fail("the rank of key %d is outside of its process", ranked.values[i]);
        sorted[place] = ranked.values[i];
    }
    for (int i = 1; i < ranked.count; i++)
        rises = rises && value_compare(&sorted[i - 1], &sorted[i]) <= 0;
    /* A process without keys adds -1, so the next gets the largest key of all processes before it. */
    const int largest = ranked.count ? sorted[ranked.count - 1] : -1;

    MPI_Exscan(&largest, &largest_before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (bench.rank && ranked.count)
        rises = rises && largest_before <= sorted[0];
    keys_digest(mine.values, mine.count, here[0]);
    keys_digest(sorted, ranked.count, here[1]);
    MPI_Allreduce(here, all, 6, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    free(sorted);
    return bench_all(rises && !memcmp(all[0], all[1], sizeof all[0]));
}

static void memory_prepare(void)
{
    const size_t row = (size_t)bench.ranks * sizeof(int);

    parts.sent = bench_memory(row);
    parts.sent_first = bench_memory(row);
    parts.received = bench_memory(row);
    parts.received_first = bench_memory(row);
    ranked.less = bench_memory(((size_t)1 << problem->key_log2) * sizeof *ranked.less);
}

int main(int count, char **words)
{
    uint64_t times_ns[ITERATIONS];
    int test_values[TESTS], passed = 0, all_passed = 0;
    bool good = true;

    bench_begin("is", &count, &words);
    bench_options_read(options, usage, count, words);
    bench_say("# is: class %c, 2^%u keys below 2^%u, seed %d, %d iterations\n", problem->name,
              problem->keys_log2, problem->key_log2, IS_SEED, ITERATIONS);
    bench_say_where();
    keys_generate();
    memory_prepare();
    /* Once untimed, to touch memory and make connections. It changes keys as the first iteration does. */
    good = bench_all(keys_rank(1, test_values));
    for (int i = 1; i <= ITERATIONS && good; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const uint64_t begin_ns = bench_now_ns();
        const bool ranked_well = keys_rank(i, test_values);

        times_ns[i - 1] = bench_now_ns() - begin_ns;
        good = bench_all(ranked_well);
        if (good)
            passed += tests_passed(i, test_values);
    }
    MPI_Allreduce(&passed, &all_passed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const bool sorted = good && is_sorted();
    const struct bench_times times = bench_times_of_all(times_ns, good ? ITERATIONS : 0);

    good = sorted && all_passed == TESTS * ITERATIONS;
    bench_say("Ranks of test keys: %d of %d right\n", all_passed, TESTS * ITERATIONS);
    bench_say("Keys: %s\n", sorted ? "sorted" : "not sorted");
    bench_say("Iteration [us]: min %.3f, median %.3f, max %.3f\n", times.minimum, times.median,
              times.maximum);
    bench_say("Rate [million keys/s]: %.3f\n",
              times.median > 0 ? (double)(UINT64_C(1) << problem->keys_log2) / times.median : 0);
    bench_say_verified(good);
    return bench_end(good);
}
