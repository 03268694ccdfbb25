/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * common.c: options, time, statistics and output of the MPI benchmarks; common.h documents them. One thread
 * of each rank calls them, between bench_begin() and bench_end().
 */
#define _GNU_SOURCE
#include "common.h"
#include "order.h"
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE_BYTES     4096
#define GRID_MAX       65536
#define POINTS_MAX     (UINT64_C(1) << 30)
#define NS_OF_SECOND   UINT64_C(1000000000)
#define NS_OF_MICRO    1e3
#define MILLIONTHS_P99 990000
#define MILLIONTHS_50  500000

struct bench bench;

void bench_begin(const char *name, int *count, char ***words)
{
    MPI_Init(count, words);
    bench.name = name;
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
}

/* ---- Ends ---- */

_Noreturn void bench_refuse(const char *format, ...)
{
    va_list arguments;

    if (bench.rank == 0) {
        fprintf(stderr, "%s: ", bench.name);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fprintf(stderr, "\n");
    }
    MPI_Finalize();
    exit(2);
}

_Noreturn void bench_fail(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: rank %d: ", bench.name, bench.rank);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void bench_ranks_check(int minimum, int maximum)
{
    if (bench.ranks < minimum)
        bench_refuse("%d rank%s: it takes at least %d: mpiexec -n %d %s", bench.ranks,
                     bench.ranks == 1 ? "" : "s", minimum, minimum, bench.name);
    if (bench.ranks > maximum)
        bench_refuse("%d ranks: it takes at most %d", bench.ranks, maximum);
}

int bench_end(bool good)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);

    if (!written)
        fprintf(stderr, "%s: the output could not be written\n", bench.name);
    MPI_Finalize();
    return good && written ? 0 : 1;
}

