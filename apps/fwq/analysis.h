/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.h: noise figures from FWQ samples. Pure; lab/fwq.py holds the same definitions.
 *
 * Nominal length: the time that undisturbed work takes. It is the mode of the samples (order.h); of exact
 * data that is the shortest. It is not the minimum, because one lucky sample (a processor that raised its
 * speed for a moment) would make all others look disturbed; and not the mean, because noise moves it.
 *
 * Disturbed sample: one that is longer than the nominal length by more than a threshold and by more than the
 * mode's reach. Undisturbed samples of a real processor differ by up to the reach. Two detours within one
 * sample cannot be separated.
 *
 * Separable: the floor tells undisturbed samples from disturbed ones (order_floor_separable). If it does not
 * (two speeds, or a spread as wide as the work), the nominal length is the smallest that at least one sample
 * in twenty does not exceed, only samples of more than twice that length count as disturbed, and the figures
 * are lower bounds.
 */
#ifndef FWQ_ANALYSIS_H
#define FWQ_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All lengths in ticks. */
struct fwq_analysis {
    uint64_t minimum, nominal, median, maximum;
    uint64_t maximum_at;      /* index of the first longest sample */
    uint64_t disturbed_above; /* the excess that an undisturbed sample may have */
    bool separable;
    uint64_t total;            /* the whole window, as there are no gaps between samples */
    uint64_t disturbed;        /* samples */
    uint64_t disturbed_excess; /* sum of disturbed samples' excess over the nominal length */
    uint64_t raw_excess;       /* excess of all samples */
    double noise_ratio;        /* disturbed_excess / total */
    double raw_ratio;          /* raw_excess / total */
};

/* Analyses `count` samples. `scratch` has room for `count`. Returns false if there is nothing to judge: no
 * sample, or a nominal length of zero. */
bool fwq_analyse(const uint64_t *samples, size_t count, uint64_t threshold_ticks, uint64_t *scratch,
                 struct fwq_analysis *result);

#endif /* FWQ_ANALYSIS_H */
