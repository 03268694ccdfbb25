/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.h: what a row of FWQ samples says about noise. Pure; lab/fwq.py holds the same definitions.
 *
 * Nominal length. What undisturbed work takes: the smallest length that at least one sample in twenty did not
 * exceed. Not the minimum, because one lucky sample (a processor that raised its speed for a moment) would
 * make every other one look disturbed; not the mean, because noise moves it.
 *
 * Disturbed sample: longer than the nominal length by more than a threshold. Two detours within one sample
 * cannot be separated.
 */
#ifndef FWQ_ANALYSIS_H
#define FWQ_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All lengths in ticks. */
struct fwq_analysis {
    uint64_t minimum, nominal, median, maximum;
    uint64_t maximum_at;       /* index of the first longest sample */
    uint64_t total;            /* the whole window: samples follow each other without a gap */
    uint64_t disturbed;        /* samples */
    uint64_t disturbed_excess; /* above the nominal length, of disturbed samples */
    uint64_t raw_excess;       /* the same of all samples */
    double noise_ratio;        /* disturbed_excess / total */
    double raw_ratio;          /* raw_excess / total */
};

/* Analyses `count` samples. `scratch` has room for as many. False when there is nothing to judge: no sample,
 * or a nominal length of zero. */
bool fwq_analyse(const uint64_t *samples, size_t count, uint64_t threshold_ticks, uint64_t *scratch,
                 struct fwq_analysis *result);

#endif /* FWQ_ANALYSIS_H */
