/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h: this machine's clocks in nanoseconds. clock_gettime(2).
 */
#ifndef TACET_SERVICE_CLOCK_H
#define TACET_SERVICE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Returns CLOCK_MONOTONIC in ns. */
static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
