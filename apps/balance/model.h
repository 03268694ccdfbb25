/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h: two ranks on the two hardware threads of a core whose priorities share its decode slots, as POWER5
 * was published to do it: of R = 2^(|p - q| + 1) slots the thread of the lower priority gets one, the other
 * one the rest; of equal priorities, each half (Boneti et al., "Software-Controlled Priority Characterization
 * of POWER5 Processor", ISCA 2008). That holds for priorities from 2 to 6.
 *
 * What the model adds, and a real core need not obey: a rank that has the share s of the slots runs at the
 * speed min(1, s / need), 1 being its speed alone. `need` is the share with which it would be as fast as
 * alone: 1 where nothing but slots limits it, less where it often waits for memory. A rank that waits for the
 * other one polls, as MPI libraries do, and takes its slots as before; or it yields them, asleep in the
 * kernel. No cache, no order of instructions, no noise. Pure.
 */
#ifndef BALANCE_MODEL_H
#define BALANCE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model {
    double need; /* above 0, at most 1 */
    bool yields; /* who waits */
};

/* Of the decode slots, of a thread of priority `own` beside one of `other`: both 2 .. 6. */
double model_share(unsigned own, unsigned other);

/* How long both ranks run in an iteration: `work_ns` is what each needs alone on the core. */
void model_iteration(const struct model *model, const uint64_t work_ns[2], const unsigned priority[2],
                     uint64_t running_ns[2]);

#endif
