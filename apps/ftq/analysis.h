/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.h: what a row of FTQ counts says about noise. Pure; lab/ftq.py holds the same definitions, and a
 * test compares the two on the same data.
 *
 * Nominal count. What an undisturbed quantum reaches: the largest count that at least one quantum in twenty
 * reached (with fewer than twenty quanta, the largest). Not the maximum, as the public tool has it, because
 * one lucky sample would then make every other one look disturbed; not the mean, because noise moves it.
 * That holds where it is sharp, that is, where one quantum in twenty holds this count or one less: on a
 * machine whose every undisturbed quantum is alike. On one whose clock, caches and neighbours make
 * undisturbed quanta differ by themselves, nineteen quanta in twenty would be disturbed by definition. There
 * the nominal count is the mode of the quanta that did any work, and what lies within the reach below it is
 * the spread of the measurement and no noise (order.h: order_floor_find).
 *
 * Quantisation floor. With operations of length d in quanta of length Q, operations end at multiples of d, so
 * a silent quantum holds either floor(Q/d) or ceil(Q/d) of them: the grid beats against the loop. A loss of
 * one count is therefore no noise; it is worth at most d a quantum, in ratio d/Q. A loss of two or more
 * cannot come from the beat, and every detour of 2d or more causes it (3d where fewer than one quantum in
 * twenty reaches ceil(Q/d), for then the nominal count is floor(Q/d)).
 *
 * Disturbed quantum: lost `disturbed_from` counts or more against the nominal count: two where that is sharp,
 * else one more than the reach, and two at least.
 *
 * With a threshold, a shortest loss that counts, because the machine itself moves time between quanta up to
 * that (CPUs that take turns on one clock): the nominal count is the median, what half of the quanta reached,
 * and disturbed is a quantum that lost so many operations as last as long as the threshold, and two at least.
 *
 * Separable: whether undisturbed and disturbed quanta can be told apart. They cannot where the reach is half
 * of the mode or more, and where more than one quantum in twenty is above the mode by more than the reach:
 * then the mode is not the undisturbed speed, or there are several. Such data have no floor. What is certain
 * even there is that a quantum which lost half of what the best twentieth reached was disturbed; only such
 * ones are counted, and the figures are lower bounds.
 *
 * Detour. A disturbed quantum, with one exception: quanta of count zero were lost whole, and belong to the
 * detour that began in the disturbed quantum before them and ended in the disturbed one after them; all those
 * are one detour with the sum of their losses. Two detours that share a quantum cannot be separated and count
 * as one; one short detour across the edge of two quanta cannot be distinguished from two, and counts as two.
 */
#ifndef FTQ_ANALYSIS_H
#define FTQ_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Loss from which on a quantum is disturbed at the earliest, counts: the beat is one. */
#define FTQ_DISTURBED_LOSS 2

struct ftq_analysis {
    uint64_t nominal_count;      /* operations of an undisturbed quantum, see above */
    uint64_t disturbed_from;     /* loss from which on a quantum is disturbed, counts, see above */
    bool separable;              /* whether that tells undisturbed quanta from disturbed ones */
    uint64_t maximum_count;      /* largest count of all */
    uint64_t total_count;        /* sum of all counts */
    uint64_t one_short_quanta;   /* quanta that lost exactly one count: the quantisation floor */
    uint64_t disturbed_quanta;   /* quanta that lost disturbed_from counts or more */
    uint64_t lost_quanta;        /* of these, quanta with no operation at all */
    uint64_t detours;            /* disturbed quanta after merging */
    uint64_t disturbed_loss;     /* counts lost in disturbed quanta */
    uint64_t raw_loss;           /* counts lost in all quanta, the floor included */
    uint64_t largest_loss;       /* counts lost to the largest detour */
    uint64_t largest_loss_at;    /* index of the quantum in which it began; 0 if there is none */
    double operation_ns;         /* mean length of an operation in undisturbed quanta */
    double largest_loss_ns;      /* largest_loss * operation_ns; right to about one operation */
    double detours_per_second;   /* over the whole window */
    double noise_ratio;          /* disturbed_loss / (nominal_count * samples) */
    double raw_ratio;            /* raw_loss / (nominal_count * samples) */
    double floor_ns;             /* quantisation floor of one quantum: one operation */
    double floor_ratio;          /* maximum that the floor adds to raw_ratio: 1 / nominal_count */
    double measured_floor_ratio; /* what it did add: one_short_quanta / (nominal_count * samples) */
};

/*
 * Analyses `samples` counts of quanta of `quantum_ns`; `threshold_ns` is the shortest loss that counts, 0 for
 * none. `scratch` has room for as many counts. False when there is nothing to judge: no sample, no length, or
 * a nominal count too small (below 2) for the definitions above.
 */
bool ftq_analyse(const uint64_t *counts, size_t samples, uint64_t quantum_ns, uint64_t threshold_ns,
                 uint64_t *scratch, struct ftq_analysis *result);

#endif /* FTQ_ANALYSIS_H */
