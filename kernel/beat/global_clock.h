/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * global_clock.h: the conductor's time on this node, from heartbeats: a line over the node's own clock whose
 * offset and slope are disciplined. Portable C, host-tested.
 *
 * A beat says when it was sent; it arrives later by its time in the network, which varies and is never
 * negative. So of the beats of a window the one that seems least late is trusted (a minimum filter [Mills,
 * RFC 5905 §10]), and the slope is what such beats of several windows say. The line is bent, never broken:
 * global time never goes backwards. It steps forward only while it has not been set yet, or if it is slow by
 * more than bending corrects in a minute.
 *
 * Times are unsigned 64-bit ns: `local` of the node's own clock, `global` TAI since 1970. The caller
 * serialises updates; readers take a copy of the line.
 */
#ifndef TACET_GLOBAL_CLOCK_H
#define TACET_GLOBAL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define GLOBAL_CLOCK_WINDOW_BEATS 8
#define GLOBAL_CLOCK_WINDOWS      16
#define GLOBAL_CLOCK_PPM          4295 /* a millionth, in 2^-32: the unit of slopes */

/* The most that two clocks may differ (quartz: 100 ppm), and the most that the line is bent in addition. */
#define GLOBAL_CLOCK_DRIFT_MAX (500 * GLOBAL_CLOCK_PPM)
#define GLOBAL_CLOCK_BEND_MAX  (1000 * GLOBAL_CLOCK_PPM)

/* What readers need: global = base_global + (local - base_local) * (1 + slope / 2^32). */
struct global_line {
    uint64_t base_local, base_global;
    int64_t slope;
};

struct global_point {
    uint64_t local, global;
};

struct global_clock {
    struct global_line line;
    bool is_set;
    int64_t drift; /* of the conductor's clock against the node's, as far as it is known: a slope */
    struct global_point best;                         /* best point of this window */
    unsigned beats;                                   /* beats in this window */
    struct global_point points[GLOBAL_CLOCK_WINDOWS]; /* points of earlier windows, a ring */
    uint64_t windows;                                 /* windows so far */
    uint64_t steps;                                   /* forward, after it was set */
    int64_t error_ns; /* error of the line at the end of the last window; positive: it was slow */
};

/* Returns global time at a local time, which is not before line->base_local. */
uint64_t global_line_at(const struct global_line *line, uint64_t local_ns);

/* Takes the times of a beat: sent at `global_ns`, received at `local_ns`, which is not before that of earlier
 * calls. */
void global_clock_update(struct global_clock *clock, uint64_t local_ns, uint64_t global_ns);

/* Drops what was learnt about the conductor's clock, because another conductor beats now. Global time goes
 * on. */
void global_clock_restart(struct global_clock *clock);

#endif
