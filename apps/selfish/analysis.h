/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.h: figures of the detours that selfish recorded. Pure; lab/selfish.py computes the same figures.
 */
#ifndef SELFISH_ANALYSIS_H
#define SELFISH_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

/* The quantiles that are reported, in millionths: 50 %, 90 % … 99.999 %. */
#define SELFISH_QUANTILES                              \
    {                                                  \
        500000, 900000, 990000, 999000, 999900, 999990 \
    }
#define SELFISH_QUANTILE_COUNT 6

/* All lengths in ticks. */
struct selfish_analysis {
    uint64_t minimum, maximum;
    uint64_t quantiles[SELFISH_QUANTILE_COUNT];
    double mean;
};

/* Analyses the lengths of `count` detours, and sorts them. All figures are zero if there are none. */
void selfish_analyse(uint64_t *lengths, size_t count, struct selfish_analysis *result);

/*
 * Returns the threshold to use, in ticks: `requested_ticks`, but at least what separates a detour from the
 * loop's own grain. That is four turns of the loop; if the clock's steps are coarse, one turn and four steps.
 * Reasons: two reads of an undisturbed loop are at most `loop_ticks` plus one clock step apart, and recording
 * a detour costs less than two more turns. Both limits are in effect counts of instructions: on an emulator
 * where an instruction takes 2^S ns, loop and threshold grow by 2^S together, and stay below the shortest
 * kernel entry, which grows likewise.
 */
uint64_t selfish_threshold_ticks(uint64_t requested_ticks, double loop_ticks, uint64_t step_ticks);

#endif /* SELFISH_ANALYSIS_H */
