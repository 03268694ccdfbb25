/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fftw.c: checks FFTW with its threads: transforms of various lengths against the sum that defines them, a
 * transform in three dimensions and its inverse, and several threads that use one plan at once.
 *
 *     fftw [THREADS]      plans of up to THREADS threads (4)
 */
#include "check.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>

#define CUBE 32

static void fill(fftw_complex *values, int count)
{
    unsigned state = 42;

    for (int i = 0; i < count; i++) {
        double parts[2];

        for (int part = 0; part < 2; part++) {
            state = state * 1664525u + 1013904223u;
            parts[part] = (double)(state >> 8) / (1 << 23) - 1;
        }
        values[i] = parts[0] + parts[1] * I;
    }
}

/* Compares some of the transform's values with the sum that defines them. */
static bool transform_right(int length, const fftw_complex *in, const fftw_complex *out)
{
    double complex *roots = malloc(sizeof(*roots) * (size_t)length);
    bool right = true;

    must("memory", roots != NULL);
    for (int j = 0; j < length; j++)
        roots[j] = cexp(-2 * M_PI * I * j / length);
    for (int k = 0; k < length; k += length / 13 + 1) {
        double complex sum = 0;

        for (int j = 0; j < length; j++)
            sum += in[j] * roots[(long)j * k % length];
        right = right && cabs(sum - out[k]) < 1e-8;
    }
    free(roots);
    return right;
}

static bool length_right(int length, int threads)
{
    fftw_complex *in = fftw_alloc_complex((size_t)length), *out = fftw_alloc_complex((size_t)length);
    fftw_plan plan;
    bool right;

    must("memory", in && out);
    fftw_plan_with_nthreads(threads);
    plan = fftw_plan_dft_1d(length, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
    fill(in, length);
    fftw_execute(plan);
    right = transform_right(length, in, out);
    fftw_destroy_plan(plan);
    fftw_free(in);
    fftw_free(out);
    return right;
}

static bool cube_right(int threads)
{
    const int count = CUBE * CUBE * CUBE;
    fftw_complex *values = fftw_alloc_complex((size_t)count), *kept = fftw_alloc_complex((size_t)count);
    fftw_plan there, back;
    bool right = true;

    must("memory", values && kept);
    fftw_plan_with_nthreads(threads);
    there = fftw_plan_dft_3d(CUBE, CUBE, CUBE, values, values, FFTW_FORWARD, FFTW_ESTIMATE);
    back = fftw_plan_dft_3d(CUBE, CUBE, CUBE, values, values, FFTW_BACKWARD, FFTW_ESTIMATE);
    fill(values, count);
    fill(kept, count);
    fftw_execute(there);
    fftw_execute(back);
    for (int i = 0; i < count; i++)
        right = right && cabs(values[i] / count - kept[i]) < 1e-12;
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    fftw_free(values);
    fftw_free(kept);
    return right;
}

#define SHARED_LENGTH 1200

static fftw_plan shared;
static _Atomic int right_transforms;

static void transform(int own)
{
    fftw_complex *in = fftw_alloc_complex(SHARED_LENGTH), *out = fftw_alloc_complex(SHARED_LENGTH);

    (void)own; /* all threads do the same */
    must("memory", in && out);
    for (int round = 0; round < 5; round++) {
        fill(in, SHARED_LENGTH);
        fftw_execute_dft(shared, in, out);
        right_transforms += transform_right(SHARED_LENGTH, in, out);
    }
    fftw_free(in);
    fftw_free(out);
}

int main(int argc, char **argv)
{
    const int lengths[] = { 1, 2, 17, 360, 1009, 4096, 30030 };
    const int threads = count_of(argc, argv, 4);
    fftw_complex *in = fftw_alloc_complex(SHARED_LENGTH), *out = fftw_alloc_complex(SHARED_LENGTH);

    must("threads of FFTW", fftw_init_threads() != 0);
    for (int crew = 1; crew <= threads; crew *= 2) {
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
            if (!length_right(lengths[i], crew)) {
                printf("length %d with %d threads: ", lengths[i], crew);
                wrong++;
            }
        }
        wrong += !cube_right(crew);
    }
    check("transforms of all lengths, by plans of all numbers of threads", !wrong);

    fftw_plan_with_nthreads(1);
    shared = fftw_plan_dft_1d(SHARED_LENGTH, in, out, FFTW_FORWARD, FFTW_ESTIMATE | FFTW_UNALIGNED);
    crew_run(threads, transform);
    check("several threads with one plan", right_transforms == 5 * threads);
    fftw_destroy_plan(shared);
    fftw_free(in);
    fftw_free(out);
    /* No fftw_cleanup_threads(): FFTW 3.3.10 aborts in it once in some hundred runs, on Linux, too. */
    return wrong != 0;
}
