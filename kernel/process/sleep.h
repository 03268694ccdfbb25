/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep.h: how a thread waits inside the kernel. Every wait of a thread ends here: a futex, an event
 * (event.h), a time, a signal, the end of a stop. Other threads have its CPU meanwhile; if there are none,
 * the CPU idles.
 */
#ifndef TACET_SLEEP_H
#define TACET_SLEEP_H

#include <stdint.h>

struct thread;

/* Sleeps until a waker sets *woken (NULL: none does) and then calls thread_wake: 0; -ETIMEDOUT from a
 * deadline (clock.h) on (never early, at most the thread's latency bound late; TIMER_NEVER: no time limit);
 * -EINTR when the thread has pending work, a signal or the end of its process. No locks held. */
int thread_sleep(const uint32_t *woken, uint64_t deadline);

/* Sleeps likewise, whatever is pending, for a wait that is bounded and must not be given up: never -EINTR. */
int thread_sleep_through(const uint32_t *woken, uint64_t deadline);

/* Sleeps, on the way back to the program, for as long as a signal stops the process. Does not return if the
 * process ends meanwhile. */
void thread_sleep_stopped(struct thread *thread);

#endif
