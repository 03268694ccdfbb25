/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openblas.c: checks OpenBLAS, which keeps a crew of threads and divides each operation among them: products
 * of several shapes against a naive computation, a system of equations, a decomposition; with crews of
 * several sizes, called from one thread and from several at a time.
 *
 *     openblas [THREADS]      crews of up to THREADS threads (4)
 */
#include "check.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

int dgesv_(const int *n, const int *columns, double *a, const int *lda, int *pivots, double *b,
           const int *ldb, int *info);
int dpotrf_(const char *half, const int *n, double *a, const int *lda, int *info);

#define SIZE 150 /* large enough for OpenBLAS to use threads; no multiple of its blocks */

/* Returns a pseudorandom number between -1 and 1, the same on every machine. */
static double number(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 23) - 1;
}

static double *matrix(int rows, int columns, unsigned seed)
{
    double *values = malloc(sizeof(double) * (size_t)rows * (size_t)columns);

    must("memory", values != NULL);
    for (int i = 0; i < rows * columns; i++)
        values[i] = number(&seed);
    return values;
}

/* Returns whether two matrices of `count` elements differ only by rounding. */
static bool same(const double *a, const double *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (!(fabs(a[i] - b[i]) < 1e-9))
            return false;
    }
    return true;
}

static bool product_right(int m, int n, int k, bool transposed)
{
    double *a = matrix(m, k, 1), *b = matrix(k, n, 2), *c = matrix(m, n, 3), *d = matrix(m, n, 3);
    bool right;

    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;

            for (int l = 0; l < k; l++)
                sum += a[i * k + l] * (transposed ? b[j * k + l] : b[l * n + j]);
            d[i * n + j] = 0.5 * sum - 2 * d[i * n + j];
        }
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, m, n, k, 0.5, a, k, b,
                transposed ? k : n, -2, c, n);
    right = same(c, d, m * n);
    free(a);
    free(b);
    free(c);
    free(d);
    return right;
}

static bool vectors_right(void)
{
    const int rows = 300, columns = 200;
    double *a = matrix(rows, columns, 4), *x = matrix(columns, 1, 5), *y = matrix(rows, 1, 6), dot = 0,
           naive = 0;
    bool right = true;

    cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1, a, columns, x, 1, 0, y, 1);
    for (int i = 0; i < rows; i++) {
        double sum = 0;

        for (int j = 0; j < columns; j++)
            sum += a[i * columns + j] * x[j];
        right = right && fabs(y[i] - sum) < 1e-9;
    }
    dot = cblas_ddot(rows * columns, a, 1, a, 1);
    for (int i = 0; i < rows * columns; i++)
        naive += a[i] * a[i];
    right = right && fabs(dot - naive) < 1e-6;
    free(a);
    free(x);
    free(y);
    return right;
}

/* Solves Ax = b, and decomposes A'A + nI into LL'. */
static bool equations_right(void)
{
    const int n = SIZE, one = 1;
    double *a = matrix(n, n, 7), *kept = matrix(n, n, 7), *x = matrix(n, 1, 8),
           *b = calloc((size_t)n, sizeof(*b));
    double *spd = calloc((size_t)n * n, sizeof(*spd)), *whole = calloc((size_t)n * n, sizeof(*whole));
    int *pivots = calloc((size_t)n, sizeof(*pivots)), info = -1;
    bool right;

    must("memory", b && spd && whole && pivots);
    for (int i = 0; i < n; i++) { /* Fortran's order: columns */
        for (int j = 0; j < n; j++)
            b[i] += a[j * n + i] * x[j];
    }
    dgesv_(&n, &one, a, &n, pivots, b, &n, &info);
    right = info == 0;
    for (int i = 0; i < n; i++)
        right = right && fabs(b[i] - x[i]) < 1e-7;

    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, n, n, 1, kept, n, 0, spd, n);
    for (int i = 0; i < n; i++)
        spd[i * n + i] += n;
    memcpy(whole, spd, sizeof(double) * (size_t)n * n);
    dpotrf_("L", &n, spd, &n, &info);
    right = right && info == 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0;

            for (int l = 0; l <= j; l++)
                sum += spd[l * n + i] * spd[l * n + j];
            right = right && fabs(sum - whole[j * n + i]) < 1e-8;
        }
    }
    free(a);
    free(kept);
    free(x);
    free(b);
    free(spd);
    free(whole);
    free(pivots);
    return right;
}

static _Atomic int right_products;

static void multiply(int own)
{
    for (int round = 0; round < 2; round++)
        right_products += product_right(64 + own, 80, 72, own % 2 != 0);
}

int main(int argc, char **argv)
{
    const int threads = count_of(argc, argv, 4);

    for (int crew = 1; crew <= threads; crew *= 2) {
        bool right = true;

        openblas_set_num_threads(crew);
        right = openblas_get_num_threads() == crew;
        right = product_right(SIZE, SIZE, SIZE, false) && right;
        right = product_right(SIZE, 7, 300, true) && right;
        right = product_right(1, SIZE, 450, false) && right;
        right = vectors_right() && right;
        right = equations_right() && right;
        if (!right)
            printf("crew of %d: ", crew);
        wrong += !right;
    }
    check("products, equations, decompositions by crews of all sizes", !wrong);

    /* Many calls: the crew synchronizes at each. */
    for (int round = 0; round < 8; round++)
        wrong += !product_right(80, 80, 80, false);
    check("small products one after another", !wrong);

    openblas_set_num_threads(2);
    crew_run(threads, multiply);
    check("products of several threads at a time", right_products == 2 * threads);
    return wrong != 0;
}
