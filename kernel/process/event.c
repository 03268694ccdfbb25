/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.c: see event.h. Owns the events of each process: how many there were, and who waits for the next. An
 * event wakes all that wait, whatever for; a waiter stands on the stack of its thread.
 *
 * A thread keeps the number of events that had been when it began its check, and does not wait if there are
 * more by now. A notifier counts the event and then reads `waiting`; a waiter counts itself and then reads
 * the number of events. The fences between them make one of the two see the other.
 */
#include "process/event.h"
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/clock.h"

#define POLL_NS 1000000

struct waiter {
    struct list_link link;
    struct thread *thread;
    uint32_t notified; /* and in the list no longer */
};

static int wait(struct process_events *events, struct thread *thread, uint64_t deadline_ns)
{
    struct waiter waiter = { .thread = thread };
    int result = 0;

    __atomic_fetch_add(&events->waiting, 1, __ATOMIC_SEQ_CST);
    spin_lock(&events->lock);
    list_append(&events->waiters, &waiter.link);
    spin_unlock(&events->lock);
    if (__atomic_load_n(&events->sequence, __ATOMIC_SEQ_CST) == thread->events_seen)
        result = thread_sleep(&waiter.notified, deadline_ns);
    spin_lock(&events->lock);
    if (!waiter.notified)
        list_remove(&events->waiters, &waiter.link);
    spin_unlock(&events->lock);
    __atomic_fetch_sub(&events->waiting, 1, __ATOMIC_RELAXED);
    return result;
}

int event_wait(uint64_t deadline_ns)
{
    struct thread *thread = arch_thread();
    struct process_events *events = &thread->process->events;
    int result = wait(events, thread, deadline_ns);

    thread->events_seen =
        __atomic_load_n(&events->sequence, __ATOMIC_SEQ_CST); /* the caller checks after this */
    return result == -EINTR ? -EINTR : 0;
}

int event_wait_polling(uint64_t deadline_ns)
{
    uint64_t next = clock_now_ns() + POLL_NS;

    return event_wait(next < deadline_ns ? next : deadline_ns);
}

static void notify(struct process_events *events)
{
    struct waiter *waiter;

    __atomic_fetch_add(&events->sequence, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&events->waiting, __ATOMIC_SEQ_CST))
        return;
    spin_lock(&events->lock);
    while ((waiter = (void *)events->waiters.first)) {
        struct thread *thread = waiter->thread;

        list_remove(&events->waiters, &waiter->link);
        __atomic_store_n(&waiter->notified, 1, __ATOMIC_RELEASE);
        thread_wake(thread);
    }
    spin_unlock(&events->lock);
}

void event_notify(struct process *process)
{
    notify(&process->events);
}

void event_notify_all(void)
{
    for (uint64_t pid = PID_FIRST; pid < PID_FIRST + PROCESSES_MAX; pid++) {
        struct process *process = process_find(pid);

        if (process)
            notify(&process->events);
    }
}
