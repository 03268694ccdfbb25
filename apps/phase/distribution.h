/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * distribution.h: the distribution D of phase durations, and what [Tsafrir05] draws from it. Pure;
 * lab/phase.py holds the same definitions, and a test compares the two on the same data.
 *
 * All durations come as `count` rising values, at least one. Delays are relative to the undisturbed phase,
 * which is the mode of the durations (order.h). [Tsafrir05 §3.1, Fig. 5] takes the shortest, which is the
 * same where undisturbed phases are alike; where a real processor's clock and caches make them differ by
 * themselves, one lucky phase would make nearly all others look delayed. What lies within the mode's reach is
 * that difference, and no delay.
 */
#ifndef PHASE_DISTRIBUTION_H
#define PHASE_DISTRIBUTION_H

#include "order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Mean of the second decile, the values between the ten and the twenty percentiles: where the vertical part
 * of the cumulative distribution begins. The calibration of [Tsafrir05 §3.1] places it on the grain.
 */
double distribution_second_decile(const uint64_t *sorted, size_t count);

double distribution_mean(const uint64_t *sorted, size_t count);
double distribution_deviation(const uint64_t *sorted, size_t count);

/*
 * How many phases lasted longer than the undisturbed one and `delay` of it (0.01: one percent), and longer
 * than the reach allows. Divided by `count` this is p, the probability that a phase is delayed so much: the
 * survival function. The reach is `threshold_ticks` at least: what the machine itself moves between phases,
 * as CPUs do that take turns on one clock.
 */
size_t distribution_delayed(const uint64_t *sorted, size_t count, uint64_t threshold_ticks, double delay);

/* Whether delayed phases can be told from undisturbed ones: the reach is less than half of the mode, and at
 * most one phase in twenty is shorter than the mode by more than the reach and by more than one percent, the
 * least delay that p is stated for. */
bool distribution_separable(const uint64_t *sorted, size_t count, uint64_t threshold_ticks);

/* The floor of the durations, its reach being the threshold at least. */
struct order_floor distribution_floor(const uint64_t *sorted, size_t count, uint64_t threshold_ticks);

/*
 * E(Y), the mean of the longest of `nodes` phases drawn independently from the whole distribution [Tsafrir05
 * §2.4]: the sum over the distinct values v of v (F(v)^n - F(v-)^n), exact for the empirical distribution.
 * It cannot predict what was never measured: with more nodes than phases this nears the maximum.
 */
double distribution_expected_longest(const uint64_t *sorted, size_t count, uint64_t nodes);

#endif /* PHASE_DISTRIBUTION_H */
