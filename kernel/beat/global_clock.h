/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * global_clock.h: the conductor's time on this node, from heartbeats: a line over the node's own clock whose
 * offset and slope are disciplined. Pure C, host-tested.
 *
 * A beat says when it was sent; it came later by what the network took, which varies and is never negative.
 * So of the beats of a window the one that seems least late is believed (a minimum filter [Mills, RFC 5905
 * §10]), and the slope is what such beats of several windows say. The line is bent, never broken: global time
 * never goes backwards, and steps forward only while nobody has set it yet, or where it is further behind
 * than bending would make good in a minute.
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

/* Two clocks may differ by that much (quartz: by 100 ppm); the line is bent by that much beside it. */
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
    struct global_point best;                         /* of this window */
    unsigned beats;                                   /* in it */
    struct global_point points[GLOBAL_CLOCK_WINDOWS]; /* of earlier windows, a ring */
    uint64_t windows;                                 /* so far */
    uint64_t steps;                                   /* forward, after the first */
    int64_t error_ns; /* by which the line was wrong at the end of the last window: positive: behind */
};

/* Global time at a local one that is not before line->base_local. */
uint64_t global_line_at(const struct global_line *line, uint64_t local_ns);

/* The local time at which global time is `global_ns`, or a little later, at most 4 ns; 0 where that has
 * passed before the line began. */
uint64_t global_line_local(const struct global_line *line, uint64_t global_ns);

/* A beat that was sent at `global_ns` has come at `local_ns`, which is not before that of earlier calls. */
void global_clock_update(struct global_clock *clock, uint64_t local_ns, uint64_t global_ns);

/* Forgets what was learnt of the conductor's clock, another one's now; global time goes on. */
void global_clock_restart(struct global_clock *clock);

#endif
