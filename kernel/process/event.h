/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h: waiting, in system calls, until another thread or another rank has changed something: as a rule a
 * file.
 *
 *      while (!(… what is waited for …))
 *          if ((error = event_wait(deadline)))
 *              return restartable(…);
 *
 * Whoever changes what others may wait for calls event_notify afterwards, holding no lock that a waiter takes
 * for its check. No notification between the check and the wait is lost; some are spurious, and the caller
 * checks again anyway. Threads that compute are not interrupted.
 */
#ifndef TACET_EVENT_H
#define TACET_EVENT_H

#include "lib/list.h"
#include "smp/spinlock.h"
#include <stdint.h>

#define WAIT_FOREVER UINT64_MAX

struct process;

struct process_events {
    uint32_t sequence; /* counts events */
    uint32_t waiting;  /* threads in the list, or about to be */
    struct spinlock lock;
    struct list waiters;
};

/* Waits for an event_notify, at most until the deadline. No lock may be held. 0, or -EINTR where a signal or
 * the end of the process is pending. */
int event_wait(uint64_t deadline_ns);

/* The same for events without a notification, as a device's input: returns every millisecond. */
int event_wait_polling(uint64_t deadline_ns);

/* Wakes the threads of a process, or of all processes, that wait for an event. */
void event_notify(struct process *process);
void event_notify_all(void);

#endif
