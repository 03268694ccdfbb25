/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.c: see event.h. Owns the events of each process: how many there were, and which threads wait for the
 * next. A waiter stands on the stack of its thread.
 *
 * A thread remembers how many events there were when it began its check, and does not wait if there are
 * more by now. A notifier counts the event and then reads `waiting`; a waiter counts itself and then reads
 * the number of events. The fences between them make at least one of the two see the other.
 *
 * A notifier wakes only one of another process's waiters, which then wakes the others: so the notifier's
 * work does not depend on how many threads of another process wait.
 */
#include "process/event.h"
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/clock.h"

#define POLL_NS        1000000
#define EVENTS_PRIVATE 0
#define OBJECT_KINDS   63 /* all bits but EVENT_INPUT */

struct waiter {
    struct list_link link;
    struct thread *thread;
    uint64_t kinds;
    uint64_t wakes;    /* kinds for which this waiter wakes the others */
    uint32_t notified; /* then it is no longer in the list */
};

static unsigned hash(const void *object, unsigned values)
{
    return (unsigned)((uintptr_t)object * 0x9e3779b97f4a7c15ULL >> 32) % values;
}

uint64_t event_of(const void *object)
{
    return 2ULL << hash(object, OBJECT_KINDS);
}

static unsigned shared_list(const void *object)
{
    return EVENTS_PRIVATE + 1 + hash(object, EVENT_LISTS - 1);
}

/* Takes a waiter out of its list and wakes its thread. The caller holds the list's lock, as for wake_all. */
static void wake(struct event_list *list, struct waiter *waiter)
{
    struct thread *thread = waiter->thread;

    list_remove(&list->waiters, &waiter->link);
    __atomic_store_n(&waiter->notified, 1, __ATOMIC_RELEASE);
    thread_wake(thread);
}

static void wake_all(struct event_list *list, uint64_t kinds)
{
    LIST_EACH_SAFE(waiter, waiter, &list->waiters)
        if (waiter->kinds & kinds)
            wake(list, waiter);
}

static int wait(unsigned which, uint64_t kinds, uint64_t deadline)
{
    struct thread *thread = arch_thread();
    struct event_list *list = &thread->process->events[which];
    struct waiter waiter = { .thread = thread, .kinds = kinds };
    int result = 0;

    __atomic_fetch_add(&list->waiting, 1, __ATOMIC_SEQ_CST);
    spin_lock(&list->lock);
    list_append(&list->waiters, &waiter.link);
    spin_unlock(&list->lock);
    if (__atomic_load_n(&list->sequence, __ATOMIC_SEQ_CST) == thread->events_seen[which])
        result = thread_sleep_to_step(&waiter.notified, deadline);
    spin_lock(&list->lock);
    if (!waiter.notified)
        list_remove(&list->waiters, &waiter.link);
    if (waiter.wakes)
        wake_all(list, waiter.wakes);
    spin_unlock(&list->lock);
    __atomic_fetch_sub(&list->waiting, 1, __ATOMIC_RELAXED);
    thread->events_seen[which] =
        __atomic_load_n(&list->sequence, __ATOMIC_SEQ_CST); /* the caller checks after this */
    return result == -EINTR ? -EINTR : 0;
}

int event_wait(uint64_t kinds, uint64_t deadline)
{
    return wait(EVENTS_PRIVATE, kinds, deadline);
}

int event_wait_shared(const void *object)
{
    return wait(shared_list(object), UINT64_MAX, WAIT_FOREVER);
}

int event_wait_polling(uint64_t kinds, uint64_t deadline_ns)
{
    uint64_t next = clock_now_ns() + POLL_NS;

    return event_wait(kinds, next < deadline_ns ? next : deadline_ns);
}

static void wake_one(struct event_list *list, uint64_t kinds)
{
    LIST_EACH(waiter, waiter, &list->waiters) {
        if (!(waiter->kinds & kinds))
            continue;
        waiter->wakes = kinds;
        wake(list, waiter);
        return;
    }
}

/* Counts an event, and wakes those that wait for it, or one of them. */
static void notify(struct event_list *list, uint64_t kinds, bool all)
{
    __atomic_fetch_add(&list->sequence, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&list->waiting, __ATOMIC_SEQ_CST))
        return;
    SPIN_GUARD(&list->lock);
    if (all)
        wake_all(list, kinds);
    else
        wake_one(list, kinds);
}

void event_notify(struct process *process, uint64_t kinds)
{
    notify(&process->events[EVENTS_PRIVATE], kinds, process == arch_process());
}

/* Adds the caller's process. A thread of a process that is newly in the audience may have checked the object
 * before a notifier, which did not see the process there yet, changed it. So this notifies those processes:
 * their threads check again, and by the barriers of notify they then see the change. */
bool event_audience_add(struct event_audience *audience, const void *object)
{
    struct process *process = arch_process();

    for (unsigned i = 0; i < EVENT_AUDIENCE_MAX; i++) {
        struct process *member = NULL;

        if (__atomic_compare_exchange_n(&audience->members[i], &member, process, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
            if (i > 0) /* else no other process knows the object yet */
                event_notify(process, event_of(object));
            return true;
        }
        if (member == process)
            return false;
    }
    if (__atomic_exchange_n(&audience->is_everyone, true, __ATOMIC_SEQ_CST))
        return false;
    event_audience_notify(audience, event_of(object));
    return true;
}

void event_audience_notify_others(const struct event_audience *audience, uint64_t kinds)
{
    if (!__atomic_load_n(&audience->is_everyone, __ATOMIC_SEQ_CST)) {
        for (unsigned i = 1; i < EVENT_AUDIENCE_MAX && audience->members[i]; i++)
            event_notify(audience->members[i], kinds);
        return;
    }
    PROCESSES_EACH(process)
        if (process != audience->members[0])
            event_notify(process, kinds);
}

void event_notify_shared(const void *object)
{
    unsigned which = shared_list(object);

    PROCESSES_EACH(process)
        notify(&process->events[which], UINT64_MAX, false);
}
