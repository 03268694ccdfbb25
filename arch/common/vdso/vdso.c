/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdso.c: clock_gettime and related functions, and getcpu, without entering the kernel. An ELF shared object
 * of its own that the kernel maps into every program, directly above the page that it reads (clock_page.h); C
 * libraries find it by AT_SYSINFO_EHDR and look its functions up by name and version
 * (arch/<name>/vdso/vdso.ld). How an architecture reads its clock is in arch/vdso_machine.h.
 *
 * Other clocks (of CPU time, and numbers that are no clock) become a system call. A bad pointer raises a
 * signal, as with Linux's vDSO. A thread that is moved between reading the clock and the CPU's number starts
 * again: if the two CPUs' clocks differ, the kernel changes the page's sequence number (clock_moved).
 *
 * Compiled with neither vector registers nor relocations; any context of a program.
 */
#include "arch/vdso_machine.h"
#include "time/clock_page.h"
#include "time/timespec.h"

struct timespec {
    int64_t seconds, nanoseconds;
};

struct timeval {
    int64_t seconds, microseconds;
};

struct timezone {
    int32_t minutes_west, daylight;
};

/* ---- Clocks ---- */

static inline uint64_t now_ns(void)
{
    const struct clock_page *clock = page_here();
    uint32_t number;
    uint64_t ns;

    do {
        number = clock_sequence_begin(&clock->sequence);
        ns = clock_page_ns(clock, ticks_read(clock));
    } while (clock_sequence_changed(&clock->sequence, number));
    return ns;
}

static uint64_t wall_ns(bool is_tai)
{
    const struct clock_wall *wall = &page_here()->wall;
    uint32_t number;
    uint64_t ns;

    do {
        number = clock_sequence_begin(&wall->sequence);
        ns = clock_wall_at(wall, now_ns());
        if (is_tai)
            ns += wall->tai_utc_ns;
    } while (clock_sequence_changed(&wall->sequence, number));
    return ns;
}

/* Returns whether this file can read the clock: 0, 1, 4, 5, 6, 7, 11. */
static bool clock_is_known(int clock)
{
    const unsigned known = 1U << CLOCK_ID_REALTIME | 1U << CLOCK_ID_MONOTONIC | 1U << CLOCK_ID_MONOTONIC_RAW |
                           1U << CLOCK_ID_REALTIME_COARSE | 1U << CLOCK_ID_MONOTONIC_COARSE |
                           1U << CLOCK_ID_BOOTTIME | 1U << CLOCK_ID_TAI;

    return (unsigned)clock < 32 && (known >> clock & 1);
}

int __vdso_clock_gettime(int clock, struct timespec *time)
{
    if (!clock_is_known(clock))
        return (int)system_call(SYSTEM_CALL_CLOCK_GETTIME, clock, (long)time);

    bool is_wall = clock == CLOCK_ID_REALTIME || clock == CLOCK_ID_REALTIME_COARSE || clock == CLOCK_ID_TAI;
    uint64_t ns = is_wall ? wall_ns(clock == CLOCK_ID_TAI) : now_ns();
    time->seconds = (int64_t)(ns / NS_PER_S);
    time->nanoseconds = (int64_t)(ns % NS_PER_S);
    return 0;
}

int __vdso_clock_getres(int clock, struct timespec *resolution)
{
    if (!clock_is_known(clock))
        return (int)system_call(SYSTEM_CALL_CLOCK_GETRES, clock, (long)resolution);
    if (resolution)
        *resolution = (struct timespec){ 0, (int64_t)page_here()->resolution_ns };
    return 0;
}

int __vdso_gettimeofday(struct timeval *time, struct timezone *zone)
{
    if (time) {
        uint64_t ns = wall_ns(false);

        time->seconds = (int64_t)(ns / NS_PER_S);
        time->microseconds = (int64_t)(ns % NS_PER_S / 1000);
    }
    if (zone)
        *zone = (struct timezone){ 0, 0 };
    return 0;
}

int64_t __vdso_time(int64_t *seconds)
{
    int64_t now_s = (int64_t)(wall_ns(false) / NS_PER_S);

    if (seconds)
        *seconds = now_s;
    return now_s;
}

long __vdso_getcpu(unsigned *cpu, unsigned *node, void *unused)
{
    uint32_t value = cpu_value(page_here());

    (void)unused; /* as by Linux since 2.6.24 */
    if (node && value >> VDSO_CPU_BITS == VDSO_NODE_UNKNOWN)
        return system_call(SYSTEM_CALL_GETCPU, (long)cpu, (long)node);
    if (cpu)
        *cpu = cpu_of(value);
    if (node)
        *node = value >> VDSO_CPU_BITS;
    return 0;
}

int clock_gettime(int, struct timespec *) __attribute__((weak, alias("__vdso_clock_gettime")));
int clock_getres(int, struct timespec *) __attribute__((weak, alias("__vdso_clock_getres")));
int gettimeofday(struct timeval *, struct timezone *) __attribute__((weak, alias("__vdso_gettimeofday")));
int64_t time(int64_t *) __attribute__((weak, alias("__vdso_time")));
long getcpu(unsigned *, unsigned *, void *) __attribute__((weak, alias("__vdso_getcpu")));
