/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * share.h: what it costs two threads to share a CPU: to hand it to each other, and to take it from one that
 * is there for what nobody else wants (SCHED_IDLE).
 */
#ifndef COST_SHARE_H
#define COST_SHARE_H

#include <stdint.h>

struct share_costs {
    /* One of the threads wakes the other by futex and waits: from before its call of FUTEX_WAKE to after the
     * return of the other thread's FUTEX_WAIT, as half of there and back. */
    uint64_t switch_min_ticks, switch_median_ticks;
    /* From before a SCHED_IDLE thread's call of FUTEX_WAKE to after the return of the FUTEX_WAIT of an
     * ordinary thread, which takes the CPU from it. */
    uint64_t over_idle_min_ticks, over_idle_median_ticks;
};

/* Both threads on the first CPU that the process has. 0, or -errno. */
int share_measure(struct share_costs *costs);

#endif
