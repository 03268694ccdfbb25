/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.h: waiting, in system calls, until another thread or another rank has changed something: mostly a
 * file.
 *
 *      while (!(… look …))
 *          if ((error = event_wait(deadline)))
 *              return restartable(…);
 *
 * Whoever changes what others may wait for calls event_notify afterwards, with no lock of a thread that
 * looks. No wake-up is lost between a look and the wait; some are for nothing, and the caller looks again
 * anyway. Threads that compute are not interrupted.
 */
#ifndef TACET_EVENT_H
#define TACET_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#define WAIT_FOREVER UINT64_MAX

struct process;

/* Waits for a event_notify, at most until the deadline. No lock may be held. 0, or -EINTR where a signal, or
 * the end of the process, wants the thread. event.c */
int event_wait(uint64_t deadline_ns);

/* The same for what nobody announces, a device's input for one: wakes by itself every millisecond. */
int event_wait_polling(uint64_t deadline_ns);

/* For several files: looks if one of them is polled (file.h). */
int event_wait_any(uint64_t deadline_ns, bool polled);

/* Wakes the threads of a process, or of all processes, that wait for a change. */
void event_notify(const struct process *process);
void event_notify_all(void);

#endif
