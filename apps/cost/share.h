/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * share.h: the cost for two threads to share a CPU: to hand it to each other, and to take it from a
 * SCHED_IDLE thread.
 */
#ifndef COST_SHARE_H
#define COST_SHARE_H

#include <stdint.h>

struct share_costs {
    /* One thread wakes the other by futex and waits: from before its call of FUTEX_WAKE to after the return
     * of the other thread's FUTEX_WAIT; half of a round trip. */
    uint64_t switch_min_ticks, switch_median_ticks;
    /* From before a SCHED_IDLE thread's call of FUTEX_WAKE to after the return of the FUTEX_WAIT of an
     * ordinary thread, which takes the CPU from it. */
    uint64_t over_idle_min_ticks, over_idle_median_ticks;
};

/* Measures with both threads on the process's first CPU. Returns 0, or -errno. */
int share_measure(struct share_costs *costs);

#endif
