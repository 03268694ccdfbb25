/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_timer.c: system calls about timers that send signals; the timers themselves are in posix_timer.c.
 */
#include "arch.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "time/timespec.h"

/* ---- setitimer, alarm ---- */

static int timeval_to_ns(const struct linux_timeval *time, uint64_t *ns)
{
    if (time->seconds < 0 || time->microseconds < 0 || time->microseconds >= US_PER_S)
        return -EINVAL;
    if (__builtin_mul_overflow((uint64_t)time->seconds, NS_PER_S, ns))
        *ns = UINT64_MAX;
    *ns = time_add(*ns, (uint64_t)time->microseconds * 1000);
    return 0;
}

/* Writes a setting. Rounds up, so that a timer that still runs never seems to have no time left. */
static int itimerval_write(uint64_t buffer, const struct timer_setting *setting)
{
    const struct linux_itimerval value = { timeval_of(time_add(setting->interval_ns, 999)),
                                           timeval_of(time_add(setting->left_ns, 999)) };

    return user_write(buffer, &value, sizeof(value));
}

long sys_setitimer(uint64_t kind, uint64_t new_value, uint64_t old_value)
{
    struct linux_itimerval value = { { 0, 0 }, { 0, 0 } };
    struct timer_setting old;
    uint64_t left_ns, interval_ns;

    if ((uint32_t)kind > TIMER_PROF)
        return -EINVAL;
    if (new_value && user_read(&value, new_value, sizeof(value)))
        return -EFAULT;
    if (timeval_to_ns(&value.value, &left_ns) || timeval_to_ns(&value.interval, &interval_ns))
        return -EINVAL;
    posix_timer_set(posix_timer_of_process((uint32_t)kind), left_ns, false, interval_ns, &old);
    return old_value ? itimerval_write(old_value, &old) : 0;
}

long sys_getitimer(uint64_t kind, uint64_t buffer)
{
    if ((uint32_t)kind > TIMER_PROF)
        return -EINVAL;

    struct timer_setting setting = posix_timer_get(posix_timer_of_process((uint32_t)kind));
    return itimerval_write(buffer, &setting);
}

long sys_alarm(uint64_t seconds)
{
    struct timer_setting old;

    posix_timer_set(posix_timer_of_process(TIMER_REAL), (uint32_t)seconds * NS_PER_S, false, 0, &old);
    uint64_t left_s = (old.left_ns + NS_PER_S / 2) / NS_PER_S; /* as Linux: rounded, but never to 0 */
    return old.left_ns && !left_s ? 1 : (long)left_s;
}

/* ---- timer_create, timer_settime, … ---- */

/* Finds what a timer goes by: a clock of the node, or one of CPU time of the caller's process. */
static int clock_find(uint64_t clock, struct timer_clock *found)
{
    uint64_t ns;

    *found = (struct timer_clock){ .is_wall = (uint32_t)clock == CLOCK_ID_REALTIME };
    switch ((uint32_t)clock) {
    case CLOCK_ID_REALTIME:
    case CLOCK_ID_MONOTONIC:
    case CLOCK_ID_BOOTTIME:
        return 0;
    }
    clock = cpu_clock_number(clock);
    if ((int32_t)clock < 0 && (clock & CLOCK_LAST_BITS) == CLOCK_OF_DEVICE)
        return -EOPNOTSUPP;
    if (cpu_clock_read(clock, &ns))
        return -EINVAL;

    uint32_t id = cpu_clock_id(clock);
    found->is_cpu = true;
    found->is_user = (clock & CPU_CLOCK_KIND) == CPU_CLOCK_USER;
    if (clock & CPU_CLOCK_OF_THREAD)
        found->tid = id ? id : arch_thread()->tid;
    else if (id && id != arch_process()->pid)
        return (int)syscall_refuse(REFUSAL_CPU_TIMERS, "timer_create",
                                   "another rank's CPU time has no timers");
    return 0;
}

long sys_timer_create(uint64_t clock, uint64_t event_address, uint64_t id_address)
{
    struct linux_sigevent event = { .signal = SIGNAL_ALRM, .notify = SIGEV_SIGNAL };
    struct process *process = arch_process();
    struct timer_clock goes_by;
    int error = clock_find(clock, &goes_by);
    bool silent;

    if (error)
        return error;
    if (event_address && user_read(&event, event_address, sizeof(event)))
        return -EFAULT;
    silent = event.notify == SIGEV_NONE;
    if (event.notify != SIGEV_SIGNAL && event.notify != SIGEV_THREAD_ID && !silent)
        return -EINVAL;
    if (!silent && (event.signal < 1 || event.signal > SIGNAL_COUNT))
        return -EINVAL;
    if (event.notify == SIGEV_THREAD_ID &&
        (!event.tid || thread_tid_from(process, (uint32_t)event.tid) != (uint32_t)event.tid))
        return -EINVAL;

    int id =
        posix_timer_create(&goes_by, silent ? SIGNAL_ALRM : event.signal, event_address ? &event.value : NULL,
                           event.notify == SIGEV_THREAD_ID ? (uint32_t)event.tid : 0, silent);
    if (id < 0) {
        process_report(REFUSAL_TIMERS, " wants more than %u timers: timer_create answers EAGAIN",
                       POSIX_TIMERS_MAX);
        return id;
    }
    if (user_write(id_address, &id, sizeof(id))) {
        posix_timer_delete((uint64_t)id);
        return -EFAULT;
    }
    return 0;
}

int setting_write(uint64_t buffer, const struct timer_setting *setting)
{
    const struct linux_itimerspec value = { timespec_of(setting->interval_ns),
                                            timespec_of(setting->left_ns) };

    return user_write(buffer, &value, sizeof(value));
}

long sys_timer_settime(uint64_t id, uint64_t flags, uint64_t new_value, uint64_t old_value)
{
    struct posix_timer *timer = posix_timer_find(id);
    struct linux_itimerspec value;
    struct timer_setting old;
    uint64_t ns, interval_ns;

    if (!new_value)
        return -EINVAL;
    if (user_read(&value, new_value, sizeof(value)))
        return -EFAULT;
    if (timespec_to_ns(&value.value, &ns) || timespec_to_ns(&value.interval, &interval_ns) || !timer)
        return -EINVAL;
    if (posix_timer_set(timer, ns, flags & TIMER_ABSOLUTE, interval_ns, &old))
        return -ESRCH;
    return old_value ? setting_write(old_value, &old) : 0;
}

long sys_timer_gettime(uint64_t id, uint64_t buffer)
{
    struct posix_timer *timer = posix_timer_find(id);

    if (!timer)
        return -EINVAL;

    struct timer_setting setting = posix_timer_get(timer);
    return setting_write(buffer, &setting);
}

long sys_timer_getoverrun(uint64_t id)
{
    const struct posix_timer *timer = posix_timer_find(id);

    return timer ? timer->overrun : -EINVAL;
}
