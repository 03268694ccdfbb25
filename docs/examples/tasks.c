/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks.c: OpenMP: a sum over all threads, and tasks that make tasks.
 */
#include <omp.h>
#include <stdio.h>

static long fibonacci(int n)
{
    long before = 0, last = 0;

    if (n < 2)
        return n;
#pragma omp task shared(before) if (n > 12)
    before = fibonacci(n - 2);
#pragma omp task shared(last) if (n > 12)
    last = fibonacci(n - 1);
#pragma omp taskwait
    return before + last;
}

int main(void)
{
    double sum = 0;
    long number = 0;
    int threads = 0;

#pragma omp parallel for reduction(+ : sum)
    for (int i = 1; i <= 1000000; i++)
        sum += 1.0 / i;
#pragma omp parallel
#pragma omp single
    {
        threads = omp_get_num_threads();
        number = fibonacci(20);
    }
    printf("%d threads: %.6f, %ld\n", threads, sum, number);
    return 0;
}
