/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_window.c: for a while the service's threads come before the ranks': the forced switch of [Betti09
 * §III], by which the daemons of all nodes run at the same time instead of one here, one there
 * (docs/nettick.md).
 *
 * A CPU's window lifts the threads of the service that are ready on that CPU when it begins, and the one that
 * runs there, whatever their policy. That includes threads that slept until a time that has come, but whose
 * timer was not to disturb any other thread. No thread is lifted later. A thread that blocks gives the CPU
 * back at once; if it is woken before the end of the window it goes on, on any CPU that it may run on. At the
 * end all have their former ranks.
 *
 * The end is exact: the CPU's own device interrupts it then, even if its lifted threads have blocked before.
 *
 * Runs in interrupts, interrupts off. Each CPU owns the list of the threads that it has lifted. The lock of
 * its group guards whether a thread is lifted, or in a list, wherever it has moved. A thread that has ended
 * stays in the list, also when its memory has become the next thread, but is not lifted.
 */
#include "arch.h"
#include "debug/klog.h"
#include "process/futex.h"
#include "process/process.h"
#include "process/run_queue.h"
#include "process/schedule.h"
#include "time/clock.h"
#include "time/timer.h"

static bool may_lift(const struct thread *thread)
{
    return thread->process->is_service && !thread->schedule.is_lifted;
}

static void lift(struct run_queue *queue, struct thread *thread)
{
    struct schedule_entry *entry = &thread->schedule;

    entry->is_lifted = true;
    entry->rank = RANK_LIFTED;
    if (entry->is_to_lower)
        return;
    entry->is_to_lower = true;
    entry->lowered_next = queue->to_lower;
    queue->to_lower = thread;
}

/* Lifts the threads of the service where they are. Returns how many. A lifted thread goes to the front of the
 * first level: so one pass meets each thread once. */
static unsigned all_lift(struct run_queue *queue)
{
    struct thread *running = queue->current;
    unsigned count = 0;

    if (running && running->schedule.state == THREAD_RUNNING && may_lift(running)) {
        lift(queue, running);
        count++;
    }
    for (unsigned level = 0; level < LEVELS; level++)
        for (struct list_link *link = queue->levels[level].first, *next; link; link = next) {
            struct thread *thread = LIST_OWNER(link, thread, schedule.link);

            next = link->next;
            lock_work_step();
            if (!may_lift(thread))
                continue;
            run_queue_remove(thread);
            lift(queue, thread);
            run_queue_add(queue, thread, false);
            count++;
        }
    return count;
}

/* Lowers a thread; the caller holds the lock of its group. A thread that waits where it runs goes first, also
 * one of the rank that it has now. */
static void lower(struct cpu_group *group, struct thread *thread)
{
    struct schedule_entry *entry = &thread->schedule;

    entry->is_lifted = false;
    entry->must_move |= entry->state == THREAD_RUNNING && run_queue_ready(entry->queue);
    schedule_rank_update(group, thread);
}

static void window_end(struct smart_timer *timer, uint64_t now_ns)
{
    struct run_queue *queue = LIST_OWNER(timer, run_queue, window);
    struct thread *thread;
    unsigned count = 0;

    for (; (thread = queue->to_lower); count++) {
        struct cpu_group *group = cpu_group_lock(thread);
        const bool is_lifted = thread->schedule.is_lifted;

        queue->to_lower = thread->schedule.lowered_next;
        thread->schedule.is_to_lower = false;
        if (is_lifted)
            lower(group, thread);
        spin_unlock(&group->lock);
        if (is_lifted)
            futex_rank_changed(thread);
    }
    klog(window_end, count, now_ns);
}

bool service_window_begin(uint64_t window_ns)
{
    struct run_queue *queue = run_queue_here();
    const uint64_t end_ns = clock_now_ns() + window_ns;

    if (!queue->group) /* no rank's CPU */
        return false;
    timer_background_expire();
    spin_lock(&queue->group->lock);
    const unsigned count = all_lift(queue);
    spin_unlock(&queue->group->lock);
    if (!count && !timer_is_pending(&queue->window))
        return false;
    klog(window, count, end_ns);
    if (!timer_is_pending(&queue->window) || queue->window.deadline_ns < end_ns) {
        queue->window.expire = window_end;
        timer_start_exact(&queue->window, end_ns);
    }
    return true;
}
