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

/* Converts a struct timespec to ns; UINT64_MAX if it is longer than the clock runs (2^63). -EINVAL if it is
 * negative or its nanoseconds make a second or more. */
struct linux_timespec;
int timespec_to_ns(const struct linux_timespec *time, uint64_t *ns);

/* Reads, or writes, one in the program's memory: also -EFAULT. */
int timespec_read(uint64_t address, uint64_t *ns);
int timespec_write(uint64_t address, uint64_t ns);

/* Returns the time, on the clock of clock_now_ns, that lies this far from now; saturates. */
uint64_t deadline_of(int64_t seconds, int64_t units, uint64_t unit_ns);
uint64_t deadline_of_ms(int64_t ms); /* negative: never */

/* Reads a relative timeout of the program's; NULL: never. -EFAULT, -EINVAL. */
int deadline_read(uint64_t address, uint64_t *deadline_ns);

/* Returns the sum; UINT64_MAX (which is TIMER_NEVER) if it is longer than the clock runs. */
static inline uint64_t time_add(uint64_t a, uint64_t b)
{
    return a > INT64_MAX || b > INT64_MAX - a ? UINT64_MAX : a + b;
}

#endif
