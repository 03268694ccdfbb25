/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_time.c: reading clocks, and sleeping until a time. Sleeps are smart timers (timer.h): never too short,
 * and at most the thread's latency bound too long.
 */
#include "arch.h"
#include "beat/nettick.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "time/timespec.h"

/* ---- Clocks ---- */

/* Reads the CPU time of a process, or of a thread of the caller's process. */
static int cpu_time_read(uint32_t id, bool of_thread, struct cpu_time *time)
{
    struct process *process = !id || of_thread ? arch_process() : process_find(id);

    if (!process)
        return -EINVAL;
    if (!of_thread) {
        *time = process_time(process);
        return 0;
    }
    SPIN_GUARD(&process->lock);
    const struct thread *thread = id ? thread_find(process, id) : arch_thread();
    if (!thread)
        return -EINVAL;
    *time = thread_time(thread);
    return 0;
}

/* Reads a clock of CPU time. Out of line, so that the other clocks are read fast. */
__attribute__((noinline)) int cpu_clock_read(uint64_t clock, uint64_t *ns)
{
    uint64_t kind = clock & CPU_CLOCK_KIND;
    struct cpu_time time;

    if ((int32_t)clock >= 0 || kind > CPU_CLOCK_SCHEDULED ||
        cpu_time_read(cpu_clock_id(clock), clock & CPU_CLOCK_OF_THREAD, &time))
        return -EINVAL;
    *ns = time.user_ns + (kind == CPU_CLOCK_USER ? 0 : time.system_ns);
    return 0;
}

static int clock_read(uint64_t clock, uint64_t *ns)
{
    switch ((uint32_t)clock) {
    case CLOCK_ID_REALTIME:
    case CLOCK_ID_REALTIME_COARSE:
        *ns = clock_wall_ns(NULL);
        return 0;
    case CLOCK_ID_TAI: /* CLOCK_REALTIME, as on Linux, until a conductor says how far TAI is ahead */
        clock_wall_ns(ns);
        return 0;
    case CLOCK_ID_MONOTONIC:
    case CLOCK_ID_MONOTONIC_RAW:
    case CLOCK_ID_MONOTONIC_COARSE:
    case CLOCK_ID_BOOTTIME:
        *ns = clock_now_ns();
        return 0;
    default:
        return cpu_clock_read(cpu_clock_number(clock), ns);
    }
}

long sys_clock_gettime(uint64_t clock, uint64_t buffer)
{
    uint64_t ns;
    int error = clock_read(clock, &ns);

    return error ? error : timespec_write(buffer, ns);
}

long sys_clock_getres(uint64_t clock, uint64_t buffer)
{
    uint64_t ns;
    int error = clock_read(clock, &ns);

    return error || !buffer ? error : timespec_write(buffer, clock_page()->resolution_ns);
}

long sys_gettimeofday(uint64_t buffer, uint64_t zone)
{
    struct linux_timeval time = timeval_of(clock_wall_ns(NULL));
    struct {
        int32_t minutes_west, daylight;
    } utc = { 0, 0 };

    if (buffer && user_write(buffer, &time, sizeof(time)))
        return -EFAULT;
    return zone ? user_write(zone, &utc, sizeof(utc)) : 0;
}

long sys_time(uint64_t buffer)
{
    int64_t seconds = (int64_t)(clock_wall_ns(NULL) / NS_PER_S);

    if (buffer && user_write(buffer, &seconds, sizeof(seconds)))
        return -EFAULT;
    return seconds;
}

/* Refuses: the clock is the compute node's, started from the battery clock and the same for all ranks, so no
 * program may set it. */
long sys_clock_settime(uint64_t clock, uint64_t address)
{
    uint64_t ns;
    int error = (uint32_t)clock == CLOCK_ID_REALTIME ? timespec_read(address, &ns) : -EINVAL;

    return error ? error : -EPERM;
}

