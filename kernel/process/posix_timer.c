/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posix_timer.c: see posix_timer.h.
 *
 * Runs in system calls, and in interrupts when a timer fires, interrupts off. The lock of the process's
 * timers guards them all. A timer that fires may find, once it has the lock, that it was stopped, set again
 * or deleted meanwhile: `armed` and the smart timer show that. Before, it uses nothing but the smart timer.
 */
#include "process/posix_timer.h"
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timespec.h"

/* ---- Its clock ---- */

static uint64_t deadline_of_timer(const struct posix_timer *timer)
{
    return timer->goes_by_wall ? deadline_by(DEADLINE_WALL, timer->deadline_ns) : timer->deadline_ns;
}

static uint64_t now_of_timer(const struct posix_timer *timer)
{
    return timer->goes_by_wall ? clock_wall_ns(NULL) : clock_now_ns();
}

/* ---- In an interrupt ---- */

/* Sends the timer's signal. The caller holds the lock. */
static void signal_now(struct posix_timer *timer)
{
    struct process *process = timer->process;

    timer->entry.timer = timer;
    timer->entry.setting = timer->setting;
    if (!timer->tid) {
        signal_send(process, NULL, &timer->entry.info, &timer->entry);
        return;
    }
    SPIN_GUARD(&process->lock);
    struct thread *thread = thread_find(process, timer->tid);
    if (thread) /* else the signal is lost */
        signal_send(process, thread, &timer->entry.info, &timer->entry);
}

static void fire(struct smart_timer *alarm, uint64_t now_ns)
{
    struct posix_timer *timer = LIST_OWNER(alarm, posix_timer, alarm);
    struct process *process = alarm->context;

    (void)now_ns;
    SPIN_GUARD(&process->timers.lock);
    if (!timer->armed || timer->alarm.pending)
        return;
    if (deadline_is_over(deadline_of_timer(timer))) {
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
    timer_start(&timer->alarm, deadline_of_timer(timer), arch_thread()->latency_bound_ns);
}

/* Withdraws the alarm and the pending signal of the present setting. */
static void stop(struct posix_timer *timer)
{
    timer->setting++;
    if (timer->armed)
        timer_cancel(&timer->alarm);
    timer->armed = false;
    signal_withdraw_entry(timer->process, &timer->entry);
    timer->deadline_ns = 0;
}

/* Arms a periodic timer again, after its signal, for the first period that has not passed. The periods left
 * out are its overruns. */
static void rearm(struct posix_timer *timer)
{
    uint64_t now_ns = now_of_timer(timer), overrun = 0;

    if (timer->interval_ns) {
        if (now_ns > timer->deadline_ns)
            overrun = (now_ns - timer->deadline_ns) / timer->interval_ns;
        timer->deadline_ns = time_add(timer->deadline_ns, (overrun + 1) * timer->interval_ns);
        arm(timer);
    }
    timer->overrun = overrun < INT32_MAX ? (int32_t)overrun : INT32_MAX;
}

static struct timer_setting setting_of(const struct posix_timer *timer)
{
    uint64_t now_ns = now_of_timer(timer);
    struct timer_setting setting = { 0, timer->interval_ns };

    if (timer->deadline_ns == 0)
        return setting;
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
    for (struct posix_timer *timer = timers->all; timer <= &timers->all[POSIX_TIMERS_MAX]; timer++)
        if (timer->process && timer->entry.info.signal == signal && is_suspended(timer))
            rearm(timer);
}

int posix_timer_create(int signal, const uint64_t *value, uint32_t tid, bool is_silent, bool is_wall)
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
            .is_wall = is_wall,
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

struct posix_timer *posix_timer_real(void)
{
    struct process *process = arch_process();
    struct posix_timer *timer = &process->timers.all[POSIX_TIMERS_MAX];

    SPIN_GUARD(&process->timers.lock);
    if (!timer->process) { /* else it may be about to fire */
        timer->entry.info = (struct signal_info){ .signal = SIGNAL_ALRM, .code = SIGNAL_BY_KERNEL };
        timer->process = process;
    }
    return timer;
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

void posix_timer_set(struct posix_timer *timer, uint64_t deadline, uint64_t interval_ns,
                     struct timer_setting *old)
{
    struct process_timers *timers = &arch_process()->timers;

    SPIN_GUARD(&timers->lock);
    *old = setting_of(timer);
    if (!timer->process) /* another thread has deleted it meanwhile */
        return;
    stop(timer);
    timer->goes_by_wall = deadline_is_wall(deadline);
    timer->deadline_ns = timer->goes_by_wall ? deadline & ~DEADLINE_WALL : deadline;
    timer->interval_ns = deadline ? interval_ns : 0;
    timer->overrun = 0;
    if (deadline)
        arm(timer);
    timers->some_set = true;
}

struct timer_setting posix_timer_get(struct posix_timer *timer)
{
    SPIN_GUARD(&arch_process()->timers.lock);

    return setting_of(timer);
}

void posix_timers_end(struct process *process)
{
    for (unsigned i = 0; i <= POSIX_TIMERS_MAX; i++) {
        SPIN_GUARD(&process->timers.lock);
        if (process->timers.all[i].process)
            stop(&process->timers.all[i]);
    }
}
