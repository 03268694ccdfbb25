/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep.c: how a thread waits inside the kernel (thread.h). Runs in system calls and on the way back from
 * them, interrupts off, no locks held.
 *
 * No wake-up is lost: a thread that ends a sleep stores the reason first and wakes the sleeper afterwards,
 * and thread_block does not wait if that has happened since the reason was checked.
 */
#include "arch.h"
#include "debug/klog.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timer.h"

/* Wakes the sleeper, which sees that the time is over by the timer: it is no longer pending. The timer may be
 * another sleep's by now, which is woken for nothing then. */
static void sleep_expire(struct smart_timer *timer, uint64_t now_ns)
{
    klog(timer_expire, timer->deadline_ns, now_ns);
    thread_wake(LIST_OWNER(timer, thread, sleep_timer)); /* its context may be the next thread's already */
}

/* Blocks once. The thread may lose its CPU, get it back for nothing, and block again: so each time counts
 * separately. Returns the time at its end. */
static uint64_t block(struct thread *thread)
{
    cpu_time_idle_begin(thread);
    thread_block();

    uint64_t now_ns = clock_now_ns();
    cpu_time_idle_end(thread, now_ns);
    return now_ns;
}

enum until { UNTIL_WOKEN, UNTIL_WORK, UNTIL_STEP };

/* Returns whether the time limit is over, and not only the first wait for it (timer_start). */
static bool is_over(struct thread *thread, uint64_t deadline, enum until until)
{
    struct smart_timer *timer = &thread->sleep_timer;

    if (timer_is_pending(timer))
        return false;
    if (until == UNTIL_STEP || deadline_is_over(deadline))
        return true;
    timer_start(timer, deadline, thread->latency_bound_ns);
    return false;
}

/* Returns how a sleep ends, if it does; else 1. */
static int outcome(struct thread *thread, const uint32_t *woken, uint64_t deadline, enum until until)
{
    if (woken && __atomic_load_n(woken, __ATOMIC_ACQUIRE))
        return 0;
    if (deadline != TIMER_NEVER && is_over(thread, deadline, until))
        return -ETIMEDOUT;
    return until != UNTIL_WOKEN && thread_has_pending_work(thread) ? -EINTR : 1;
}

static int sleep(const uint32_t *woken, uint64_t deadline, enum until until)
{
    struct thread *thread = arch_thread();
    struct smart_timer *timer = &thread->sleep_timer;
    bool is_limited = deadline != TIMER_NEVER;
    uint64_t wait_ns = deadline_wait_ns(deadline);
    uint64_t now_ns = 0; /* at the end of the last block */
    int result;

    klog(sleep, wait_ns, thread->latency_bound_ns);
    if (is_limited) {
        timer->expire = sleep_expire;
        timer->is_background = schedule_is_background(&thread->schedule);
        timer_start(timer, deadline, thread->latency_bound_ns);
    }
    while ((result = outcome(thread, woken, deadline, until)) > 0)
        now_ns = block(thread);
    if (is_limited)
        timer_cancel(timer);
    klog(sleep_end, wait_ns, now_ns ? now_ns : clock_now_ns());
    thread_return_check(); /* work may have become pending in either case */
    return result;
}

int thread_sleep(const uint32_t *woken, uint64_t deadline)
{
    return sleep(woken, deadline, UNTIL_WORK);
}

int thread_sleep_to_step(const uint32_t *woken, uint64_t deadline)
{
    return sleep(woken, deadline, UNTIL_STEP);
}

int thread_sleep_through(const uint32_t *woken, uint64_t deadline)
{
    return sleep(woken, deadline, UNTIL_WOKEN);
}

void thread_sleep_stopped(struct thread *thread)
{
    const struct process *process = thread->process;

    while (__atomic_load_n(&process->signals.stopped, __ATOMIC_ACQUIRE) && !process->ending)
        block(thread);
    if (process->ending)
        thread_exit(process_exit_status(process));
}
