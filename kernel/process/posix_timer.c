/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posix_timer.c: see posix_timer.h.
 *
 * Runs in system calls, on a thread's way back to the program, and in interrupts when a timer fires,
 * interrupts off. The lock of the process's timers guards them all. A timer that fires may find, once it has
 * the lock, that it was stopped, set again or deleted meanwhile: `armed` and the smart timer show that.
 * Before, it uses nothing but the smart timer.
 */
#include "process/posix_timer.h"
#include "arch.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timespec.h"

/* ---- Its clock ---- */

static uint64_t deadline_of_timer(const struct posix_timer *timer)
{
    return timer->goes_by_wall ? deadline_by(DEADLINE_WALL, timer->deadline_ns) : timer->deadline_ns;
}

static __attribute__((noinline)) uint64_t cpu_time_of_timer(const struct posix_timer *timer)
{
    struct cpu_time time = timer->thread ? thread_time(timer->thread) : process_time(timer->process);

    return time.user_ns + (timer->clock.is_user ? 0 : time.system_ns);
}

static uint64_t now_of_timer(const struct posix_timer *timer)
{
    if (timer->clock.is_cpu)
        return cpu_time_of_timer(timer);
    return timer->goes_by_wall ? clock_wall_ns(NULL) : clock_now_ns();
}

/* ---- Timers of CPU time; under the lock ---- */

static struct list *list_of(struct posix_timer *timer)
{
    return timer->thread ? &timer->thread->cpu_timers : &timer->process->timers.of_cpus;
}

/* Enters a timer in the list of its clock. The process's lock is held from the search for its thread on: a
 * thread that ends leaves the process first, and then clears its list. -ESRCH. */
static int clock_enter(struct posix_timer *timer)
{
    struct process *process = timer->process;

    SPIN_GUARD(&process->lock);
    timer->thread = timer->clock.tid ? thread_find(process, timer->clock.tid) : NULL;
    if (timer->clock.tid && !timer->thread)
        return -ESRCH;
    list_append(list_of(timer), &timer->link);
    timer->is_listed = true;
    if (process->timers.listed++ == 0)
        signals_timed_set(process, true);
    return 0;
}

static void clock_leave(struct posix_timer *timer)
{
    struct process *process = timer->process;

    list_remove(list_of(timer), &timer->link);
    timer->is_listed = false;
    timer->thread = NULL;
    if (--process->timers.listed == 0)
        signals_timed_set(process, false);
}

/* Starts the alarm for the time at which the timer can expire at the earliest; not if nothing of its clock
 * runs. Which CPUs are in use is read under the lock of scheduling, after `timed` was set: a thread
 * that gets a CPU later sees that on its way to the program. */
static void cpu_alarm_start(struct posix_timer *timer)
{
    uint64_t used_ns = cpu_time_of_timer(timer), wait_ns;

    timer->running = timer->thread ? schedule_is_running(timer->thread) : schedule_busy(timer->process);
    if (used_ns >= timer->deadline_ns) {
        timer_start(&timer->alarm, 0, timer->bound_ns); /* at once */
    } else if (timer->running) {
        wait_ns = (timer->deadline_ns - used_ns) / timer->running;
        wait_ns = wait_ns > CPU_TIMER_STEP_NS ? wait_ns : CPU_TIMER_STEP_NS;
        timer_start(&timer->alarm, time_add(clock_now_ns(), wait_ns), timer->bound_ns);
    }
}

/* Moves alarms forward if more CPUs are in use than they are pending for. One that must not disturb other
 * threads is pending where the thread goes on. */
static void cpu_alarms_advance(const struct list *list, unsigned running, bool is_background)
{
    LIST_EACH(posix_timer, timer, list) {
        bool is_pending = timer_is_pending(&timer->alarm);

        if (!timer->armed || (is_pending && running <= timer->running && !timer->alarm.is_background))
            continue;
        timer_cancel(&timer->alarm);
        timer->alarm.is_background = is_background && (!is_pending || timer->alarm.is_background);
        cpu_alarm_start(timer);
    }
}

