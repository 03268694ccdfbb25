/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dgemm.c [-t THREADS] [-n SIZE] [-r REPETITIONS]: C = A * B of square matrices of doubles, the loop that
 * the floating-point units limit. Rows of C are split among threads; blocks of B stay in the cache while
 * they are used. The code is small and uses no library, as it compares systems, not libraries. Prints
 * `key value` lines: what crew.h measures, and the floating-point operations of one repetition. The same
 * ELF file runs on Tacet and Linux; under QEMU's `-icount shift=0` the quickest repetition's ticks are its
 * instructions.
 */
#include "crew.h"

#include <string.h>

#define BLOCK 64

static size_t elements(size_t size)
{
    return size * size;
}

/* Sets A[i][k] = i + 1, B[k][j] = j - k: whole numbers, so that the order of additions does not matter. */
static void fill(const struct crew_arrays *m)
{
    for (size_t i = 0; i < m->size; i++)
        for (size_t j = 0; j < m->size; j++) {
            m->a[i * m->size + j] = (double)(i + 1);
            m->b[i * m->size + j] = (double)j - (double)i;
        }
}

/* Adds to one row of C the contribution of rows `from` .. `to` of B. */
static void row_add(double *restrict c, const double *restrict a, const double *restrict b, size_t from,
                    size_t to, size_t size)
{
    for (size_t k = from; k < to; k++)
        for (size_t j = 0; j < size; j++)
            c[j] += a[k] * b[k * size + j];
}

static void rows_multiply(const struct crew_arrays *m, size_t number, size_t count)
{
    size_t size = m->size, from = size * number / count, to = size * (number + 1) / count;

    memset(m->c + from * size, 0, (to - from) * size * sizeof(double));
    for (size_t block = 0; block < size; block += BLOCK)
        for (size_t i = from; i < to; i++)
            row_add(m->c + i * size, m->a + i * size, m->b, block,
                    block + BLOCK < size ? block + BLOCK : size, size);
}

static bool is_right(const struct crew_arrays *m)
{
    double size = (double)m->size;

    for (size_t i = 0; i < m->size; i++)
        for (size_t j = 0; j < m->size; j++)
            if (m->c[i * m->size + j] != (double)(i + 1) * (size * (double)j - size * (size - 1) / 2))
                return false;
    return true;
}

static uint64_t operations(size_t size)
{
    return 2 * size * size * size;
}

int main(int count, char **words)
{
    static const struct crew_program dgemm = {
        .name = "dgemm",
        .size_name = "SIZE",
        .size_default = 256,
        .size_max = 65536,
        .repetitions_default = 10,
        .elements = elements,
        .fill = fill,
        .part = rows_multiply,
        .is_right = is_right,
        .amount = operations,
        .amount_name = "operations",
    };

    return crew_main(count, words, &dgemm);
}