bool bench_all(bool here)
{
    int good = here, all = 0;

    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* ---- Output ---- */

void bench_say(const char *format, ...)
{
    va_list arguments;

    if (bench.rank)
        return;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

void bench_say_where(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    struct timespec step = { 0 };
    int length;

    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = '\0';
    for (char *tab = library; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' ';
    clock_getres(CLOCK_MONOTONIC, &step);
    bench_say("# Ranks: %d\n", bench.ranks);
    bench_say("# Library: %s\n", library);
    bench_say("# Clock: CLOCK_MONOTONIC, step %lld ns\n",
              (long long)step.tv_sec * (long long)NS_OF_SECOND + step.tv_nsec);
}

void bench_say_verified(bool good)
{
    bench_say("Verification: %s\n", good ? "verified" : "not verified");
}

/* ---- Memory, time ---- */

void *bench_memory(size_t bytes)
{
    const size_t room = (bytes / PAGE_BYTES + 1) * PAGE_BYTES;
    void *memory = aligned_alloc(PAGE_BYTES, room);

    if (!memory)
        bench_fail("no memory for %zu bytes: use smaller sizes or fewer ranks", bytes);
    return memset(memory, 0, room);
}

uint64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_OF_SECOND + (uint64_t)now.tv_nsec;
}

struct bench_times bench_times_of_all(uint64_t *times_ns, size_t count)
{
    struct bench_times times = { 0 };

    MPI_Reduce(bench.rank ? times_ns : MPI_IN_PLACE, times_ns, (int)count, MPI_UINT64_T, MPI_MAX, 0,
               MPI_COMM_WORLD);
    if (bench.rank || !count)
        return times;
    order_sort(times_ns, count);
    times.minimum = (double)times_ns[0] / NS_OF_MICRO;
    times.median = (double)order_quantile(times_ns, count, MILLIONTHS_50) / NS_OF_MICRO;
    times.p99 = (double)order_quantile(times_ns, count, MILLIONTHS_P99) / NS_OF_MICRO;
    times.maximum = (double)times_ns[count - 1] / NS_OF_MICRO;
    return times;
}

/* ---- Options ---- */

/* Returns the option that a word is: `-x`, `--name` or `--name=value`, with the value in `*value`. Returns
 * NULL if it is none. */
static const struct bench_option *option_find(const struct bench_option *options, const char *word,
                                              const char **value)
{
    const bool is_long = !strncmp(word, "--", 2);
    const size_t length = is_long ? strcspn(word + 2, "=") : 0;

    *value = is_long && word[2 + length] ? word + 2 + length + 1 : NULL;
    for (; options->letter || options->name; options++) {
        if (is_long && options->name && length == strlen(options->name) &&
            !strncmp(word + 2, options->name, length))
            return options;
        if (!is_long && word[0] == '-' && word[1] && options->letter == word[1] && !word[2])
            return options;
    }
    return NULL;
}

/* Takes an option's value, or refuses it. */
static void option_take(const struct bench_option *option, const char *word, const char *value)
{
    const int name = (int)strcspn(word, "=");
    const char *right;

    if (option->number)
        right = parse_count(value, option->minimum, option->maximum, option->number);
    else
        right = option->read(value);
    if (right)
        bench_refuse("%.*s %s: %s", name, word, *value ? value : "''", right);
}

void bench_options_read(const struct bench_option *options, const char *usage, int count, char **words)
{
    for (int i = 1; i < count; i++) {
        const char *value, *word = words[i];
        const struct bench_option *option = option_find(options, word, &value);

        if (!strcmp(word, "--help")) {
            bench_say("%s", usage);
            exit(bench_end(true));
        }
        if (!option)
            bench_refuse("%s: there is no such option: %s --help lists them", *word ? word : "''",
                         bench.name);
        if (option->flag && value)
            bench_refuse("%s: --%s takes no value", word, option->name);
        if (option->flag) {
            *option->flag = true;
            continue;
        }
        if (!value && ++i == count)
            bench_refuse("%s: a value must follow it: %s --help says which", word, bench.name);
        option_take(option, word, value ? value : words[i]);
    }
}

/* ---- Values of options ---- */

/* Reads a size at `*text`, such as 8, 64K or 1M, and moves past it; false if it is none. */
static bool size_read(const char **text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    const char *unit;
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *bytes = strtoull(*text, &end, 10);
    if (*bytes > BENCH_SIZE_MAX)
        return false;
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        *bytes <<= 10 * (unit - units + 1);
        end++;
    }
    *text = end;
    return *bytes <= BENCH_SIZE_MAX;
}

/* Fills in the sizes of `first:last`, doubling from the first on; after 0 comes 1. */
static bool sizes_between(uint64_t first, uint64_t last, struct bench_sizes *sizes)
{
    if (first > last)
        return false;
    sizes->count = 0;
    for (uint64_t bytes = first; bytes <= last; bytes = bytes ? 2 * bytes : 1)
        sizes->bytes[sizes->count++] = bytes;
    return true;
}

const char *bench_sizes_read(const char *text, struct bench_sizes *sizes)
{
    static const char right[] = "give sizes in bytes up to 256M: from the first by doubling to the last, "
                                "8:1M, or at most 64 of them with commas, 8,1000,64K";
    uint64_t bytes, last;

    sizes->count = 0;
    for (;; text++) {
        if (sizes->count == BENCH_SIZES_MAX || !size_read(&text, &bytes))
            return right;
        sizes->bytes[sizes->count++] = bytes;
        if (!*text)
            return NULL;
        if (*text == ':' && sizes->count == 1) {
            text++;
            return size_read(&text, &last) && !*text && sizes_between(bytes, last, sizes) ? NULL : right;
        }
        if (*text != ',')
            return right;
    }
}

const char *bench_grid_read(const char *text, uint64_t grid[3], int *dimensions)
{
    uint64_t numbers[3] = { 1, 1, 1 };
    size_t count;

    if (parse_count_list(text, 1, GRID_MAX, numbers, 3, &count) || count < 2 ||
        numbers[0] * numbers[1] * numbers[2] > POINTS_MAX)
        return "give two or three numbers of points with commas, at most 2^30 points in all, such as "
               "64,64,64";
    memcpy(grid, numbers, sizeof numbers);
    *dimensions = (int)count;
    return NULL;
}

uint64_t bench_block_first(uint64_t total, int part, int parts)
{
    const uint64_t each = total / (uint64_t)parts, more = total % (uint64_t)parts, k = (uint64_t)part;

    return k * each + (k < more ? k : more);
}