void posix_timers_go_on(struct thread *thread)
{
    struct process *process = thread->process;
    struct process_timers *timers = &process->timers;
    bool is_background = schedule_is_background(&thread->schedule);

    SPIN_GUARD(&timers->lock);
    cpu_alarms_advance(&thread->cpu_timers, 1, is_background);
    if (timers->of_cpus.first)
        cpu_alarms_advance(&timers->of_cpus, schedule_busy(process), is_background);
}

/* ---- In an interrupt ---- */

/* Chooses the thread that gets the signal of a timer of CPU time, if it does not block it: the one whose
 * clock it is, or those of the process that run, in turns, as a profiler counts them. The caller holds the
 * process's lock. */
static struct thread *sample_choose(const struct posix_timer *timer)
{
    unsigned *sampled = &timer->process->timers.sampled;
    struct thread *thread = timer->thread;

    if (!thread && (thread = schedule_running_after(timer->process, *sampled)))
        *sampled = thread->schedule.cpu;
    return thread;
}

/* Sends the timer's signal. The caller holds the lock. */
static void signal_now(struct posix_timer *timer)
{
    struct process *process = timer->process;

    timer->entry.timer = timer;
    timer->entry.setting = timer->setting;
    if (!timer->tid && !timer->clock.is_cpu) {
        signal_send(process, NULL, &timer->entry.info, &timer->entry);
        return;
    }
    SPIN_GUARD(&process->lock);
    struct thread *thread = timer->tid ? thread_find(process, timer->tid) : NULL;
    if (timer->tid && !thread) /* the signal is lost */
        return;
    timer->entry.first = thread ? NULL : sample_choose(timer);
    signal_send(process, thread, &timer->entry.info, &timer->entry);
}

/* Sends a signal for RLIMIT_CPU, and goes on to the next second. The caller holds the lock. */
static void limit_reached(struct posix_timer *timer)
{
    uint64_t used_s = cpu_time_of_timer(timer) / NS_PER_S;
    bool is_last = used_s >= timer->process->limits[LIMIT_CPU_S].hard;
    const struct signal_info info = { .signal = is_last ? SIGNAL_KILL : SIGNAL_XCPU,
                                      .code = SIGNAL_BY_TIMER };

    signal_send(timer->process, NULL, &info, NULL);
    timer->deadline_ns = (used_s + 1) * NS_PER_S;
    cpu_alarm_start(timer);
}

/* Does what the alarm of a timer of CPU time is for. The caller holds the lock. */
static __attribute__((noinline)) void cpu_alarm_fire(struct posix_timer *timer)
{
    if (cpu_time_of_timer(timer) < timer->deadline_ns) {
        cpu_alarm_start(timer);
    } else if (timer == &timer->process->timers.all[POSIX_TIMERS_MAX + TIMER_LIMIT]) {
        limit_reached(timer);
    } else {
        timer->armed = false;
        signal_now(timer);
        if (!timer->interval_ns) {
            clock_leave(timer);
            timer->deadline_ns = 0;
        }
    }
}

static void fire(struct smart_timer *alarm, uint64_t now_ns)
{
    struct posix_timer *timer = LIST_OWNER(alarm, posix_timer, alarm);
    struct process *process = alarm->context;

    (void)now_ns;
    SPIN_GUARD(&process->timers.lock);
    if (!timer->armed || timer->alarm.pending)
        return;
    if (timer->clock.is_cpu) {
        cpu_alarm_fire(timer);
    } else if (deadline_is_over(deadline_of_timer(timer))) {
        timer->armed = false;
        signal_now(timer);
    } else {
        timer_start(alarm, deadline_of_timer(timer), alarm->bound_ns);
    }
}

/* ---- Under the lock ---- */

