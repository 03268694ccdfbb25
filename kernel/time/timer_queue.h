/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_queue.h: a CPU's smart timers [Tsafrir05 §4.2]: accurate timing with a settable bound on the latency,
 * nearby events served by one interrupt, no interrupt when nothing is pending.
 *
 * A timer has a deadline and a latency bound B. It fires at the first multiple of B at or after its deadline:
 * never early, less than B late. Timers whose boundaries coincide share one interrupt. Only the earliest
 * boundary is armed, one-shot; when nothing is pending, nothing is armed.
 *
 *      |-----------|-----------|-----------|     multiples of B
 *                     a b    c ^                 deadlines a, b, c: one interrupt at ^ serves all three
 *
 * Bounds are rounded down to a power of two of nanoseconds (at least 1: exact), so that the boundaries of
 * different bounds nest and still coincide. Boundaries are multiples in *global* time: local time + the
 * queue's offset, which a cluster's heartbeat sets; 0 on a lone node.
 *
 * A boundary may lie in the past when its timer is started (as its deadline may) or when the offset changes.
 * The rule stays the same: the boundary belongs to the deadline, not to the moment of the call; the device is
 * armed with it as it is, which means an interrupt at once. A deadline in the past whose boundary is still to
 * come waits for it. Boundaries beyond the last nanosecond are TIMER_NEVER: such a timer is pending until it
 * is cancelled, and nothing is armed for it.
 *
 * Background timers belong to threads that must disturb no other (SCHED_IDLE). They do not interrupt while
 * another thread has the CPU, and expire, late, when it has left it.
 *
 * A queue belongs to one CPU, which alone uses the device, interrupts off; others may take timers out of it.
 * Its lock guards it: the functions here are called with it held, except while `expire` runs. Its only
 * contact with the machine is a struct clock_event_device, so that the host tests run the same code against a
 * model.
 */
#ifndef TACET_TIMER_QUEUE_H
#define TACET_TIMER_QUEUE_H

#include "smp/spinlock.h"
#include "time/clock_event.h"
#include <stdbool.h>
#include <stdint.h>

#define TIMER_NEVER UINT64_MAX /* a boundary that does not come */

/* One event, in its owner's memory. Zero before first use except the owner's fields; stays in place while it
 * is pending. */
struct smart_timer {
    /* The owner's. `expire` runs with interrupts off, once for each start, without the queue's lock; the
     * timer is no longer pending then. It may start and cancel any timer of the queue, this one included, set
     * the offset, and free the timer's memory; it must not call timer_queue_expire. */
    void (*expire)(struct smart_timer *timer, uint64_t now_ns);
    void *context;
    bool is_background; /* constant while it is pending */
    bool is_wall;       /* its owner waits by a clock that may step (clock.h); constant while pending */

    /* The queue's; the first four may be read by any CPU while the timer is pending. */
    uint64_t deadline_ns; /* local time, as given */
    uint64_t bound_ns;    /* latency bound, rounded */
    uint64_t boundary_ns; /* local time at which it fires */
    bool pending;
    struct timer_queue *queue;                   /* the queue in which it was started last */
    struct smart_timer *child, *next, *previous; /* a pairing heap by boundary, then by deadline */
};

/* Counts since boot; /proc/tacet/timers shows them. Outside of timer_queue_expire interrupts = those that
 * served a timer + rearms + spurious. */
struct timer_counts {
    uint64_t expired;     /* timers served */
    uint64_t cancelled;   /* timers cancelled while pending */
    uint64_t armed;       /* requests to a device */
    uint64_t interrupts;  /* interrupts taken */
    uint64_t rearms;      /* interrupts before the boundary, because the device cannot wait as long */
    uint64_t spurious;    /* interrupts with nothing due: in flight when the request was withdrawn, or for a
                             timer that another CPU has cancelled */
    uint64_t expired_max; /* the most that a single call of timer_queue_expire has served */
};

struct timer_queue {
    struct spinlock lock;
    struct smart_timer *heaps[2];            /* ordinary timers, background timers */
    bool is_foreground;                      /* background timers wait: they neither interrupt nor expire */
    const struct clock_event_device *device; /* NULL: the machine has none, and nothing interrupts */
    uint64_t armed_ns;                       /* the device's request; TIMER_NEVER: none */
    uint64_t global_offset_ns;               /* global time - local time, modulo 2^64 */
    uint64_t pending;                        /* number of pending timers */
    uint64_t wall_steps;                     /* the value of clock_wall_steps that was served last */
    bool expiring;                           /* inside timer_queue_expire: arming waits for its end */
    struct timer_counts counts;
};

/* Makes an empty queue over a device that is not armed. */
void timer_queue_initialise(struct timer_queue *queue, const struct clock_event_device *device);

/* Changes the device: withdraws the request from the old one and hands it to the new one. */
void timer_queue_device_set(struct timer_queue *queue, const struct clock_event_device *device);

/* Returns the bound that is used for a given one: the largest power of two that is not above it; 1 for 0. */
uint64_t timer_bound_round(uint64_t bound_ns);

/* Returns the first local time at or after `deadline_ns` whose global time is a multiple of `bound_ns` (a
 * power of two); TIMER_NEVER if it lies beyond the last nanosecond. */
uint64_t timer_boundary(uint64_t deadline_ns, uint64_t bound_ns, uint64_t global_offset_ns);

/* Starts a timer; one that is pending is moved. Any bound. Arms the device only if the earliest boundary has
 * changed. */
void timer_queue_start(struct timer_queue *queue, struct smart_timer *timer, uint64_t deadline_ns,
                       uint64_t bound_ns);

/* Stops a timer; not pending is fine. On the queue's CPU (`is_here`) disarms the device when it was the last
 * one; a later earliest boundary is armed at once, so that no interrupt comes for nothing. On another CPU the
 * device stays armed as it is, and may interrupt for nothing. */
void timer_queue_cancel(struct timer_queue *queue, struct smart_timer *timer, bool is_here);

/* Expires everything whose boundary has come, in the order of boundaries and deadlines, then arms the
 * earliest of what is left. Called after the device's interrupt (`interrupted`: its request is used up), and
 * whenever the kernel is entered for another reason. What is started meanwhile waits for the next interrupt,
 * even if its boundary has come: so this ends, also if a timer starts itself again in the past. */
void timer_queue_expire(struct timer_queue *queue, uint64_t now_ns, bool interrupted);

/* Sets whether a thread that is not to be disturbed by background timers has the CPU. They are started,
 * cancelled and due as others; what is due expires after that has ended. */
void timer_queue_foreground_set(struct timer_queue *queue, bool is_foreground);

/* Expires what is due, background timers as well, without an interrupt; the thread that has the CPU keeps
 * it. */
void timer_queue_background_expire(struct timer_queue *queue, uint64_t now_ns);

/* Changes the offset to global time: every pending boundary is computed again, never before its deadline and
 * less than its bound after it. With `wall_is_due`, a clock has stepped: makes the timers due that wait by
 * it; their owners check it again. Timers that are due already when `expire` calls this are served all the
 * same. Costs time in the number of pending timers. */
void timer_queue_rebuild(struct timer_queue *queue, uint64_t global_offset_ns, bool wall_is_due);

#endif
