/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heuristic.c: makes steps of hardware priorities, and undoes wrong ones [Betti09 §IV-B]. heuristic.h gives
 * the rules and their reasons.
 */
#include "heuristic.h"

const struct balance_rules balance_rules_default = {
    .high = 850, .low = 650, .history = 100, .gain = 20, .change = 250, .lowest = 4, .highest = 6
};

uint32_t balance_utilisation(struct balance_times times)
{
    const uint64_t all_ns = times.running_ns + times.waiting_ns;

    return all_ns ? (uint32_t)(times.running_ns * 1000 / all_ns) : 1000;
}

void balance_add(struct balance_sibling *sibling, struct balance_times times)
{
    sibling->last = times;
    sibling->sum.running_ns += times.running_ns;
    sibling->sum.waiting_ns += times.waiting_ns;
}

static uint32_t utilisation(const struct balance_sibling *sibling, const struct balance_rules *rules)
{
    return (balance_utilisation(sibling->sum) * rules->history +
            balance_utilisation(sibling->last) * (1000 - rules->history)) /
           1000;
}

/* Returns the longest running time of the core's ranks. */
static uint64_t length_ns(const struct balance_core *core)
{
    uint64_t longest_ns = 0;

    for (unsigned i = 0; i < core->count; i++)
        if (core->siblings[i].last.running_ns > longest_ns)
            longest_ns = core->siblings[i].last.running_ns;
    return longest_ns;
}

static uint64_t length_before_ns(const struct balance_core *core)
{
    uint64_t longest_ns = 0;

    for (unsigned i = 0; i < core->count; i++)
        if (core->running_before_ns[i] > longest_ns)
            longest_ns = core->running_before_ns[i];
    return longest_ns;
}

static bool has_helped(const struct balance_core *core, const struct balance_rules *rules)
{
    const uint64_t before_ns = length_before_ns(core);

    return length_ns(core) <= before_ns - before_ns / 1000 * rules->gain;
}

static void step_undo(struct balance_core *core)
{
    for (unsigned i = 0; i < core->count; i++)
        core->siblings[i].priority = core->priority_before[i];
}

/* Returns whether a rank runs clearly longer or shorter than before the step that was undone. */
static bool behaves_otherwise(const struct balance_core *core, const struct balance_rules *rules)
{
    for (unsigned i = 0; i < core->count; i++) {
        const uint64_t before_ns = core->running_before_ns[i], now_ns = core->siblings[i].last.running_ns;
        const uint64_t apart_ns = before_ns > now_ns ? before_ns - now_ns : now_ns - before_ns;

        if (apart_ns > before_ns / 1000 * rules->change)
            return true;
    }
    return false;
}

/* Makes a step; false if neither priority can change. */
static bool step(struct balance_sibling *more, struct balance_sibling *less,
                 const struct balance_rules *rules)
{
    if (more->priority < rules->highest)
        more->priority++;
    else if (less->priority > rules->lowest)
        less->priority--;
    else
        return false;
    return true;
}

static bool step_try(struct balance_core *core, const struct balance_rules *rules)
{
    struct balance_sibling *busiest = &core->siblings[0], *idlest = busiest;

    for (unsigned i = 0; i < core->count; i++) {
        struct balance_sibling *sibling = &core->siblings[i];

        core->priority_before[i] = sibling->priority;
        core->running_before_ns[i] = sibling->last.running_ns;
        if (utilisation(sibling, rules) > utilisation(busiest, rules))
            busiest = sibling;
        if (utilisation(sibling, rules) < utilisation(idlest, rules))
            idlest = sibling;
    }
    return utilisation(busiest, rules) >= rules->high && utilisation(idlest, rules) < rules->low &&
           step(busiest, idlest, rules);
}

bool balance_decide(struct balance_core *core, const struct balance_rules *rules)
{
    if (core->tries && !has_helped(core, rules)) {
        step_undo(core);
        core->tries = false;
        core->settled = true;
        return true;
    }
    if (core->settled && !behaves_otherwise(core, rules))
        return false;
    core->settled = false;
    core->tries = step_try(core, rules);
    return core->tries;
}
