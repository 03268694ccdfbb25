/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heuristic.h: decides which hardware priorities the ranks of one core get for their next iteration, from the
 * time that each ran and waited in the last [Betti09 §IV]. Pure; no allocation, no clock, no system call.
 *
 * In an iteration a rank runs for t_R, then waits for the others for t_W. Its utilisation is U_i = t_R / (t_R
 * + t_W); over all iterations U = sum t_R / sum (t_R + t_W) [Betti09 §IV-B, Fig. 2]. The others wait for a
 * rank of high utilisation: it should get more of the core. A rank of low utilisation waits: it can spare
 * some. This is from the paper, and that a wrong guess shows in the next iteration and is corrected then. The
 * paper leaves the thresholds to another paper. Ours:
 *
 *   - One step at a time. If the highest utilisation is at least `high`, and the lowest less than `low`, the
 *     first rank's priority rises by one; if it has the highest already, the other rank's falls by one.
 *   - A step that does not shorten the iteration by at least `gain` is undone, and no other is tried until a
 *     rank's running time differs by `change` from that before the step.
 *
 * So a step that stays has shortened the iteration, and a step that has not ends the search. If the work
 * stays the same there are few steps, and balanced ranks are left alone. A step takes at most half of a
 * rank's share (model.h), from a rank that ran for less than `low` of the iteration: a wrong step costs one
 * iteration that is 2 `low` times as long.
 */
#ifndef BALANCE_HEURISTIC_H
#define BALANCE_HEURISTIC_H

#include <stdbool.h>
#include <stdint.h>

/* Most hardware threads of a core (POWER8: 8). */
#define BALANCE_SIBLINGS_MAX 8

/* t_R and t_W, of one iteration or summed over all. */
struct balance_times {
    uint64_t running_ns, waiting_ns;
};

/* Shares are in thousandths. */
struct balance_rules {
    uint32_t high, low;       /* utilisations; low < high <= 1000 */
    uint32_t history;         /* weight of U in the utilisation that is compared; the rest is U_i */
    uint32_t gain;            /* least shortening of the iteration for a step to stay */
    uint32_t change;          /* of a rank's t_R, above which its work has changed */
    unsigned lowest, highest; /* priorities to give: 1 .. 6 */
};

/* The default: 850, 650, 100, 20, 250, and priorities 4 to 6. */
extern const struct balance_rules balance_rules_default;

struct balance_sibling {
    struct balance_times last, sum;
    unsigned priority; /* for the next iteration */
};

/* The ranks of a core and their history. Initially zero except `count` and `priority`. */
struct balance_core {
    unsigned count; /* 1 .. BALANCE_SIBLINGS_MAX */
    struct balance_sibling siblings[BALANCE_SIBLINGS_MAX];
    bool tries;   /* the last iteration was the first after a step */
    bool settled; /* a step was undone; no other is tried until the work changes */
    /* Before that step: */
    unsigned priority_before[BALANCE_SIBLINGS_MAX];
    uint64_t running_before_ns[BALANCE_SIBLINGS_MAX];
};

/* Returns U_i, or U if `times` are sums, in thousandths; 1000 if both times are 0. */
uint32_t balance_utilisation(struct balance_times times);

/* Adds an iteration to a rank's figures. */
void balance_add(struct balance_sibling *sibling, struct balance_times times);

/* Changes the priorities of a core's ranks for the next iteration; called when all have their figures of the
 * last (balance_add). Returns whether it changed any. */
bool balance_decide(struct balance_core *core, const struct balance_rules *rules);

#endif
