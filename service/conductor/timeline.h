/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.h: the conductor's time, and when beats are due. Conductor time is TAI at the start plus what the
 * machine's clock since boot (CLOCK_BOOTTIME) has run since: NTP may change its rate, and nothing makes it
 * jump, neither a leap second nor somebody who sets the clock. It goes on while the machine is suspended, as
 * nodes' clocks do. Beats are due at multiples of their period in conductor time, whatever the rate was
 * before; so nodes with the same bound and the same beat agree on boundaries.
 *
 * Pure C but for timeline_start and timeline_tai_utc_s; unsigned 64-bit ns.
 */
#ifndef TACET_SERVICE_TIMELINE_H
#define TACET_SERVICE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

struct timeline {
    uint64_t epoch_ns;    /* TAI since 1970 at the start */
    uint64_t boottime_ns; /* at the start */
    uint64_t period_ns;   /* 0: no beats */
    uint64_t due_ns;      /* conductor time of the next beat; valid while there are beats */
    bool is_tai;          /* else the machine did not know TAI at the start, and conductor time is UTC's */
};

/* Begins now, without beats. */
void timeline_start(struct timeline *timeline);

/* By how many seconds conductor time is ahead of UTC now: another number after a leap second. 0 where it is
 * UTC's, also when the machine has been told TAI since: it was not moved then. */
uint32_t timeline_tai_utc_s(const struct timeline *timeline);

/* CLOCK_BOOTTIME and conductor time, each from the other. */
uint64_t timeline_conductor_ns(const struct timeline *timeline, uint64_t boottime_ns);
uint64_t timeline_boottime_ns(const struct timeline *timeline, uint64_t conductor_ns);

/* From now on beats have this period: the next one is due at its first multiple after `conductor_ns`. */
void timeline_period_set(struct timeline *timeline, uint64_t period_ns, uint64_t conductor_ns);

/* The beat that was due has been sent at `conductor_ns`: the next one is due at the first multiple after
 * that. How many were passed over because their time had gone by. */
uint64_t timeline_advance(struct timeline *timeline, uint64_t conductor_ns);

#endif
