/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intervals.h: fixed work timed again and again without a gap, the measured loop of FWQ and of the phase
 * benchmark. One clock reading ends an interval and begins the next. The time to store it belongs to the
 * next interval, so no time goes unmeasured.
 */
#ifndef INTERVALS_H
#define INTERVALS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Runs `count` intervals of `iterations` turns of fixed_work() each. `times` has room for count + 1 clock
 * readings: times[i + 1] ends interval i. times[0] ends an interval of one turn that is not measured: so the
 * code reaches the first measured interval by the same path as all others. Runs inside the window: makes no
 * call, allocates nothing.
 */
void intervals_measure(uint64_t *times, size_t count, uint64_t iterations);

/* Turns the count + 1 readings into `count` lengths, in place. */
void intervals_from_times(uint64_t *times, size_t count);

#endif /* INTERVALS_H */
