/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.h: the smart timers of this CPU (timer_queue.h), on the best rated clock event device.
 *
 * A deadline goes down one way: timer_start enters it into the CPU's queue, which arms the device where it
 * has become the earliest. It comes back one way: the device's interrupt calls timer_interrupt, which expires
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

/* As timer_start with a bound of 1, and sharp also where the device in use interrupts at times of its own, as
 * heartbeats do. One timer of each CPU at a time: the last one that was started so. */
void timer_start_exact(struct smart_timer *timer, uint64_t deadline_ns);

/* Stops a timer that any CPU has started. That CPU is not interrupted for it, but may be at the time for
 * which its device is armed. */
void timer_cancel(struct smart_timer *timer);

static inline bool timer_is_pending(const struct smart_timer *timer)
{
    return __atomic_load_n(&timer->pending, __ATOMIC_ACQUIRE);
}

/* Whether this CPU runs a thread that background timers must not disturb; may be left out before the node's
 * first background timer, whose CPU does not. A plain read: a CPU that has such timers has read or written
 * `true` itself when it started them, and reads nothing older afterwards. */
extern bool timer_background_used;
static inline bool timer_has_background(void)
{
    return timer_background_used;
}
void timer_foreground_set(bool is_foreground);

/* Expires this CPU's background timers that are due, whoever has it. */
void timer_background_expire(void);

/* A device that is calibrated to some parts in a million interrupts a little too early after a long time.
 * That little is waited for: arming the device again would cost another interrupt. */
#define TIMER_EARLY_NS 2000

/* Entry point of the architecture: this CPU's own device has interrupted it. */
void timer_interrupt(void);

/* The device in use has interrupted this CPU: expires what is due. */
void timer_serve(void);

/* How far global time is ahead of clock_now_ns: what this CPU's boundaries go by from now on, where they are
 * further off than GLOBAL_OFFSET_STEP_NS; costs time in the number of pending timers then. */
#define GLOBAL_OFFSET_STEP_NS 4096
void timer_global_offset_set(uint64_t offset_ns);

/* Where a clock has stepped since the last call here (clock_wall_line_set), this CPU's timers that wait by
 * one are due. Interrupts off; expires nothing itself. */
void timer_wall_check(void);

/* Waits, once, for an interrupt or an IPI: arch_cpu_idle, but on a machine without any device, where the
 * clock is read instead. */
void timer_idle(void);

/* As clock_event_rate; moves what is armed, on all CPUs, to the device that is on top then. */
int timer_device_rate(const char *text);

/* What /proc/tacet/timers shows. */
struct text_sink;
void timers_describe(struct text_sink *sink);

#endif
