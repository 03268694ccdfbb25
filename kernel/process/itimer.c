/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * itimer.c: see itimer.h.
 *
 * Runs in system calls, and in interrupts when a timer fires, interrupts off. The lock of the process's
 * timers guards them all; it may be held while another CPU is asked to take a smart timer out of its queue,
 * because whoever waits for the lock meanwhile answers (spinlock.h). A timer that fires may so find, when it
 * gets the lock, that it has been stopped or set anew: `armed` and the smart timer itself tell.
 */
#include "process/itimer.h"
#include "arch.h"
#include "time/clock.h"
#include "time/clock_event.h"
#include "smp/crosscall.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/timespec.h"

/* ---- Under the lock ---- */

static void fire(struct smart_timer *alarm, uint64_t now_ns);

static void arm(struct program_timer *timer)
{
    timer->ignored = false;
    if (timer->silent)
        return;
    timer->armed = true;
    timer->cpu = arch_cpu_index();
    timer->alarm.expire = fire;
    timer->alarm.context = timer;
    timer_start(&timer->alarm, timer->deadline_ns, arch_thread()->latency_bound_ns);
}

static void alarm_cancel(void *alarm)
{
    timer_cancel(alarm);
}

/* Neither alarm nor signal comes of what was set before. */
static void stop(struct program_timer *timer)
{
    timer->setting++;
    timer->ignored = false;
    if (timer->armed && timer->cpu == arch_cpu_index())
        alarm_cancel(&timer->alarm);
    else if (timer->armed)
        crosscall(1ULL << timer->cpu, alarm_cancel, &timer->alarm);
    timer->armed = false;
    signal_withdraw_entry(timer->process, &timer->entry);
    timer->deadline_ns = 0;
}

/* Moves the deadline to the first one in the future; how many have passed beyond the one that was told. */
static uint64_t forward(struct program_timer *timer)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t passed = now_ns > timer->deadline_ns ? (now_ns - timer->deadline_ns) / timer->interval_ns : 0;

    timer->deadline_ns = time_add(timer->deadline_ns, (passed + 1) * timer->interval_ns);
    return passed;
}

static struct timer_setting setting_of(const struct program_timer *timer)
{
    uint64_t now_ns = clock_now_ns();
    struct timer_setting setting = { 0, timer->interval_ns };

    if (timer->deadline_ns == 0)
        return setting;
    if (timer->deadline_ns > now_ns)
        setting.left_ns = timer->deadline_ns - now_ns;
    else if (timer->interval_ns)
        setting.left_ns = timer->interval_ns - (now_ns - timer->deadline_ns) % timer->interval_ns;
    else
        setting.left_ns = timer->armed ? 1 : 0; /* due, but still to come */
    return setting;
}

/* Whether the signal waits now. */
static bool signal_now(struct program_timer *timer)
{
    struct process *process = timer->process;
    bool waits = true;

    timer->entry.timer = timer;
    timer->entry.setting = timer->setting;
    if (!timer->tid)
        return signal_send_entry(process, NULL, &timer->entry);
    spin_lock(&process->lock);
    struct thread *thread = thread_find(process, timer->tid);
    if (thread) /* else nobody gets it any more */
        waits = signal_send_entry(process, thread, &timer->entry);
    spin_unlock(&process->lock);
    return waits;
}

/* ---- In an interrupt ---- */

static void fire(struct smart_timer *alarm, uint64_t now_ns)
{
    struct program_timer *timer = alarm->context;
    struct process *process = timer->process;

    (void)now_ns;
    spin_lock(&process->timers.lock);
    if (timer->armed && !timer->alarm.pending) {
        timer->armed = false;
        timer->ignored = !signal_now(timer) && timer->interval_ns;
        process->timers.some_ignored |= timer->ignored;
    }
    spin_unlock(&process->timers.lock);
}

/* ---- In calls ---- */

void itimer_signal_taken(struct program_timer *timer, uint64_t setting, struct signal_info *info)
{
    struct process *process = arch_process();

    spin_lock(&process->timers.lock);
    if (timer->setting == setting && !timer->armed) {
        uint64_t overrun = timer->interval_ns ? forward(timer) : 0;

        if (timer->interval_ns)
            arm(timer);
        timer->overrun = overrun < INT32_MAX ? (int32_t)overrun : INT32_MAX;
        if (info->code == SIGNAL_BY_TIMER)
            info->timer.overrun = timer->overrun;
    }
    spin_unlock(&process->timers.lock);
}

