/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dgemm.c [-t THREADS] [-n SIZE] [-r REPETITIONS]: C = A * B of square matrices of doubles, the loop that
 * the floating-point units limit. Rows of C are split among threads; blocks of B stay in the cache while
 * they are used. Small code of our own: what is compared is the system below it, not the library. Prints
 * `key value` lines: what crew.h measures, and the floating-point operations of one repetition. The same
 * ELF file runs on Tacet and Linux; under QEMU's `-icount shift=0` the quickest repetition's ticks are its
 * instructions.
 */
#define _GNU_SOURCE
#include "crew.h"
#include "memory.h"

#include <stdio.h>
#include <string.h>

#define SIZE_DEFAULT        256
#define SIZE_MOST           65536
#define BLOCK               64
#define REPETITIONS_DEFAULT 10

struct matrices {
    double *a, *b, *c;
    size_t size;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One row of C, the part that a block of B's rows gives. */
static void row_add(double *restrict c, const double *restrict a, const double *restrict b, size_t from,
                    size_t to, size_t size)
{
    for (size_t k = from; k < to; k++)
        for (size_t j = 0; j < size; j++)
            c[j] += a[k] * b[k * size + j];
}

static void rows_multiply(void *data, size_t number, size_t count)
{
    const struct matrices *m = data;
    size_t size = m->size, from = size * number / count, to = size * (number + 1) / count;

    memset(m->c + from * size, 0, (to - from) * size * sizeof(double));
    for (size_t block = 0; block < size; block += BLOCK)
        for (size_t i = from; i < to; i++)
            row_add(m->c + i * size, m->a + i * size, m->b, block, smaller(block + BLOCK, size), size);
}

/* A[i][k] = i + 1, B[k][j] = j - k: whole numbers, so that every order of adding gives the same. */
static void fill(const struct matrices *m)
{
    for (size_t i = 0; i < m->size; i++)
        for (size_t j = 0; j < m->size; j++) {
            m->a[i * m->size + j] = (double)(i + 1);
            m->b[i * m->size + j] = (double)j - (double)i;
        }
}

static bool is_right(const struct matrices *m)
{
    double size = (double)m->size;

    for (size_t i = 0; i < m->size; i++)
        for (size_t j = 0; j < m->size; j++)
            if (m->c[i * m->size + j] != (double)(i + 1) * (size * (double)j - size * (size - 1) / 2))
                return false;
    return true;
}

int main(int count, char **words)
{
    struct crew_options options = { 1, SIZE_DEFAULT, REPETITIONS_DEFAULT };
    struct matrices m;
    struct crew_result result;

    if (!crew_options_read(count, words, "dgemm", "SIZE", SIZE_MOST, &options))
        return 64;

    size_t size = options.size;
    m.size = size;
    m.a = memory_ready(size * size * sizeof(double));
    m.b = memory_ready(size * size * sizeof(double));
    m.c = memory_ready(size * size * sizeof(double));
    if (!m.a || !m.b || !m.c) {
        fprintf(stderr, "dgemm: no memory for three matrices of %zu rows\n", m.size);
        return 65;
    }
    fill(&m);
    struct crew_work work = { "dgemm", options.threads, (unsigned)options.repetitions, rows_multiply, &m };

    if (!crew_run(&work, &result))
        return 73;
    if (!is_right(&m)) {
        fprintf(stderr, "dgemm: the result is wrong\n");
        return 1;
    }
    crew_print(&work, &result);
    printf("operations %zu\n", 2 * m.size * m.size * m.size);
    return 0;
}
