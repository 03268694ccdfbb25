/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timespec.h: the times that programs pass to system calls, converted to the kernel's nanoseconds.
 */
#ifndef TACET_TIMESPEC_H
#define TACET_TIMESPEC_H

#include <stdint.h>

/* Linux's clocks, by number. */
enum clock_id {
    CLOCK_ID_REALTIME = 0,
    CLOCK_ID_MONOTONIC = 1,
    CLOCK_ID_PROCESS_CPU = 2,
    CLOCK_ID_THREAD_CPU = 3,
    CLOCK_ID_MONOTONIC_RAW = 4,
    CLOCK_ID_REALTIME_COARSE = 5,
    CLOCK_ID_MONOTONIC_COARSE = 6,
    CLOCK_ID_BOOTTIME = 7,
    CLOCK_ID_TAI = 11
};

#define TIMER_ABSOLUTE 1 /* TIMER_ABSTIME */

/* A struct timespec as ns; UINT64_MAX where it is longer than the clock runs (2^63). -EINVAL where it is
 * negative or its nanoseconds make a second or more. */
struct linux_timespec;
int timespec_to_ns(const struct linux_timespec *time, uint64_t *ns);

/* The same for one in the program's memory: -EFAULT. */
int timespec_read(uint64_t address, uint64_t *ns);
int timespec_write(uint64_t address, uint64_t ns);

/* The time, on the clock of clock_now_ns, that lies so far from now; saturates. */
uint64_t deadline_of(int64_t seconds, int64_t units, uint64_t unit_ns);
uint64_t deadline_of_ms(int64_t ms); /* negative: never */

/* A relative timeout of the program's, never for NULL. -EFAULT, -EINVAL. */
int deadline_read(uint64_t address, uint64_t *deadline_ns);

/* The sum; UINT64_MAX (which is TIMER_NEVER) where it is longer than the clock runs. */
static inline uint64_t time_add(uint64_t a, uint64_t b)
{
    return a > INT64_MAX || b > INT64_MAX - a ? UINT64_MAX : a + b;
}

#endif
