/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * global_clock.c: see global_clock.h. Called for each beat that counts; costs some hundred instructions at
 * the end of a window.
 */
#include "beat/global_clock.h"

#define BEND_NS       2000000000LL /* time in which a bend corrects an error */
#define STEP_NS       60000000LL   /* what the largest bend corrects in a minute */
#define ERROR_MAX     (1LL << 30)  /* ns: larger differences are clipped to this */
#define SLOPE_WINDOWS 3            /* windows that are needed before a slope is trusted */

static int64_t limited(int64_t value, int64_t limit)
{
    return value > limit ? limit : value < -limit ? -limit : value;
}

/* Multiplies a time by a slope. The product of 128 bits cannot overflow. */
static int64_t scaled(uint64_t ns, int64_t slope)
{
    return (int64_t)((__int128)ns * slope >> 32);
}

/* Returns the slope that gains `difference_ns` in `passed_ns`. */
static int64_t slope_of(int64_t difference_ns, int64_t passed_ns)
{
    return limited(difference_ns, ERROR_MAX) * (1LL << 32) / passed_ns;
}

uint64_t global_line_at(const struct global_line *line, uint64_t local_ns)
{
    uint64_t passed = local_ns - line->base_local;

    return line->base_global + passed + (uint64_t)scaled(passed, line->slope);
}

/* Returns how far global time is ahead of local time at a point. */
static int64_t offset_of(const struct global_point *point)
{
    return (int64_t)(point->global - point->local);
}

/* Returns the drift from the oldest window's best beat to this window's; the last drift while there are too
 * few windows. */
static int64_t drift_found(const struct global_clock *clock)
{
    uint64_t count = clock->windows < GLOBAL_CLOCK_WINDOWS ? clock->windows : GLOBAL_CLOCK_WINDOWS;
    const struct global_point *oldest = &clock->points[(clock->windows - count) % GLOBAL_CLOCK_WINDOWS];
    int64_t passed = (int64_t)(clock->best.local - oldest->local);

    if (count < SLOPE_WINDOWS || passed <= 0)
        return clock->drift;
    return limited(slope_of(offset_of(&clock->best) - offset_of(oldest), passed), GLOBAL_CLOCK_DRIFT_MAX);
}

static void line_bend(struct global_clock *clock, uint64_t local_ns)
{
    const struct global_line target = { clock->best.local, clock->best.global, clock->drift };
    struct global_line *line = &clock->line;
    uint64_t now = global_line_at(line, local_ns);

    clock->error_ns = (int64_t)(global_line_at(&target, local_ns) - now);
    if (!clock->is_set || clock->error_ns > STEP_NS) {
        clock->steps += clock->is_set;
        now += (uint64_t)clock->error_ns;
        clock->is_set = true;
        clock->error_ns = 0;
    }
    line->base_local = local_ns;
    line->base_global = now;
    line->slope = clock->drift + limited(slope_of(clock->error_ns, BEND_NS), GLOBAL_CLOCK_BEND_MAX);
}

void global_clock_update(struct global_clock *clock, uint64_t local_ns, uint64_t global_ns)
{
    const struct global_point point = { local_ns, global_ns };

    if (clock->beats == 0 || offset_of(&point) >= offset_of(&clock->best))
        clock->best = point;
    clock->beats++;
    if (clock->is_set && clock->beats < GLOBAL_CLOCK_WINDOW_BEATS)
        return;
    clock->drift = drift_found(clock);
    line_bend(clock, local_ns);
    clock->points[clock->windows++ % GLOBAL_CLOCK_WINDOWS] = clock->best;
    clock->beats = 0;
}

void global_clock_restart(struct global_clock *clock)
{
    clock->beats = 0;
    clock->windows = 0;
}
