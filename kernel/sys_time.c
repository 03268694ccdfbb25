/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_time.c: reading clocks, and sleeping until a time. Sleeps are smart timers (timer.h): never too short,
 * and at most the process's latency bound too long.
 */
#include "arch.h"
#include "clock.h"
#include "clockevent.h"
#include "console.h"
#include "errno.h"
#include "linux_abi.h"
#include "process.h"
#include "syscall.h"
#include "timespec.h"

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

/* ---- Accounting: timestamps at each entry to the kernel and each exit tell user from system time, with no
 * tick [Tsafrir05 §4.2] ---- */

/* Of this thread, or of all threads of the process, ended ones included. */
static void cpu_times(bool whole_process, uint64_t *user_ns, uint64_t *system_ns)
{
    struct process *process = arch_process();

    *user_ns = *system_ns = 0;
    spin_lock(&process->lock);
    CPU_MASK_EACH(cpu, process->cpus)
    {
        const struct thread *thread = thread_of_cpu((unsigned)cpu);

        if (!thread || (!whole_process && thread != arch_thread()))
            continue;
        *user_ns += thread_user_ns(thread);
        *system_ns += thread_system_ns(thread);
    }
    if (whole_process) {
        *user_ns += process->ended_user_ns;
        *system_ns += process->ended_system_ns;
    }
    spin_unlock(&process->lock);
}

/* ---- Clocks ---- */

static int clock_read(uint64_t clock, uint64_t *ns)
{
    uint64_t now = clock_now_ns(), user_ns, system_ns;

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
        cpu_times((uint32_t)clock == PROCESS_CPU, &user_ns, &system_ns);
        *ns = user_ns + system_ns;
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

    return timespec_write(buffer, ns);
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
    cpu_times((int32_t)who != THREAD, &user_ns, &system_ns);
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

    cpu_times(true, &user_ns, &system_ns);
    int64_t times[4] = { (int64_t)(user_ns / tick_ns), (int64_t)(system_ns / tick_ns), 0, 0 };
    if (buffer && user_write(buffer, times, sizeof(times)))
        return -EFAULT;
    return (long)(clock_now_ns() / tick_ns);
}

/* ---- Sleeping ---- */

int timespec_read(uint64_t address, uint64_t *ns)
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

int timespec_write(uint64_t address, uint64_t ns)
{
    struct linux_timespec time = { (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S) };

    return user_write(address, &time, sizeof(time));
}

/* Sleeps to a time of this node's clock. */
static long sleep_until(unsigned number, uint64_t deadline_ns)
{
    return thread_sleep(NULL, deadline_ns) == -EINTR ? thread_interrupted_call(number, RESTART_NEVER) : 0;
}

/* Sleeps a while; *remainder (0: nobody wants it) is what is left when a signal ends the sleep. */
static long sleep_rest(const uint64_t *words)
{
    uint64_t deadline_ns = words[0], remainder = words[1], now_ns;

    if (thread_sleep(NULL, deadline_ns) != -EINTR)
        return 0;
    now_ns = clock_now_ns();
    if (remainder && timespec_write(remainder, deadline_ns > now_ns ? deadline_ns - now_ns : 0))
        return -EFAULT;
    return thread_interrupted_wait(sleep_rest, deadline_ns, remainder, 0, 0);
}

static long sleep_for(uint64_t ns, uint64_t remainder)
{
    const uint64_t words[] = { time_add(clock_now_ns(), ns), remainder };

    return sleep_rest(words);
}

long sys_nanosleep(uint64_t request, uint64_t remainder)
{
    uint64_t ns;
    int error = timespec_read(request, &ns);

    return error ? error : sleep_for(ns, remainder);
}

long sys_clock_nanosleep(uint64_t clock, uint64_t flags, uint64_t request, uint64_t remainder)
{
    bool absolute = flags & TIMER_ABSOLUTE;
    uint64_t now, ns;
    int error;

    clock = (uint32_t)clock;
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
        return sleep_for(ns, remainder);
    return sleep_until(SYSCALL_NUMBER_clock_nanosleep, clock == REALTIME ? ns - clock_wall_offset_ns() : ns);
}

/* ---- Waiting for streams ---- */

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

static long poll_rest(const uint64_t *words)
{
    uint64_t list = words[0], count = words[1], deadline_ns = words[2];

    count = (uint32_t)count;
    if (count > FILE_DESCRIPTORS_MAX)
        return -EINVAL;
    for (;;) {
        bool wants_input;
        int ready = poll_once(list, count, &wants_input);
        uint64_t now = clock_now_ns();

        if (ready != 0 || now >= deadline_ns)
            return ready;
        if (thread_sleep(NULL, wants_input && deadline_ns - now > CONSOLE_LOOK_NS ? now + CONSOLE_LOOK_NS
                                                                                  : deadline_ns) == -EINTR)
            return thread_interrupted_wait(poll_rest, list, count, deadline_ns, 0);
    }
}

/* The same, while other signals are blocked: the fourth word. */
static long poll_masked_rest(const uint64_t *words)
{
    signal_mask_swap(words[3]);

    long ready = poll_rest(words);
    if (ready == -EINTR)
        return thread_interrupted_wait(poll_masked_rest, words[0], words[1], words[2], words[3]);
    signal_mask_restore();
    return ready;
}

static long poll_until(uint64_t list, uint64_t count, uint64_t deadline_ns)
{
    const uint64_t words[] = { list, count, deadline_ns };

    return poll_rest(words);
}

long sys_poll(uint64_t list, uint64_t count, uint64_t timeout_ms)
{
    int64_t ms = (int32_t)timeout_ms;

    return poll_until(list, count, ms < 0 ? UINT64_MAX : time_add(clock_now_ns(), (uint64_t)ms * 1000000));
}

long sys_ppoll(uint64_t list, uint64_t count, uint64_t timeout, uint64_t mask, uint64_t mask_bytes)
{
    uint64_t ns = UINT64_MAX, blocked = 0;
    int error = timeout ? timespec_read(timeout, &ns) : 0;

    if (error)
        return error;
    if (mask && mask_bytes != sizeof(blocked))
        return -EINVAL;
    if (mask && user_read(&blocked, mask, sizeof(blocked)))
        return -EFAULT;

    const uint64_t words[] = { list, count, time_add(clock_now_ns(), ns), blocked };
    return mask ? poll_masked_rest(words) : poll_rest(words);
}
