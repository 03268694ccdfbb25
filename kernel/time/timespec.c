/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timespec.c: see timespec.h. Holds nothing; runs in system calls, on the caller's memory.
 */
#include "time/timespec.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "time/clock.h"

int timespec_to_ns(const struct linux_timespec *time, uint64_t *ns)
{
    if (time->seconds < 0 || time->nanoseconds < 0 || time->nanoseconds >= (int64_t)NS_PER_S)
        return -EINVAL;
    if (__builtin_mul_overflow((uint64_t)time->seconds, NS_PER_S, ns))
        *ns = UINT64_MAX;
    *ns = time_add(*ns, (uint64_t)time->nanoseconds);
    return 0;
}

int timespec_read(uint64_t address, uint64_t *ns)
{
    struct linux_timespec time;

    return user_read(&time, address, sizeof(time)) ? -EFAULT : timespec_to_ns(&time, ns);
}

int timespec_write(uint64_t address, uint64_t ns)
{
    struct linux_timespec time = { (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S) };

    return user_write(address, &time, sizeof(time));
}

uint64_t deadline_of(int64_t seconds, int64_t units, uint64_t unit_ns)
{
    uint64_t ns, more;

    if (__builtin_mul_overflow((uint64_t)seconds, NS_PER_S, &ns) ||
        __builtin_mul_overflow((uint64_t)units, unit_ns, &more))
        return UINT64_MAX;
    return time_add(clock_now_ns(), time_add(ns, more));
}

uint64_t deadline_of_ms(int64_t ms)
{
    return ms < 0 ? UINT64_MAX : deadline_of(0, ms, 1000000);
}

int deadline_read(uint64_t address, uint64_t *deadline_ns)
{
    uint64_t ns = UINT64_MAX;
    int error = address ? timespec_read(address, &ns) : 0;

    *deadline_ns = time_add(clock_now_ns(), ns);
    return error;
}
