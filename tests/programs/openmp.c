/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * openmp.c: an OpenMP program as scientists write them, with the compiler's own runtime: loops of all
 * schedules, reductions, critical sections, locks, tasks, sections, many barriers. What it prints depends on
 * OMP_NUM_THREADS alone; it ends with 1 if something was wrong.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 100000

static int broken;

static void check(const char *what, long got, long expected)
{
    printf("%s: %ld%s\n", what, got, got == expected ? "" : " WRONG");
    broken += got != expected;
}

static void loops(void)
{
    static int marks[COUNT];
    long sum = 0, many = 0;
    double product = 1;

#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        marks[i]++;
#pragma omp parallel for schedule(dynamic, 7)
    for (int i = 0; i < COUNT; i++)
        marks[i]++;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
    for (int i = 0; i < COUNT; i++)
        sum += marks[i];
    check("parallel for, three schedules", sum, 2L * COUNT);
#pragma omp parallel for reduction(* : product) reduction(max : many)
    for (int i = 1; i <= 20; i++) {
        product *= i;
        many = i > many ? i : many;
    }
    check("reduction of a product", (long)product, 2432902008176640000);
    check("reduction of a maximum", many, 20);
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 100; j++)
            sum += i * j;
    check("collapsed loops", sum, 2L * COUNT + 4950L * 4950);
}

static void together(void)
{
    long in_critical = 0, atomics = 0, singles = 0, unseen = 0;
    omp_lock_t lock;
    long in_lock = 0, threads = 0;

    omp_init_lock(&lock);
#pragma omp parallel
    {
#pragma omp single
        threads = omp_get_num_threads();
        for (int i = 0; i < 1000; i++) {
#pragma omp critical
            in_critical++;
#pragma omp atomic
            atomics++;
            omp_set_lock(&lock);
            in_lock++;
            omp_unset_lock(&lock);
        }
        for (int step = 0; step < 200; step++) {
#pragma omp single
            singles++;
#pragma omp barrier
            if (singles != step + 1)
#pragma omp atomic
                unseen++;
#pragma omp barrier
        }
    }
    check("threads", threads, omp_get_max_threads());
    check("critical", in_critical, threads * 1000);
    check("atomic", atomics, threads * 1000);
    check("lock", in_lock, threads * 1000);
    check("single", singles, 200);
    check("after a barrier", unseen, 0);
}

static long fibonacci(int n)
{
    long a, b;

    if (n < 2)
        return n;
#pragma omp task shared(a) if (n > 12)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 12)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void tasks(void)
{
    long value = 0, sum = 0, sections = 0;

#pragma omp parallel
#pragma omp single
    value = fibonacci(20);
    check("tasks", value, 6765);
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(100) reduction(+ : sum)
    for (int i = 0; i < COUNT; i++)
        sum += i;
    check("taskloop", sum, (long)COUNT * (COUNT - 1) / 2);
#pragma omp parallel sections reduction(+ : sections)
    {
#pragma omp section
        sections += 1;
#pragma omp section
        sections += 10;
#pragma omp section
        sections += 100;
    }
    check("sections", sections, 111);
}

static void nested(void)
{
    long outer = 0, inner = 0;

    omp_set_max_active_levels(1);
#pragma omp parallel reduction(+ : outer, inner)
    {
        outer++;
#pragma omp parallel reduction(+ : inner)
        inner++;
    }
    check("a team in a team is one thread", inner, outer);
}

int main(void)
{
    double begun = omp_get_wtime();

    loops();
    together();
    tasks();
    nested();
    /* Many short teams: each costs two meetings. */
    for (int i = 0; i < 500; i++)
#pragma omp parallel num_threads(1 + i % omp_get_max_threads())
        if (omp_get_thread_num() >= omp_get_num_threads())
            abort();
    check("processors", omp_get_num_procs() >= 1, 1);
    check("time passes", omp_get_wtime() > begun, 1);
    printf("broken: %d\n", broken);
    return broken != 0;
}
