/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.c [-t THREADS] [-n ELEMENTS] [-r REPETITIONS]: the triad of McCalpin's STREAM, a[i] = b[i] + s *
 * c[i], the loop that memory's speed limits. Three arrays of doubles, split evenly among threads. Prints
 * `key value` lines: what crew.h measures, and the bytes of one repetition as STREAM counts them (two
 * read, one written). The same ELF file runs on Tacet and Linux; under QEMU's `-icount shift=0` the
 * quickest repetition's ticks are its instructions.
 *
 * Source: J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers",
 * IEEE TCCA Newsletter, December 1995.
 */
#define _GNU_SOURCE
#include "crew.h"
#include "memory.h"

#include <stdio.h>

#define ELEMENTS_DEFAULT    (1 << 20)
#define ELEMENTS_MOST       (UINT64_C(1) << 36)
#define REPETITIONS_DEFAULT 10
#define SCALAR              3.0

struct arrays {
    double *a, *b, *c;
    size_t elements;
};

static void triad(void *data, size_t number, size_t count)
{
    const struct arrays *arrays = data;
    size_t from = arrays->elements * number / count, to = arrays->elements * (number + 1) / count;
    double *restrict a = arrays->a;
    const double *restrict b = arrays->b, *restrict c = arrays->c;

    for (size_t i = from; i < to; i++)
        a[i] = b[i] + SCALAR * c[i];
}

static bool is_right(const struct arrays *arrays)
{
    for (size_t i = 0; i < arrays->elements; i++)
        if (arrays->a[i] != (double)(i % 1000) + SCALAR * (double)(i % 77))
            return false;
    return true;
}

int main(int count, char **words)
{
    struct crew_options options = { 1, ELEMENTS_DEFAULT, REPETITIONS_DEFAULT };
    struct arrays arrays;
    struct crew_result result;

    if (!crew_options_read(count, words, "stream", "ELEMENTS", ELEMENTS_MOST, &options))
        return 64;

    size_t elements = options.size;
    arrays.elements = elements;
    arrays.a = memory_ready(elements * sizeof(double));
    arrays.b = memory_ready(elements * sizeof(double));
    arrays.c = memory_ready(elements * sizeof(double));
    if (!arrays.a || !arrays.b || !arrays.c) {
        fprintf(stderr, "stream: no memory for three arrays of %zu doubles\n", arrays.elements);
        return 65;
    }
    for (size_t i = 0; i < elements; i++) {
        arrays.b[i] = (double)(i % 1000);
        arrays.c[i] = (double)(i % 77);
    }
    struct crew_work work = { "stream", options.threads, (unsigned)options.repetitions, triad, &arrays };

    if (!crew_run(&work, &result))
        return 73;
    if (!is_right(&arrays)) {
        fprintf(stderr, "stream: the result is wrong\n");
        return 1;
    }
    crew_print(&work, &result);
    printf("bytes %zu\n", 3 * sizeof(double) * arrays.elements);
    return 0;
}