static void arm(struct posix_timer *timer)
{
    if (timer->is_silent)
        return;
    timer->armed = true;
    timer->alarm.expire = fire;
    timer->alarm.context = timer->process;
    timer->alarm.is_background = schedule_is_background(&arch_thread()->schedule);
    timer->bound_ns = arch_thread()->latency_bound_ns;
    if (timer->clock.is_cpu)
        cpu_alarm_start(timer);
    else
        timer_start(&timer->alarm, deadline_of_timer(timer), timer->bound_ns);
}

/* Withdraws the alarm and the pending signal of the present setting. */
static void stop(struct posix_timer *timer)
{
    timer->setting++;
    if (timer->armed)
        timer_cancel(&timer->alarm);
    timer->armed = false;
    if (timer->is_listed)
        clock_leave(timer);
    if (timer->entry.in) /* it is sent, which changes this, under the timers' lock alone */
        signal_withdraw_entry(timer->process, &timer->entry);
    timer->deadline_ns = 0;
}

/* Arms a periodic timer again, after its signal, for the first period that has not passed. The periods left
 * out are its overruns. */
static void rearm(struct posix_timer *timer)
{
    uint64_t overrun = 0;

    if (timer->interval_ns) {
        uint64_t now_ns = now_of_timer(timer);

        if (now_ns > timer->deadline_ns)
            overrun = (now_ns - timer->deadline_ns) / timer->interval_ns;
        timer->deadline_ns = time_add(timer->deadline_ns, (overrun + 1) * timer->interval_ns);
        arm(timer);
    }
    timer->overrun = overrun < INT32_MAX ? (int32_t)overrun : INT32_MAX;
}

static struct timer_setting setting_of(const struct posix_timer *timer)
{
    struct timer_setting setting = { 0, timer->interval_ns };

    if (timer->deadline_ns == 0)
        return setting;
    uint64_t now_ns = now_of_timer(timer);
    if (timer->deadline_ns > now_ns)
        setting.left_ns = timer->deadline_ns - now_ns;
    else if (timer->interval_ns)
        setting.left_ns = timer->interval_ns - (now_ns - timer->deadline_ns) % timer->interval_ns;
    else
        setting.left_ns = timer->armed ? 1 : 0; /* due, but not handled yet */
    return setting;
}

static bool is_suspended(const struct posix_timer *timer)
{
    return timer->deadline_ns && timer->interval_ns && !timer->is_silent && !timer->armed && !timer->entry.in;
}

/* ---- In system calls ---- */

void posix_timer_signal_taken(struct posix_timer *timer, uint64_t setting, struct signal_info *info)
{
    struct process *process = arch_process();

    SPIN_GUARD(&process->timers.lock);
    if (timer->setting != setting)
        return;
    if (!timer->armed) /* else posix_timers_resume was faster */
        rearm(timer);
    if (info->code == SIGNAL_BY_TIMER)
        info->timer.overrun = timer->overrun;
}

void posix_timers_resume(struct process *process, int signal)
{
    struct process_timers *timers = &process->timers;

    if (!timers->some_set) /* any timer whose signal was discarded was set before, ordered by signals.lock */
        return;
    SPIN_GUARD(&timers->lock);
    for (struct posix_timer *timer = timers->all; timer < &timers->all[POSIX_TIMERS_MAX + PROCESS_TIMERS];
         timer++)
        if (timer->process && timer->entry.info.signal == signal && is_suspended(timer))
            rearm(timer);
}

int posix_timer_create(const struct timer_clock *clock, int signal, const uint64_t *value, uint32_t tid,
                       bool is_silent)
{
    struct process *process = arch_process();
    struct process_timers *timers = &process->timers;
    int id = -EAGAIN;

    SPIN_GUARD(&timers->lock);
    for (int i = 0; i < POSIX_TIMERS_MAX && id < 0; i++)
        if (!timers->all[i].process)
            id = i;
    if (id >= 0) {
        struct posix_timer *timer = &timers->all[id];

        *timer = (struct posix_timer){
            .setting = timer->setting, /* a signal may be taken but not handled yet, */
            .alarm = timer->alarm,     /* and the alarm before may be about to fire */
            .process = process,
            .tid = tid,
            .is_silent = is_silent,
            .clock = *clock,
            .entry.info = { .signal = signal,
                            .code = SIGNAL_BY_TIMER,
                            .timer = { .id = id, .value = value ? *value : (uint64_t)id } }
        };
    }
    return id;
}

