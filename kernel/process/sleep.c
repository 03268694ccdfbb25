/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep.c: see sleep.h. Runs in system calls and on the way back from them, interrupts off, no locks held.
 *
 * No wake-up is lost: whoever ends a sleep stores the reason first and interrupts the CPU afterwards, and an
 * interrupt that comes between the check of the reason and timer_idle ends that at once.
 */
#include "process/sleep.h"
#include "arch.h"
#include "debug/klog.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timer.h"

static void sleep_expire(struct smart_timer *timer, uint64_t now_ns)
{
    bool *is_over = timer->context;

    klog(timer_expire, timer->deadline_ns, now_ns);
    *is_over = true;
}

int thread_sleep(const uint32_t *woken, uint64_t deadline_ns)
{
    struct thread *thread = arch_thread();
    volatile bool is_over = false;
    struct smart_timer timer = { .expire = sleep_expire, .context = (void *)&is_over };
    int result;

    klog(sleep, deadline_ns, thread->latency_bound_ns);
    cpu_time_idle_begin(thread);
    if (deadline_ns != TIMER_NEVER)
        timer_start(&timer, deadline_ns, thread->latency_bound_ns);
    for (;;) {
        result = woken && __atomic_load_n(woken, __ATOMIC_ACQUIRE) ? 0
                 : is_over                                         ? -ETIMEDOUT
                 : thread_has_pending_work(thread)                 ? -EINTR
                                                                   : 1;
        if (result <= 0)
            break;
        timer_idle();
    }
    timer_cancel(&timer);
    klog(sleep_end, deadline_ns, clock_now_ns());
    cpu_time_idle_end(thread);
    thread_return_check(); /* work may have become pending in either case */
    return result;
}

void thread_sleep_stopped(struct thread *thread)
{
    const struct process *process = thread->process;

    cpu_time_idle_begin(thread);
    while (__atomic_load_n(&process->signals.stopped, __ATOMIC_ACQUIRE) && !process->ending)
        timer_idle();
    cpu_time_idle_end(thread);
    if (process->ending)
        thread_exit(process->exit_status);
}
