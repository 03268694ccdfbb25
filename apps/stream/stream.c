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
#include "crew.h"

#define SCALAR 3.0

static size_t elements(size_t size)
{
    return size;
}

static void fill(const struct crew_arrays *arrays)
{
    for (size_t i = 0; i < arrays->size; i++) {
        arrays->b[i] = (double)(i % 1000);
        arrays->c[i] = (double)(i % 77);
    }
}

static void triad(const struct crew_arrays *arrays, size_t number, size_t count)
{
    size_t from = arrays->size * number / count, to = arrays->size * (number + 1) / count;
    double *restrict a = arrays->a;
    const double *restrict b = arrays->b, *restrict c = arrays->c;

    for (size_t i = from; i < to; i++)
        a[i] = b[i] + SCALAR * c[i];
}

static bool is_right(const struct crew_arrays *arrays)
{
    for (size_t i = 0; i < arrays->size; i++)
        if (arrays->a[i] != (double)(i % 1000) + SCALAR * (double)(i % 77))
            return false;
    return true;
}

static uint64_t bytes(size_t size)
{
    return 3 * sizeof(double) * size;
}

int main(int count, char **words)
{
    static const struct crew_program stream = {
        .name = "stream",
        .size_name = "ELEMENTS",
        .size_default = 1 << 20,
        .size_max = UINT64_C(1) << 36,
        .repetitions_default = 10,
        .elements = elements,
        .fill = fill,
        .part = triad,
        .is_right = is_right,
        .amount = bytes,
        .amount_name = "bytes",
    };

    return crew_main(count, words, &stream);
}
