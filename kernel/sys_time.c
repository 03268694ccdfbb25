/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_time.c: reading clocks, and sleeping until a time. Sleeps are smart timers (timer.h): never too short,
 * and at most the process's latency bound too long.
 */
#include "arch.h"
#include "clock.h"
#include "clockevent.h"
#include "errno.h"
#include "linux_abi.h"
#include "process.h"
#include "syscall.h"

#define TIMER_ABSOLUTE 1 /* TIMER_ABSTIME */

enum {
    REALTIME,
    MONOTONIC,
    PROCESS_CPU,
    THREAD_CPU,
    MONOTONIC_RAW,
    REALTIME_COARSE,
    MONOTONIC_COARSE,
    BOOTTIME
};

static int clock_read(uint64_t clock, uint64_t *ns)
{
    uint64_t now = clock_now_ns();

    switch ((uint32_t)clock) {
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
        *ns = now - arch_process()->start_ns - arch_process()->idle_ns;
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
    struct linux_timeval time = { (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S / 1000) };
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

/* ---- Accounting: timestamps at each entry to the kernel and each exit tell user from system time, with no
 * tick [Tsafrir05 §4.2] ---- */

void process_times(uint64_t *user_ns, uint64_t *system_ns)
{
    const struct process *process = arch_process();
    uint64_t in_kernel_ns = clock_ticks_to_ns(arch_kernel_ticks());
    uint64_t total_ns = clock_now_ns() - process->start_ns;

    *system_ns = in_kernel_ns - process->idle_ns;
    *user_ns = total_ns - in_kernel_ns;
}

long sys_getrusage(uint64_t who, uint64_t buffer)
{
    enum { SELF = 0, CHILDREN = -1, THREAD = 1 };
    struct {
        struct linux_timeval user, system;
        int64_t other[14];
    } usage = { 0 };
    uint64_t user_ns, system_ns;

    if ((int32_t)who != SELF && (int32_t)who != CHILDREN && (int32_t)who != THREAD)
        return -EINVAL;
    process_times(&user_ns, &system_ns);
    if ((int32_t)who != CHILDREN) {
        usage.user =
            (struct linux_timeval){ (int64_t)(user_ns / NS_PER_S), (int64_t)(user_ns % NS_PER_S / 1000) };
        usage.system =
            (struct linux_timeval){ (int64_t)(system_ns / NS_PER_S), (int64_t)(system_ns % NS_PER_S / 1000) };
    }
    return user_write(buffer, &usage, sizeof(usage));
}

long sys_times(uint64_t buffer)
{
    const uint64_t tick_ns = NS_PER_S / 100; /* AT_CLKTCK */
    uint64_t user_ns, system_ns;

    process_times(&user_ns, &system_ns);
    int64_t times[4] = { (int64_t)(user_ns / tick_ns), (int64_t)(system_ns / tick_ns), 0, 0 };
    if (buffer && user_write(buffer, times, sizeof(times)))
        return -EFAULT;
    return (long)(clock_now_ns() / tick_ns);
}

/* ---- Sleeping ---- */

static int timespec_read(uint64_t address, uint64_t *ns)
{
    struct linux_timespec time;

    if (user_read(&time, address, sizeof(time)))
        return -EFAULT;
    if (time.seconds < 0 || time.nanoseconds < 0 || time.nanoseconds >= (int64_t)NS_PER_S)
        return -EINVAL;
    if (__builtin_mul_overflow((uint64_t)time.seconds, NS_PER_S, ns) ||
        __builtin_add_overflow(*ns, (uint64_t)time.nanoseconds, ns))
        *ns = UINT64_MAX; /* longer than the clock runs */
    return 0;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

long sys_nanosleep(uint64_t request, uint64_t remainder)
{
    uint64_t ns;
    int error = timespec_read(request, &ns);

    (void)remainder; /* nothing ends a sleep early */
    if (error)
        return error;
    sleep_until(add_saturated(clock_now_ns(), ns), arch_process()->latency_bound_ns);
    return 0;
}

long sys_clock_nanosleep(uint64_t clock, uint64_t flags, uint64_t request, uint64_t remainder)
{
    bool absolute = flags & TIMER_ABSOLUTE;
    uint64_t now, ns;
    int error;

    clock = (uint32_t)clock;
    (void)remainder;
    if (clock != REALTIME && clock != MONOTONIC && clock != BOOTTIME)
        return clock <= BOOTTIME && clock != THREAD_CPU ? -EOPNOTSUPP : -EINVAL;
    error = timespec_read(request, &ns);
    if (!error)
        error = clock_read(clock, &now);
    if (error)
        return error;
    if (absolute && ns <= now)
        return 0; /* whoever is late already is not made later by the bound */

    /* An absolute time is the deadline itself: one that lies on a boundary is served by that boundary. */
    if (!absolute)
        ns = add_saturated(clock_now_ns(), ns);
    else if (clock == REALTIME)
        ns -= clock_wall_offset_ns();
    sleep_until(ns, arch_process()->latency_bound_ns);
    return 0;
}

/* ---- Futexes: there is no second thread that could wake one, so a wait ends by its time, or not at all ----
 */

static long futex_wait(uint64_t address, uint64_t value, uint64_t timeout, uint64_t operation)
{
    bool absolute = (operation & FUTEX_COMMANDS) == FUTEX_WAIT_BITSET;
    uint64_t ns;
    uint32_t now;
    int error;

    if (address % sizeof(now))
        return -EINVAL;
    if (user_read(&now, address, sizeof(now)))
        return -EFAULT;
    if (now != (uint32_t)value)
        return -EAGAIN;
    if (!timeout)
        return -EDEADLK;
    error = timespec_read(timeout, &ns);
    if (error)
        return error;
    if (!absolute)
        ns = add_saturated(clock_now_ns(), ns);
    else if (operation & FUTEX_CLOCK_REALTIME)
        ns = ns > clock_wall_offset_ns() ? ns - clock_wall_offset_ns() : 0;
    if (ns > clock_now_ns())
        sleep_until(ns, arch_process()->latency_bound_ns);
    return -ETIMEDOUT;
}

long sys_futex(uint64_t address, uint64_t operation, uint64_t value, uint64_t timeout, uint64_t address2,
               uint64_t value3)
{
    (void)address2, (void)value3; /* of requeueing, and the bits that a waker wants: nobody waits */
    switch (operation & FUTEX_COMMANDS) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
        return address % sizeof(uint32_t) ? -EINVAL : 0;
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        return futex_wait(address, value, timeout, operation);
    default:
        return syscall_refuse("futex", "operations other than wait and wake are for a second thread");
    }
}

/* ---- Waiting for streams ---- */

/* While somebody waits for input of a stream, and only then, the serial ports are looked at so often. */
#define INPUT_LOOK_NS 1000000

enum { POLL_IN = 1, POLL_OUT = 4, POLL_INVALID = 32, POLL_IN_NORMAL = 64, POLL_OUT_NORMAL = 256 };

struct linux_pollfd {
    int32_t descriptor;
    int16_t events, revents;
};

/* What one entry has to tell; *wants_input where it may have more to tell later. */
static int poll_entry(const struct linux_pollfd *entry, bool *wants_input)
{
    const int input = POLL_IN | POLL_IN_NORMAL;
    struct file *file = file_get(arch_process(), (uint32_t)entry->descriptor);
    int ready = POLL_OUT | POLL_OUT_NORMAL;

    if (entry->descriptor < 0)
        return 0;
    if (!file)
        return POLL_INVALID;
    if (file_input_ready(file))
        ready |= input;
    else if (entry->events & input)
        *wants_input = true;
    return entry->events & ready;
}

/* Looks at all descriptors once; how many have something to tell, or -EFAULT. */
static int poll_once(uint64_t list, uint64_t count, bool *wants_input)
{
    int ready = 0;

    *wants_input = false;
    for (uint64_t i = 0; i < count; i++) {
        struct linux_pollfd entry;

        if (user_read(&entry, list + i * sizeof(entry), sizeof(entry)))
            return -EFAULT;
        entry.revents = (int16_t)poll_entry(&entry, wants_input);
        ready += entry.revents != 0;
        if (user_write(list + i * sizeof(entry), &entry, sizeof(entry)))
            return -EFAULT;
    }
    return ready;
}

static long poll_until(uint64_t list, uint64_t count, uint64_t deadline_ns)
{
    count = (uint32_t)count;
    if (count > FILE_DESCRIPTORS_MAX)
        return -EINVAL;
    for (;;) {
        bool wants_input;
        int ready = poll_once(list, count, &wants_input);
        uint64_t now = clock_now_ns();

        if (ready != 0 || now >= deadline_ns)
            return ready;
        sleep_until(wants_input && deadline_ns - now > INPUT_LOOK_NS ? now + INPUT_LOOK_NS : deadline_ns,
                    arch_process()->latency_bound_ns);
    }
}

long sys_poll(uint64_t list, uint64_t count, uint64_t timeout_ms)
{
    int64_t ms = (int32_t)timeout_ms;

    return poll_until(list, count,
                      ms < 0 ? UINT64_MAX : add_saturated(clock_now_ns(), (uint64_t)ms * 1000000));
}

long sys_ppoll(uint64_t list, uint64_t count, uint64_t timeout, uint64_t mask, uint64_t mask_bytes)
{
    uint64_t ns = UINT64_MAX;
    int error = timeout ? timespec_read(timeout, &ns) : 0;

    (void)mask, (void)mask_bytes; /* no signal can arrive during the wait */
    return error ? error : poll_until(list, count, add_saturated(clock_now_ns(), ns));
}