/* A signal that waited was forgotten when the program began to ignore it: from then on its timer has fired in
 * vain. When the program ignores it no longer, the timer goes on. */
static void action_changed(struct program_timer *timer, bool is_ignored)
{
    if (is_ignored && timer->deadline_ns && timer->interval_ns && !timer->armed && !timer->silent &&
        !timer->entry.in) {
        timer->ignored = timer->process->timers.some_ignored = true;
    } else if (!is_ignored && timer->ignored) {
        forward(timer);
        arm(timer);
    }
}

void itimer_action_changed(struct process *process, int signal)
{
    struct process_timers *timers = &process->timers;
    bool is_ignored = signal_is_ignored(process, signal);

    if (is_ignored ? !timers->some_set : !timers->some_ignored)
        return;
    spin_lock(&timers->lock);
    for (unsigned i = 0; i <= PROGRAM_TIMERS; i++) {
        struct program_timer *timer = i < PROGRAM_TIMERS ? &timers->created[i] : &timers->real;

        if (timer->process && timer->entry.info.signal == signal)
            action_changed(timer, is_ignored);
    }
    spin_unlock(&timers->lock);
}

int itimer_create(int signal, const uint64_t *value, uint32_t tid, bool silent, bool is_wall)
{
    struct process *process = arch_process();
    struct process_timers *timers = &process->timers;
    int id = -EAGAIN;

    spin_lock(&timers->lock);
    for (int i = 0; i < PROGRAM_TIMERS && id < 0; i++)
        if (!timers->created[i].process)
            id = i;
    if (id >= 0) {
        struct program_timer *timer = &timers->created[id];

        *timer = (struct program_timer){
            .setting = timer->setting, /* a signal may still be on its way */
            .process = process,
            .tid = tid,
            .silent = silent,
            .is_wall = is_wall,
            .entry.info = { .signal = signal, .code = SIGNAL_BY_TIMER, .timer = { .id = id } }
        };
        timer->entry.info.timer.value = value ? *value : (uint64_t)id;
    }
    spin_unlock(&timers->lock);
    return id;
}

struct program_timer *itimer_find(uint64_t id)
{
    struct process_timers *timers = &arch_process()->timers;

    return (uint32_t)id < PROGRAM_TIMERS && timers->created[(uint32_t)id].process
               ? &timers->created[(uint32_t)id]
               : NULL;
}

struct program_timer *itimer_real(void)
{
    struct process *process = arch_process();
    struct program_timer *timer = &process->timers.real;

    spin_lock(&process->timers.lock);
    if (!timer->process) { /* else it may be about to fire */
        timer->entry.info = (struct signal_info){ .signal = SIGNAL_ALRM, .code = SIGNAL_BY_KERNEL };
        timer->process = process;
    }
    spin_unlock(&process->timers.lock);
    return timer;
}

int itimer_delete(uint64_t id)
{
    struct process_timers *timers = &arch_process()->timers;

    spin_lock(&timers->lock);
    struct program_timer *timer = itimer_find(id);
    if (timer) {
        stop(timer);
        timer->process = NULL;
    }
    spin_unlock(&timers->lock);
    return timer ? 0 : -EINVAL;
}

void itimer_set(struct program_timer *timer, uint64_t deadline_ns, uint64_t interval_ns,
                struct timer_setting *old)
{
    struct process_timers *timers = &arch_process()->timers;

    spin_lock(&timers->lock);
    *old = setting_of(timer);
    if (timer->process) { /* another thread may have deleted it meanwhile */
        stop(timer);
        timer->deadline_ns = deadline_ns;
        timer->interval_ns = deadline_ns ? interval_ns : 0;
        timer->overrun = 0;
        if (deadline_ns)
            arm(timer);
        timers->some_set = true;
    }
    spin_unlock(&timers->lock);
}

struct timer_setting itimer_get(struct program_timer *timer)
{
    struct process_timers *timers = &arch_process()->timers;

    spin_lock(&timers->lock);
    struct timer_setting setting = setting_of(timer);
    spin_unlock(&timers->lock);
    return setting;
}

void itimer_end(struct process *process)
{
    spin_lock(&process->timers.lock);
    for (unsigned i = 0; i < PROGRAM_TIMERS; i++)
        if (process->timers.created[i].process)
            stop(&process->timers.created[i]);
    if (process->timers.real.process)
        stop(&process->timers.real);
    spin_unlock(&process->timers.lock);
}
