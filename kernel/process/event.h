/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h: waiting, in system calls, until another thread or another rank has changed something: as a rule a
 * file.
 *
 *      while (!(… what is waited for …))
 *          if ((error = event_wait(event_of(object), deadline)))
 *              return restartable(…);
 *
 * A thread that changes what others may wait for calls event_notify afterwards, holding no lock that a waiter
 * takes for its check. No notification between the check and the wait is lost; some are spurious, and the
 * waiter checks again anyway. Threads that compute are not interrupted, and those that wait for something
 * else are not woken.
 */
#ifndef TACET_EVENT_H
#define TACET_EVENT_H

#include "lib/list.h"
#include "smp/spinlock.h"
#include <stdbool.h>
#include <stdint.h>

#define WAIT_FOREVER UINT64_MAX

struct process;

/* Kinds of events are bits; a thread waits for some of them. Several objects may have the same kind (never
 * 0), so that a wake-up may be spurious. */
#define EVENT_INPUT 1ULL /* input of the console */
uint64_t event_of(const void *object);

/* Threads wait in the first list of their process for events that are sent to it (event_notify), and in one
 * of the others, chosen by the object, for what all processes may change (locks on files). */
#define EVENT_LISTS 16

struct event_list {
    uint32_t sequence; /* counts events */
    uint32_t waiting;  /* threads in the list, or about to be */
    struct spinlock lock;
    struct list waiters;
};

/* Waits for an event of these kinds, at most until the deadline (clock.h), or, if that is one by wall time,
 * until that clock steps. No lock may be held. Returns 0, or -EINTR if a signal or the end of the process is
 * pending. */
int event_wait(uint64_t kinds, uint64_t deadline);

/* Waits likewise for events without a notification, such as a device's input: at most a millisecond. */
int event_wait_polling(uint64_t kinds, uint64_t deadline_ns);

/* Wakes the threads of a process that wait for an event of these kinds. */
void event_notify(struct process *process, uint64_t kinds);

/* The processes whose threads may wait for changes of an object that several processes have; all zero at
 * first. If there are more than it can name, it stands for all processes. */
#define EVENT_AUDIENCE_MAX 4
struct event_audience {
    struct process *members[EVENT_AUDIENCE_MAX];
    bool is_everyone;
};

/* Adds the calling process to the audience of `object`, before it checks what it would wait for. Returns
 * false if it was there already. */
bool event_audience_add(struct event_audience *audience, const void *object);

/* Does event_notify for all members except the first; event_audience_notify: for all. The second member is
 * read plainly: between what the caller has changed and this, event_notify has a full barrier. */
void event_audience_notify_others(const struct event_audience *audience, uint64_t kinds);
static inline void event_audience_notify(const struct event_audience *audience, uint64_t kinds)
{
    event_notify(audience->members[0], kinds);
    if (audience->members[1])
        event_audience_notify_others(audience, kinds);
}

/* Waits, without a deadline, for a change of an object that several processes change; event_notify_shared
 * notifies of one. */
int event_wait_shared(const void *object);
void event_notify_shared(const void *object);

#endif
