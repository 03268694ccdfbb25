/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intervals.c: the loop that times fixed work without a gap; intervals.h documents it. It has its own file,
 * so that the compiler mixes no caller's code into it.
 */
#include "intervals.h"

#include "cycles.h"

void intervals_measure(uint64_t *times, size_t count, uint64_t iterations)
{
    uint64_t turns = 1;

    for (size_t i = 0; i <= count; i++) {
        fixed_work(turns);
        times[i] = cycles_now();
        turns = iterations;
    }
}

void intervals_from_times(uint64_t *times, size_t count)
{
    for (size_t i = 0; i < count; i++)
        times[i] = times[i + 1] - times[i];
}
