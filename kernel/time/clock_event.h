/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_event.h: the devices that can interrupt a CPU at a given time, and the smart timers of each CPU on
 * top of the best of them.
 *
 * As in Linux and [Betti09 §V] each device has a rating; the one with the highest rating expires the timers
 * of all CPUs. `clockevent=NAME` on the command line puts one on top, writing "NAME RATING" to
 * /proc/tacet/clockevents changes a rating. A rating of 0 takes a device out of use. An architecture
 * registers its devices; the functions of a device act on the CPU that calls them, interrupts off.
 */
#ifndef TACET_CLOCK_EVENT_H
#define TACET_CLOCK_EVENT_H

#include "lib/command_line.h"
#include "time/timer.h"

#define CLOCK_EVENT_DEVICES_MAX 4
#define CLOCK_EVENT_RATING_MAX  1000

struct clock_event_device {
    const char *name;
    const char *description;
    unsigned rating;
    void (*arm)(uint64_t when_ns); /* one interrupt at `when_ns` (clock_now_ns), or before, if it lies beyond
                                      the device's range; never zero ticks */
    void (*disarm)(void);
};

/* The structure must live for ever. */
void clock_event_register(struct clock_event_device *device);

/* Applies `clockevent=` and `latency_bound=`. -EINVAL with `why`. */
int clock_event_configure(const struct command_line *line, struct message *why);

/* The bound of timers whose owner asks for none: latency_bound=, ns. */
uint64_t latency_bound_default_ns(void);

/* Prepares this CPU's queue of timers. */
void timers_start_cpu(void);

/* This CPU's timers; interrupts off. */
void clockevent_arm(struct smart_timer *timer, uint64_t deadline_ns, uint64_t bound_ns);
void clockevent_cancel(struct smart_timer *timer);

struct timer_counts clockevent_counts(void); /* of this CPU's queue */

/* Entry point of the architecture: a device has interrupted this CPU; or another CPU wants this one to look
 * at its devices' ratings. */
void timer_interrupt_here(void);
void clock_event_recheck(void);

/* What /proc/tacet/{clockevents,timers} show. */
struct text_sink;
void clock_event_devices_describe(struct text_sink *sink);
void timers_describe(struct text_sink *sink);

/* "NAME RATING", as written to /proc/tacet/clockevents. -EINVAL for nonsense, -ENODEV for an unknown name,
 * -EBUSY for 0 for the last device in use; nothing changes then. */
int clock_event_rate(const char *text);

/* Waits, once, for an interrupt or for another CPU: arch_cpu_idle, but on a machine without any device, where
 * the clock is looked at instead. */
void clockevent_wait(void);

#endif
