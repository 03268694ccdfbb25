/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h: two ranks on the two hardware threads of a core. Their priorities divide its decode slots as
 * published for POWER5: of R = 2^(|p - q| + 1) slots the thread of lower priority gets one, the other thread
 * the rest; with equal priorities each gets half (Boneti et al., "Software-Controlled Priority
 * Characterization of POWER5 Processor", ISCA 2008). That holds for priorities from 2 to 6.
 *
 * The model adds assumptions that a real core need not obey: a rank with share s of the slots runs at speed
 * min(1, s / need), where 1 is its speed alone. `need` is the share with which it is as fast as alone: 1 if
 * only slots limit it, less if it often waits for memory. A rank that waits for the other polls, as MPI
 * libraries do, and takes its slots as before; or it yields them, asleep in the kernel. The model has no
 * cache, no order of instructions, no noise. Pure.
 */
#ifndef BALANCE_MODEL_H
#define BALANCE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model {
    double need; /* above 0, at most 1 */
    bool yields; /* a rank that waits yields its slots; else it polls */
};

/* Returns the share of decode slots of a thread of priority `own` next to a thread of priority `other`; both
 * are 2 .. 6. */
double model_share(unsigned own, unsigned other);

/* Computes how long each rank runs in an iteration; `work_ns` is what it needs alone on the core. */
void model_iteration(const struct model *model, const uint64_t work_ns[2], const unsigned priority[2],
                     uint64_t running_ns[2]);

#endif
