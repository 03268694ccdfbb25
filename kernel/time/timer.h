/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.h: the smart timers of this CPU (timer_queue.h), on the best rated clock event device.
 *
 * A deadline goes down one way: timer_start enters it into the CPU's queue, which arms the device if it has
 * become the earliest. It comes back one way: the device's interrupt calls timer_interrupt, which expires
 * what is due. Both with interrupts off.
 */
#ifndef TACET_TIMER_H
#define TACET_TIMER_H

#include "time/timer_queue.h"

/* Applies `latency_bound=`. -EINVAL with `why`. */
int timer_configure(const struct command_line *line, struct message *why);

/* The bound of timers whose owner sets none: latency_bound=, ns. Constant after boot. */
extern uint64_t latency_bound_default_ns;

/* Prepares this CPU's queue, once the devices have their ratings. */
void timer_cpu_start(void);

/* Starts a timer of this CPU (timer_queue_start); it must not be pending on another one. The deadline is one
 * of any clock (clock.h). */
void timer_start(struct smart_timer *timer, uint64_t deadline, uint64_t bound_ns);

/* Starts a timer with a bound of 1, exact even if the device in use interrupts at times of its own, as
 * heartbeats do. One timer of each CPU at a time: the last one that was started so. */
void timer_start_exact(struct smart_timer *timer, uint64_t deadline_ns);

/* Stops a timer that any CPU has started. That CPU is not interrupted for it, but may be at the time for
 * which its device is armed. */
void timer_cancel(struct smart_timer *timer);

static inline bool timer_is_pending(const struct smart_timer *timer)
{
    return __atomic_load_n(&timer->pending, __ATOMIC_ACQUIRE);
}

/* Sets whether this CPU runs a thread that background timers must not disturb. May be left out before the
 * node's first background timer: the CPU that starts that runs no such thread. A plain read: a CPU that has
 * such timers has read or written `true` itself when it started them, and reads nothing older afterwards. */
extern bool timer_background_used;
void timer_foreground_set(bool is_foreground);

/* Expires this CPU's background timers that are due, whatever thread it runs. */
void timer_background_expire(void);

/* A device that is calibrated to some parts in a million interrupts a little too early after a long time. The
 * CPU spins for the rest: arming the device again would cost another interrupt. */
#define TIMER_EARLY_NS 2000

/* Serves an interrupt of this CPU's own device. Entry point of the architecture. */
void timer_interrupt(void);

/* Expires what is due, after the device in use has interrupted this CPU. */
void timer_serve(void);

/* Sets how far global time is ahead of clock_now_ns. This CPU's boundaries go by it from now on, if they are
 * further off than GLOBAL_OFFSET_STEP_NS; costs time in the number of pending timers then. */
#define GLOBAL_OFFSET_STEP_NS 4096
void timer_global_offset_set(uint64_t offset_ns);

/* Makes this CPU's timers that wait by a clock due, if a clock has stepped since the last call here
 * (clock_wall_line_set). Interrupts off; expires nothing itself. */
void timer_wall_check(void);

/* Waits, once, for an interrupt or an IPI: arch_cpu_idle; on a machine without any device the clock is read
 * instead. */
void timer_idle(void);

/* Changes a rating as clock_event_rate; moves what is armed, on all CPUs, to the device on top then. */
int timer_device_rate(const char *text);

/* Writes what /proc/tacet/timers shows. */
struct text_sink;
void timers_describe(struct text_sink *sink);

#endif
