/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h: the conductor's epoch and time, and when beats are due. Conductor time is TAI at its start
 * plus the time since on the machine's clock since boot (CLOCK_BOOTTIME). NTP may change its rate, but it
 * never jumps, neither by a leap second nor when the clock is set. It goes on while the machine is suspended,
 * as nodes' clocks do. Beats are due at multiples of their period in conductor time, whatever the rate was
 * before. So nodes with the same bound and the same beat agree on boundaries.
 *
 * Portable C except timeline_start and timeline_tai_utc_s; times are unsigned 64-bit ns.
 */
#ifndef TACET_SERVICE_TIMELINE_H
#define TACET_SERVICE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

struct timeline {
    uint64_t epoch_ns;    /* the epoch: TAI at the start, or higher (epochs.c) */
    uint64_t tai_ns;      /* TAI since 1970 at the start */
    uint64_t boottime_ns; /* at the start */
    uint64_t period_ns;   /* 0: no beats */
    uint64_t due_ns;      /* conductor time of the next beat; valid while there are beats */
    bool is_tai;          /* false: the machine did not know TAI at the start; conductor time began as UTC */
};

/* Starts conductor time now, without beats. */
void timeline_start(struct timeline *timeline);

/* Returns by how many seconds conductor time is ahead of UTC now; a leap second changes this. Returns 0 if it
 * began as UTC, even if the machine has learned TAI since, because conductor time does not jump. */
uint32_t timeline_tai_utc_s(const struct timeline *timeline);

/* Converts CLOCK_BOOTTIME to conductor time, and back. */
uint64_t timeline_conductor_ns(const struct timeline *timeline, uint64_t boottime_ns);
uint64_t timeline_boottime_ns(const struct timeline *timeline, uint64_t conductor_ns);

/* Sets the period of beats: the next one is due at its first multiple after `conductor_ns`. 0: no beats. */
void timeline_period_set(struct timeline *timeline, uint64_t period_ns, uint64_t conductor_ns);

/* Goes on to the next beat, after the due one was sent at `conductor_ns`: the first multiple after that.
 * Returns how many beats are left out because their time is over. */
uint64_t timeline_advance(struct timeline *timeline, uint64_t conductor_ns);

#endif
