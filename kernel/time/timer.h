/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.h: smart timers [Tsafrir05 §4.2]: accurate timing with a settable bound on the latency, nearby events
 * served by one interrupt, no interrupt where nobody asked for one.
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
 * A boundary may have passed when its timer is started (a deadline in the past) or when the offset changes.
 * The rule stays the same: the boundary belongs to the deadline, not to the moment of the call, and the
 * hardware is asked for it as it is, which means an interrupt at once. A deadline in the past whose boundary
 * is still to come waits for it. Boundaries beyond the last nanosecond are TIMER_NEVER: such a timer is
 * pending until somebody cancels it, and nothing is armed for it.
 *
 * A queue belongs to one CPU and is touched by that CPU alone, interrupts off. Pure C: the hardware is behind
 * `struct timer_hardware`, so that the host tests run the same code against a model.
 */
#ifndef TACET_TIMER_H
#define TACET_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#define TIMER_NEVER UINT64_MAX /* a boundary that does not come */

/* One event; memory of whoever asks for it. Zero before first use but for the owner's fields; stays in place
 * while it is pending. */
struct smart_timer {
    /* The owner's. `expire` runs with interrupts off, once for each start; the timer is no longer pending
     * then. It may start and cancel any timer of the queue, this one included, set the offset, and give the
     * timer's memory away; it must not call timer_interrupt. */
    void (*expire)(struct smart_timer *timer, uint64_t now_ns);
    void *context;

    /* The queue's; the first four are for everybody to read while the timer is pending. */
    uint64_t deadline_ns; /* local time, as asked for */
    uint64_t bound_ns;    /* as rounded */
    uint64_t boundary_ns; /* local time at which it fires */
    bool pending;
    struct smart_timer *child, *next, *previous; /* a pairing heap by boundary, then by deadline */
};

/* What a queue needs of a clock event device. Both are called with interrupts off, never while timers expire.
 */
struct timer_hardware {
    /* Ask for one interrupt at `when_ns` (local time, never TIMER_NEVER; may be in the past: as soon as
     * possible). Replaces an earlier request. The device may interrupt before that (a counter too short for
     * the distance): the queue then arms again and counts a re-arm. */
    void (*arm)(void *context, uint64_t when_ns);
    void (*disarm)(void *context);
    void *context;
};

/* Counts since boot; /proc/tacet/timers shows them. Two sums always hold outside of timer_interrupt:
 *      started = expired + cancelled + pending (of the queue)
 *      interrupts = those that served a timer + rearms + spurious */
struct timer_counts {
    uint64_t started;    /* timers that became pending */
    uint64_t moved;      /* pending ones that were started anew */
    uint64_t expired;    /* served */
    uint64_t cancelled;  /* while pending */
    uint64_t armed;      /* requests to the hardware */
    uint64_t disarmed;   /* requests withdrawn because nothing was left to wait for */
    uint64_t interrupts; /* taken */
    uint64_t rearms;     /* of these: before the boundary, because the device could not wait as long */
    uint64_t spurious;   /* of these: with nothing armed; on its way already when the request was withdrawn */
    uint64_t expired_max; /* the most that one interrupt, or one look, has served */
};

struct timer_queue {
    struct smart_timer *heap;
    const struct timer_hardware *hardware;
    uint64_t armed_ns;         /* what the hardware was asked for; TIMER_NEVER: nothing */
    uint64_t global_offset_ns; /* global time - local time, modulo 2^64 */
    uint64_t pending;          /* timers */
    bool expiring;             /* inside timer_interrupt: arming waits for its end */
    struct timer_counts counts;
};

/* An empty queue over a device that is not armed. */
void timer_queue_initialise(struct timer_queue *queue, const struct timer_hardware *hardware);

/* Changes the device: withdraws the request from the old one and hands it to the new one. Not from `expire`.
 */
void timer_hardware_set(struct timer_queue *queue, const struct timer_hardware *hardware);

/* The bound that is used for one that was asked for: the largest power of two that is not above it; 1 for 0.
 */
uint64_t timer_bound_round(uint64_t bound_ns);

/* The first local time at or after `deadline_ns` whose global time is a multiple of `bound_ns` (a power of
 * two); TIMER_NEVER where it lies beyond the last nanosecond. */
uint64_t timer_boundary(uint64_t deadline_ns, uint64_t bound_ns, uint64_t global_offset_ns);

/* Starts a timer; one that is pending is moved. `bound_ns` as asked for. Asks the hardware only if the
 * earliest boundary has changed. */
void timer_arm(struct timer_queue *queue, struct smart_timer *timer, uint64_t deadline_ns, uint64_t bound_ns);

/* Stops a timer; not pending is fine. Disarms the hardware when it was the last one; a later earliest
 * boundary is armed at once, so that no interrupt comes for nothing. */
void timer_cancel(struct timer_queue *queue, struct smart_timer *timer);

/* The hardware has interrupted (`from_hardware`: its request is used up), or the kernel has been entered for
 * another reason and looks: expires everything whose boundary has come, in the order of boundaries and
 * deadlines, then arms what is earliest. What is started meanwhile waits for the next interrupt, even if its
 * boundary has come: so this ends, also where a timer starts itself anew in the past. */
void timer_interrupt(struct timer_queue *queue, uint64_t now_ns, bool from_hardware);

/* Changes the offset to global time: every pending boundary is computed anew, never before its deadline and
 * less than its bound behind it. Timers that are due already when `expire` calls this are served all the
 * same. Costs time in the number of pending timers. */
void timer_global_offset_set(struct timer_queue *queue, uint64_t offset_ns);

#endif
