/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * analysis.h: noise figures from FTQ counts. Pure; lab/ftq.py holds the same definitions, and a test compares
 * the two on the same data.
 *
 * Nominal count: what an undisturbed quantum reaches. It is the largest count that at least one quantum in
 * twenty reached (with fewer than twenty quanta, the largest). It is not the maximum, as in the public tool,
 * because one lucky sample would make all others look disturbed; and not the mean, because noise moves it.
 *
 * - Sharp: one quantum in twenty holds this count or one less. Then all undisturbed quanta are alike.
 * - Not sharp: the machine's clock, caches and neighbours make undisturbed quanta differ. Nineteen quanta in
 *   twenty would be disturbed by definition. So the nominal count is the mode of the quanta that did any
 *   work; counts within the reach below it are the spread of the measurement, not noise (order.h:
 *   order_floor_find).
 *
 * Quantisation floor: operations of length d end at multiples of d, so a silent quantum of length Q holds
 * floor(Q/d) or ceil(Q/d) of them: the grid beats against the loop. So a loss of one count is not noise. It
 * is at most d a quantum, d/Q as a ratio. A loss of two or more cannot come from the beat; every detour of 2d
 * or more causes it (3d if fewer than one quantum in twenty reaches ceil(Q/d), as the nominal count is then
 * floor(Q/d)).
 *
 * Disturbed quantum: one that lost at least `disturbed_from` counts of the nominal count. That is two if the
 * nominal count is sharp; otherwise one more than the reach, at least two.
 *
 * Threshold: the shortest loss that counts, given if the machine itself moves up to that time between quanta
 * (CPUs that take turns on one clock). The nominal count is then the median, and `disturbed_from` the
 * operations that last as long as the threshold, at least two.
 *
 * Price of a loss: its share of the quantum, quantum_ns * loss / nominal_count. So a quantum that was lost
 * whole is exactly one quantum, and no ratio of noise exceeds the raw one. The mean length of an operation
 * would be another price where undisturbed quanta differ, since their mean is not the nominal count.
 *
 * Floor: the least loss of a disturbed quantum. If it is more than a tenth of the quantum, shorter detours,
 * which may be many, are in no figure, and the programs say so.
 *
 * Separable: whether undisturbed and disturbed quanta can be told apart. They cannot if the reach is half of
 * the mode or more, or if more than one quantum in twenty is above the mode by more than the reach: then the
 * mode is not the undisturbed speed, or there are several speeds. Such data have no floor. Even then, a
 * quantum was certainly disturbed that lost half of what the best twentieth reached. Only these count, and
 * the figures are lower bounds.
 *
 * Detour: a disturbed quantum. One exception: quanta of count zero were lost whole. They form one detour with
 * the disturbed quanta before and after them, and its loss is the sum of theirs. Two detours that share a
 * quantum cannot be separated and count as one. One short detour across the edge of two quanta cannot be told
 * from two, and counts as two.
 */
#ifndef FTQ_ANALYSIS_H
#define FTQ_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The smallest possible `disturbed_from`, in counts: a loss of one is the beat. */
#define FTQ_DISTURBED_LOSS 2
/* A floor of more than one quantum in this number is remarked. */
#define FTQ_FLOOR_ONE_IN 10

struct ftq_analysis {
    uint64_t nominal_count;      /* operations of an undisturbed quantum, see above */
    uint64_t disturbed_from;     /* least loss of a disturbed quantum, counts, see above */
    bool separable;              /* see above */
    uint64_t maximum_count;      /* largest count of all */
    uint64_t total_count;        /* sum of all counts */
    uint64_t one_short_quanta;   /* quanta that lost exactly one count: the quantisation floor */
    uint64_t disturbed_quanta;   /* quanta that lost disturbed_from counts or more */
    uint64_t lost_quanta;        /* disturbed quanta with no operation at all */
    uint64_t detours;            /* disturbed quanta after merging */
    uint64_t disturbed_loss;     /* counts lost in disturbed quanta */
    uint64_t raw_loss;           /* counts lost in all quanta, the floor included */
    uint64_t largest_loss;       /* counts lost to the largest detour */
    uint64_t largest_loss_at;    /* index of the quantum in which it began; 0 if there is none */
    double operation_ns;         /* mean length of an operation in undisturbed quanta */
    double largest_loss_ns;      /* price of largest_loss, see above; right to about one operation */
    double detours_per_second;   /* over the whole window */
    double noise_ratio;          /* disturbed_loss / (nominal_count * samples) */
    double raw_ratio;            /* raw_loss / (nominal_count * samples) */
    double floor_ns;             /* quantisation floor of one quantum: price of one operation, see above */
    double floor_ratio;          /* most that the floor may add to raw_ratio: 1 / nominal_count */
    double measured_floor_ratio; /* what it added: one_short_quanta / (nominal_count * samples) */
};

/*
 * Analyses `samples` counts of quanta of `quantum_ns`; `threshold_ns` is the threshold, 0 for none. `scratch`
 * has room for `samples` counts. Returns false if there is nothing to judge: no sample, no length, or a
 * nominal count below 2, too small for the definitions above.
 */
bool ftq_analyse(const uint64_t *counts, size_t samples, uint64_t quantum_ns, uint64_t threshold_ns,
                 uint64_t *scratch, struct ftq_analysis *result);

/* Returns whether the floor is to be remarked, see above. Without a floor (not separable) it is not. */
bool ftq_floor_is_high(const struct ftq_analysis *result);

#endif /* FTQ_ANALYSIS_H */
