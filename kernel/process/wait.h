/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.h: waiting, in system calls, until another thread or another rank has changed something: mostly a
 * file.
 *
 *      while (!(… look …))
 *          if ((error = change_wait(deadline)))
 *              return restartable(…);
 *
 * Whoever changes what others may wait for calls change_tell afterwards, with no lock of a thread that looks.
 * No wake-up is lost between a look and the wait; some are for nothing, and the caller looks again anyway.
 * Threads that compute are not interrupted.
 */
#ifndef TACET_WAIT_H
#define TACET_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define WAIT_FOREVER UINT64_MAX

struct process;

/* Waits for a change_tell, at most until the deadline. No lock may be held. 0, or -EINTR where a signal, or
 * the end of the process, wants the thread. wait.c */
int change_wait(uint64_t deadline_ns);

/* The same for what nobody announces, a device's input for one: wakes by itself every millisecond. */
int change_wait_looking(uint64_t deadline_ns);

/* For several files: looks if one of them is unannounced (file.h). */
int change_wait_any(uint64_t deadline_ns, bool unannounced);

/* Wakes the threads of a process, or of all processes, that wait for a change. */
void change_tell(const struct process *process);
void change_tell_all(void);

/* What a call that may be started again after a signal answers: its result, or -EINTR with the consequences
 * (thread_interrupted_call). */
long restartable(unsigned number, long result);

#endif
