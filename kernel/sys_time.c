/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_time.c: reading clocks.
 */
#include "arch.h"
#include "clock.h"
#include "errno.h"
#include "linux_abi.h"
#include "process.h"
#include "syscall.h"

enum { REALTIME, MONOTONIC, PROCESS_CPU, THREAD_CPU, MONOTONIC_RAW, REALTIME_COARSE, MONOTONIC_COARSE, BOOTTIME };

static int clock_read(uint64_t clock, uint64_t *ns)
{
    uint64_t now = clock_now_ns();

    switch (clock) {
    case REALTIME:
    case REALTIME_COARSE:
        *ns = now + clock_wall_offset_ns();
        return 0;
    case MONOTONIC:
    case MONOTONIC_RAW:
    case MONOTONIC_COARSE:
    case BOOTTIME:
        *ns = now;
        return 0;
    case PROCESS_CPU:
    case THREAD_CPU:
        *ns = now - arch_process()->start_ns;
        return 0;
    default:
        return -EINVAL;
    }
}

long sys_clock_gettime(uint64_t clock, uint64_t buffer)
{
    uint64_t ns;
    int error = clock_read(clock, &ns);

    if (error)
        return error;

    struct linux_timespec time = { (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S) };
    return user_write(buffer, &time, sizeof(time));
}

long sys_clock_getres(uint64_t clock, uint64_t buffer)
{
    struct linux_timespec resolution = { 0, (int64_t)clock_resolution_ns() };
    uint64_t ns;
    int error = clock_read(clock, &ns);

    if (error)
        return error;
    return buffer ? user_write(buffer, &resolution, sizeof(resolution)) : 0;
}

long sys_gettimeofday(uint64_t buffer, uint64_t zone)
{
    uint64_t ns = clock_now_ns() + clock_wall_offset_ns();
    struct {
        int64_t seconds, microseconds;
    } time = { (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S / 1000) };
    struct {
        int32_t minutes_west, daylight;
    } utc = { 0, 0 };

    if (buffer && user_write(buffer, &time, sizeof(time)))
        return -EFAULT;
    return zone ? user_write(zone, &utc, sizeof(utc)) : 0;
}

long sys_time(uint64_t buffer)
{
    int64_t seconds = (int64_t)((clock_now_ns() + clock_wall_offset_ns()) / NS_PER_S);

    if (buffer && user_write(buffer, &seconds, sizeof(seconds)))
        return -EFAULT;
    return seconds;
}
