/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * distribution.h: the distribution D of phase durations, and what [Tsafrir05] derives from it. Pure;
 * lab/phase.py holds the same definitions, and a test compares the two on the same data.
 *
 * Durations are passed as `count` rising values, at least one. Delays are relative to the undisturbed phase,
 * the mode of the durations (order.h). [Tsafrir05 §3.1, Fig. 5] takes the shortest, which is the same if all
 * undisturbed phases are alike. But a real processor's clock and caches make them differ, and one lucky phase
 * would make nearly all others look delayed. A difference within the mode's reach is no delay.
 */
#ifndef PHASE_DISTRIBUTION_H
#define PHASE_DISTRIBUTION_H

#include "order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the mean of the second decile, the values between the 10th and the 20th percentile: there the
 * vertical part of the cumulative distribution begins. The calibration of [Tsafrir05 §3.1] places it on the
 * grain.
 */
double distribution_second_decile(const uint64_t *sorted, size_t count);

double distribution_mean(const uint64_t *sorted, size_t count);
double distribution_deviation(const uint64_t *sorted, size_t count);

/*
 * Returns how many phases exceed the undisturbed one by more than `delay` of it (0.01: one percent) and by
 * more than the reach. Divided by `count` this is p, the probability of at least that delay: the survival
 * function. The reach is at least `threshold_ticks`, the time that the machine itself moves between phases
 * (CPUs that take turns on one clock).
 */
size_t distribution_delayed(const uint64_t *sorted, size_t count, uint64_t threshold_ticks, double delay);

/* Returns whether delayed phases can be told from undisturbed ones: the reach is less than half of the mode,
 * and at most one phase in twenty is shorter than the mode by more than the reach and by more than one
 * percent, the least delay for which p is stated. */
bool distribution_separable(const uint64_t *sorted, size_t count, uint64_t threshold_ticks);

/* Returns the floor of the durations; its reach is at least the threshold. */
struct order_floor distribution_floor(const uint64_t *sorted, size_t count, uint64_t threshold_ticks);

/*
 * Returns E(Y), the mean of the longest of `nodes` phases drawn independently from the whole distribution
 * [Tsafrir05 §2.4]: the sum over the distinct values v of v (F(v)^n - F(v-)^n), exact for the empirical
 * distribution. It cannot predict what was not measured: with more nodes than phases it nears the maximum.
 */
double distribution_expected_longest(const uint64_t *sorted, size_t count, uint64_t nodes);

#endif /* PHASE_DISTRIBUTION_H */
