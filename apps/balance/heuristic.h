/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heuristic.h: which hardware priorities the ranks of one core are to have in their next iteration, from how
 * long each ran and waited in the last one [Betti09 §IV]. Pure; no allocation, no clock, no system call.
 *
 * In an iteration a rank runs for t_R, then waits for the others for t_W; its utilisation is U_i = t_R / (t_R
 * + t_W), over all iterations U = sum t_R / sum (t_R + t_W) [Betti09 §IV-B, Fig. 2]. A rank of high
 * utilisation is waited for: it is to have more of the core. One of low utilisation waits: it can spare some.
 * The paper says that, and that a wrong guess is seen in the next iteration and put right after it; by which
 * thresholds it leaves to another paper. Ours:
 *
 *   - One step at a time. Where the rank of highest utilisation has `high` or more, and that of the lowest
 *     less than `low`, the first gets a priority one higher, or, if it has the highest, the other one lower.
 *   - A step that does not shorten the iteration by `gain` at least is undone, and no other is tried until
 *     the ranks run longer or shorter than they did before by `change`.
 *
 * So each step that stays has shortened the iteration, and one that has not ends the search: with work that
 * stays the same there are few, and balanced ranks are left alone. A step takes half of a rank's share at
 * most (model.h), and from one that ran for less than `low` of the iteration: if it was wrong, it costs one
 * iteration that is 2 `low` times as long.
 */
#ifndef BALANCE_HEURISTIC_H
#define BALANCE_HEURISTIC_H

#include <stdbool.h>
#include <stdint.h>

/* Hardware threads of a core, at most (POWER8: 8). */
#define BALANCE_SIBLINGS_MAX 8

/* t_R and t_W, of one iteration or summed over all. */
struct balance_times {
    uint64_t running_ns, waiting_ns;
};

/* Shares are in thousandths. */
struct balance_rules {
    uint32_t high, low;       /* utilisations; low < high <= 1000 */
    uint32_t history;         /* how much of the utilisation that is compared is U; the rest is U_i */
    uint32_t gain;            /* by which a step must shorten the iteration */
    uint32_t change;          /* of a rank's t_R, from which on it behaves in another way */
    unsigned lowest, highest; /* priorities that it gives: 1 .. 6 */
};

/* What is taken where nothing else is said: 850, 650, 100, 20, 250, and priorities 4 to 6. */
extern const struct balance_rules balance_rules_default;

struct balance_sibling {
    struct balance_times last, sum;
    unsigned priority; /* that it is to have */
};

/* The ranks of a core, and what is remembered of them. Zeroed at first, but for `count` and `priority`. */
struct balance_core {
    unsigned count; /* 1 .. BALANCE_SIBLINGS_MAX */
    struct balance_sibling siblings[BALANCE_SIBLINGS_MAX];
    bool tries;   /* the last iteration was the first after a step; before it: */
    bool settled; /* a step was undone, and no other is to be tried; before it: */
    unsigned priority_before[BALANCE_SIBLINGS_MAX];
    uint64_t running_before_ns[BALANCE_SIBLINGS_MAX];
};

/* U_i, or U of sums, in thousandths; 1000 where both times are 0. */
uint32_t balance_utilisation(struct balance_times times);

/* Adds an iteration to a rank's figures. */
void balance_add(struct balance_sibling *sibling, struct balance_times times);

/* Once all ranks of a core have their figures of an iteration (balance_add): changes their priorities for the
 * next one. Whether it changed any. */
bool balance_decide(struct balance_core *core, const struct balance_rules *rules);

#endif