long sys_settimeofday(uint64_t address)
{
    struct linux_timeval time;

    if (address && user_read(&time, address, sizeof(time)))
        return -EFAULT;
    if (address && (time.seconds < 0 || time.microseconds < 0 || time.microseconds >= US_PER_S))
        return -EINVAL;
    return -EPERM;
}

/* Linux's numbers of adjtimex(2). */
enum { ADJUST_ONCE = 0x1, ADJUST_READ = 0x2000, ADJUST_OLD = 0x8000 /* adjtime's */ };
enum { STATUS_UNSYNCHRONISED = 0x40, TIME_OK = 0, TIME_ERROR = 5 };
enum { CONSTANT = 2, PRECISION_US = 1, TICK_US = 10000, ERROR_UNKNOWN_US = 16000000 };
#define TOLERANCE (500LL << 16)

/* Describes the wall clock. A program may not change it, as one without privileges on Linux. */
long sys_clock_adjtime(uint64_t clock, uint64_t address)
{
    const bool is_steered = clock_page()->wall.base_ns; /* by the conductor */
    struct nettick_moment conductor;
    struct linux_timex state;
    uint64_t ns, tai_ns;

    if (user_read(&state, address, sizeof(state)))
        return -EFAULT;
    if ((uint32_t)clock != CLOCK_ID_REALTIME)
        return clock_read(clock, &ns) ? -EINVAL : -EOPNOTSUPP;
    if (state.modes & ADJUST_OLD && !(state.modes & ADJUST_ONCE))
        return -EINVAL;
    if (state.modes && !(state.modes & ADJUST_OLD && state.modes & ADJUST_READ))
        return -EPERM;
    nettick_moment(&conductor);
    ns = clock_wall_ns(&tai_ns);
    state = (struct linux_timex){ .modes = state.modes,
                                  .status = STATUS_UNSYNCHRONISED,
                                  .error_max = ERROR_UNKNOWN_US,
                                  .error = ERROR_UNKNOWN_US,
                                  .constant = CONSTANT,
                                  .precision = PRECISION_US,
                                  .tolerance = TOLERANCE,
                                  .time = timeval_of(ns),
                                  .tick = TICK_US,
                                  .tai = (int32_t)((tai_ns - ns) / NS_PER_S) };
    if (is_steered) {
        state.status = 0;
        state.offset = conductor.error_ns / 1000;
        state.error = state.error_max = (state.offset < 0 ? -state.offset : state.offset) + PRECISION_US;
        state.frequency = (conductor.drift * US_PER_S) >> 16; /* of 2^-32 */
    }
    if (user_write(address, &state, sizeof(state)))
        return -EFAULT;
    return is_steered ? TIME_OK : TIME_ERROR;
}

long sys_getrusage(uint64_t who, uint64_t buffer)
{
    enum { SELF = 0, CHILDREN = -1, THREAD = 1 };
    struct {
        struct linux_timeval user, system;
        uint64_t peak_kib, other[13];
    } usage = { 0 };

    if ((int32_t)who != SELF && (int32_t)who != CHILDREN && (int32_t)who != THREAD)
        return -EINVAL;
    if ((int32_t)who != CHILDREN) {
        struct cpu_time time =
            (int32_t)who == SELF ? process_time(arch_process()) : thread_time(arch_thread());

        usage.user = timeval_of(time.user_ns);
        usage.system = timeval_of(time.system_ns);
        usage.peak_kib = page_pool_peak_bytes(&arch_process()->pages) / 1024;
    }
    return user_write(buffer, &usage, sizeof(usage));
}

long sys_times(uint64_t buffer)
{
    const uint64_t tick_ns = NS_PER_S / 100; /* AT_CLKTCK */
    struct cpu_time time = process_time(arch_process());
    int64_t times[4] = { (int64_t)(time.user_ns / tick_ns), (int64_t)(time.system_ns / tick_ns), 0, 0 };
    if (buffer && user_write(buffer, times, sizeof(times)))
        return -EFAULT;
    return (long)(clock_now_ns() / tick_ns);
}

/* ---- Sleeping ---- */