struct posix_timer *posix_timer_find(uint64_t id)
{
    struct process_timers *timers = &arch_process()->timers;

    return (uint32_t)id < POSIX_TIMERS_MAX && timers->all[(uint32_t)id].process ? &timers->all[(uint32_t)id]
                                                                                : NULL;
}

struct posix_timer *posix_timer_of_process(unsigned which)
{
    static const uint8_t signals[PROCESS_TIMERS] = { SIGNAL_ALRM, SIGNAL_VTALRM, SIGNAL_PROF, SIGNAL_XCPU };
    struct process *process = arch_process();
    struct posix_timer *timer = &process->timers.all[POSIX_TIMERS_MAX + which];

    SPIN_GUARD(&process->timers.lock);
    if (!timer->process) { /* else it may be about to fire */
        timer->entry.info = (struct signal_info){ .signal = signals[which], .code = SIGNAL_BY_KERNEL };
        timer->clock.is_cpu = which != TIMER_REAL;
        timer->clock.is_user = which == TIMER_VIRTUAL;
        timer->process = process;
    }
    return timer;
}

void posix_timer_limit_set(void)
{
    const struct linux_rlimit *limit = &arch_process()->limits[LIMIT_CPU_S];
    uint64_t first_s = smaller(limit->soft, limit->hard);
    struct timer_setting old;

    first_s = first_s ? first_s : 1; /* as on Linux */
    posix_timer_set(posix_timer_of_process(TIMER_LIMIT),
                    first_s < INT64_MAX / NS_PER_S ? first_s * NS_PER_S : 0, true, 0, &old);
}

int posix_timer_delete(uint64_t id)
{
    struct process_timers *timers = &arch_process()->timers;

    SPIN_GUARD(&timers->lock);
    struct posix_timer *timer = posix_timer_find(id);
    if (!timer)
        return -EINVAL;
    stop(timer);
    timer->process = NULL;
    return 0;
}

int posix_timer_set(struct posix_timer *timer, uint64_t ns, bool is_absolute, uint64_t interval_ns,
                    struct timer_setting *old)
{
    struct process_timers *timers = &arch_process()->timers;

    SPIN_GUARD(&timers->lock);
    *old = setting_of(timer);
    if (!timer->process) /* another thread has deleted it meanwhile */
        return 0;
    stop(timer);
    if (timer->clock.is_cpu && clock_enter(timer))
        return -ESRCH;
    timer->goes_by_wall = is_absolute && timer->clock.is_wall;
    timer->interval_ns = ns ? interval_ns : 0;
    timer->overrun = 0;
    if (ns) {
        timer->deadline_ns = is_absolute ? ns : time_add(now_of_timer(timer), ns);
        arm(timer);
    } else if (timer->is_listed) {
        clock_leave(timer);
    }
    timers->some_set = true;
    return 0;
}

struct timer_setting posix_timer_get(struct posix_timer *timer)
{
    SPIN_GUARD(&arch_process()->timers.lock);

    return setting_of(timer);
}

void posix_timers_thread_end(struct thread *thread)
{
    struct process_timers *timers = &thread->process->timers;

    SPIN_GUARD(&timers->lock);
    LIST_EACH_SAFE(posix_timer, timer, &thread->cpu_timers) {
        stop(timer);
        timer->interval_ns = 0;
    }
    LIST_EACH(posix_timer, timer, &timers->of_cpus)
        if (is_suspended(timer))
            rearm(timer);
}

void posix_timers_end(struct process *process)
{
    for (unsigned i = 0; i < POSIX_TIMERS_MAX + PROCESS_TIMERS; i++) {
        SPIN_GUARD(&process->timers.lock);
        if (process->timers.all[i].process)
            stop(&process->timers.all[i]);
    }
}
