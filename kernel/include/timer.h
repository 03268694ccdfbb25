/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.h: smart timers [Tsafrir05 §4.2]: accurate timing with a settable bound on the latency, nearby events served by one interrupt, no interrupt
 * where nobody asked for one.
 *
 * A timer has a deadline and a latency bound B. It fires at the first multiple of B at or after its deadline: never early, at most B late. Timers whose
 * boundaries coincide share one interrupt. Only the earliest boundary is armed, one-shot; when nothing is pending, nothing is armed.
 *
 *      B = 4 |-------|-------|-------|-------|          deadlines a b c fall into the same interval:
 *                 a b   c                               one interrupt at the boundary serves all three
 *                       ^ expire here: multiples of B
 *
 * Bounds are rounded down to a power of two of nanoseconds (at least 1: exact), so that the boundaries of different bounds nest and still
 * coincide. Boundaries are multiples in *global* time: local time + the queue's offset, which a cluster's heartbeat sets; 0 on a lone node.
 *
 * A queue belongs to one CPU and is touched by that CPU alone, interrupts off. Pure C: the hardware is behind `struct timer_hardware`, so that the host tests run
 * the same code against a model.
 */
#ifndef TACET_TIMER_H
#define TACET_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#define TIMER_NEVER UINT64_MAX /* a boundary that does not come */

struct timer_queue;

/* One pending event; memory of whoever asks for it. Zero before first use. */
struct smart_timer {
    uint64_t deadline_ns; /* local time, as asked for */
    uint64_t boundary_ns; /* local time of the boundary that serves it; valid while pending */
    void (*expire)(struct smart_timer *timer, uint64_t now_ns); /* interrupts off; may arm and cancel timers, this one included */
    void *context;        /* the owner's */
    bool pending;
    struct smart_timer *child, *next, *previous; /* the queue's (a pairing heap, ordered by boundary, then by deadline) */
};

/* What a queue needs of a clock event device. */
struct timer_hardware {
    /* Ask for one interrupt at `when_ns` (local time; may be in the past: as soon as possible). Replaces an earlier request. The device may interrupt before that
     * (a counter too short for the distance): the queue then arms again and counts a re-arm. */
    void (*arm)(void *context, uint64_t when_ns);
    void (*disarm)(void *context);
    void *context;
};

/* Counts since boot; /proc/tacet/timers shows them. */
struct timer_counts {
    uint64_t armed;      /* requests to the hardware */
    uint64_t interrupts; /* taken */
    uint64_t rearms;     /* interrupts before the boundary, because the device could not wait as long */
    uint64_t expired;    /* timers served */
    uint64_t cancelled;
    uint64_t expired_max; /* the most that one interrupt has served */
};

struct timer_queue {
    struct smart_timer *heap;
    const struct timer_hardware *hardware;
    uint64_t armed_ns;         /* what the hardware was asked for; TIMER_NEVER: nothing */
    uint64_t global_offset_ns; /* global time - local time, modulo 2^64 */
    uint64_t pending;
    bool expiring; /* inside timer_interrupt: arming waits for its end */
    struct timer_counts counts;
};

void timer_queue_initialise(struct timer_queue *queue, const struct timer_hardware *hardware);

/* The bound that is used for one that was asked for: the largest power of two that is not above it; 1 for 0. */
uint64_t timer_bound_round(uint64_t bound_ns);

/* The first multiple of `bound_ns` (a power of two) at or after `deadline_ns`, both in global time given by the offset; saturates at TIMER_NEVER. */
uint64_t timer_boundary(uint64_t deadline_ns, uint64_t bound_ns, uint64_t global_offset_ns);

/* Starts a timer; one that is pending is moved. `bound_ns` as asked for. Arms the hardware only if the earliest boundary has changed. */
void timer_arm(struct timer_queue *queue, struct smart_timer *timer, uint64_t deadline_ns, uint64_t bound_ns);

/* Stops a timer; not pending is fine. Disarms the hardware when it was the last one; a later earliest boundary is armed at once, so that no interrupt comes for nothing. */
void timer_cancel(struct timer_queue *queue, struct smart_timer *timer);

/* The hardware has interrupted, or the kernel has been entered for another reason and looks: expires everything whose boundary has come, then arms what is earliest.
 * `from_hardware` tells which, for the counts. */
void timer_interrupt(struct timer_queue *queue, uint64_t now_ns, bool from_hardware);

/* Changes the offset to global time: every pending boundary is computed anew, never before its deadline. */
void timer_global_offset_set(struct timer_queue *queue, uint64_t offset_ns);

#endif
