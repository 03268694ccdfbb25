/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * places.c: on which CPU each thread of OpenMP is, and how many it may use.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void)
{
#pragma omp parallel for ordered schedule(static, 1)
    for (int thread = 0; thread < omp_get_max_threads(); thread++) {
        cpu_set_t allowed;

        sched_getaffinity(0, sizeof allowed, &allowed);
#pragma omp ordered
        printf("thread %d: CPU %d of %d\n", omp_get_thread_num(), sched_getcpu(), CPU_COUNT(&allowed));
    }
    return 0;
}
