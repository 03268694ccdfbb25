/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h: what test programs read of the system again and again: its clocks and its free memory. */
#ifndef TESTS_CLOCK_H
#define TESTS_CLOCK_H

#include <stdint.h>
#include <sys/sysinfo.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static inline uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* Returns the rank's free memory in bytes. */
static inline uint64_t free_memory(void)
{
    struct sysinfo info;

    sysinfo(&info);
    return info.freeram;
}

#endif