/* Sleeps; continues when interrupted. Words: the deadline, and where to write the time left when a signal
 * ends the sleep, or 0. */
static long sleep_resume(const uint64_t *words)
{
    uint64_t deadline_ns = words[0], remainder = words[1], now_ns;

    if (thread_sleep(NULL, deadline_ns) != -EINTR)
        return 0;
    now_ns = clock_now_ns();
    if (remainder && timespec_write(remainder, deadline_ns > now_ns ? deadline_ns - now_ns : 0))
        return -EFAULT;
    return thread_interrupted_wait(sleep_resume, words);
}

/* Sleeps until a clock of CPU time has a time; continues when interrupted. Looks at the clock again when that
 * can have come at the earliest, but at most 1,000 times a second. Words: the clock, the time, and where to
 * write the time left, or 0. */
static long cpu_sleep_resume(const uint64_t *words)
{
    uint64_t now_ns, wait_ns;

    do {
        if (cpu_clock_read(words[0], &now_ns))
            return -ESRCH; /* its thread, or process, has ended */
        if (now_ns >= words[1])
            return 0;
        wait_ns = (words[1] - now_ns) / (words[0] & CPU_CLOCK_OF_THREAD ? 1 : arch_cpu_count());
        wait_ns = wait_ns > NS_PER_S / 1000 ? wait_ns : NS_PER_S / 1000;
    } while (thread_sleep(NULL, time_add(clock_now_ns(), wait_ns)) != -EINTR);
    if (words[2] && timespec_write(words[2], words[1] - now_ns))
        return -EFAULT;
    return thread_interrupted_wait(cpu_sleep_resume, words);
}

static long cpu_sleep(uint64_t clock, bool absolute, uint64_t request, uint64_t remainder)
{
    uint64_t now_ns, ns, id = cpu_clock_id(clock);

    if (cpu_clock_read(clock, &now_ns) ||
        ((clock & CPU_CLOCK_OF_THREAD) && (id == 0 || id == arch_thread()->tid))) /* it would stand still */
        return -EINVAL;
    int error = timespec_read(request, &ns);
    if (error)
        return error;
    ns = absolute ? ns : time_add(now_ns, ns);
    return cpu_sleep_resume((const uint64_t[RESUME_WORDS]){ clock, ns, absolute ? 0 : remainder });
}

long sys_clock_nanosleep(uint64_t clock, uint64_t flags, uint64_t request, uint64_t remainder)
{
    bool absolute = flags & TIMER_ABSOLUTE;
    uint64_t now, ns;
    int error;

    clock = (uint32_t)clock;
    if (clock != CLOCK_ID_REALTIME && clock != CLOCK_ID_MONOTONIC && clock != CLOCK_ID_BOOTTIME &&
        clock != CLOCK_ID_TAI) {
        if (clock == CLOCK_ID_PROCESS_CPU || (int32_t)clock < 0)
            return cpu_sleep(cpu_clock_number(clock), absolute, request, remainder);
        return clock <= CLOCK_ID_BOOTTIME ? -EOPNOTSUPP : -EINVAL;
    }
    error = timespec_read(request, &ns);
    if (!error)
        error = clock_read(clock, &now);
    if (error)
        return error;
    if (absolute && ns <= now)
        return 0; /* a time that has passed is not delayed further by the latency bound */

    /* An absolute time is the deadline itself: a time on a timer boundary is served by that boundary. */
    if (!absolute)
        return sleep_resume((const uint64_t[RESUME_WORDS]){ time_add(clock_now_ns(), ns), remainder });
    if (clock == CLOCK_ID_REALTIME || clock == CLOCK_ID_TAI)
        ns = deadline_by(clock == CLOCK_ID_TAI ? DEADLINE_TAI : DEADLINE_WALL, ns);
    return thread_sleep(NULL, ns) == -EINTR
               ? thread_interrupted_call(SYSCALL_NUMBER_clock_nanosleep, RESTART_NEVER)
               : 0;
}
