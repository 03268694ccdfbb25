/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * together.h: how the ranks of a Tacet node start a measurement at one moment without a word between them.
 *
 * Each rank is a process of its own on its own core; they share no memory, and a message would be a kernel
 * entry. What they do share is the clock: the kernel sets the cores' counters to one value at boot and shows
 * every process when that was (`boot_ticks` of tacet.h). So each rank takes the next multiple of an interval
 * since boot that lies at least a lead ahead. Ranks that ask within the same interval get the same answer.
 *
 * Limit: a border between two intervals remains. Ranks that ask on different sides of it (its time less the
 * lead) start one interval apart. So the interval must be long against the spread of the ranks' arrival, and
 * the start is printed, for the lab to refuse ranks that did not agree. A start given by the user, as time
 * since boot, has no border.
 *
 * The end needs no agreement where the window has a fixed length. Where the work is fixed instead, a rank
 * that has finished spins until the planned end and a margin, so that its output disturbs no rank that still
 * measures.
 *
 * Pure but for together_find(); no function enters the kernel.
 */
#ifndef TOGETHER_H
#define TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

#define TOGETHER_RANKS_MAX 65536

/* Starts are multiples of this. On an emulator whose CPUs take turns, ranks may arrive 100 ms apart each. */
#define TOGETHER_INTERVAL_NS UINT64_C(1000000000)
/* A start lies at least this much ahead: time to be at the gate. */
#define TOGETHER_LEAD_NS UINT64_C(20000000)

/* Which rank of how many this process is. */
struct together_place {
    uint32_t rank;
    uint32_t size; /* 1: alone, there is nobody to agree with */
};

/*
 * Reads the texts of TACET_RANK and TACET_SIZE; both NULL means alone. False when they make no sense: one
 * without the other, no whole number, a rank not below the size.
 */
bool together_parse(const char *rank, const char *size, struct together_place *place);

/* The same from the environment. */
bool together_find(struct together_place *place);

/*
 * The first multiple of `interval_ticks` after `base_ticks` that lies at least `lead_ticks` after
 * `now_ticks`. `now_ticks` is not before `base_ticks`; `interval_ticks` is not 0.
 */
uint64_t together_start_ticks(uint64_t now_ticks, uint64_t base_ticks, uint64_t interval_ticks,
                              uint64_t lead_ticks);

/* When a rank whose work was planned to last `planned_ticks` from `start_ticks` on may leave: a twentieth and
 * `lead_ticks` later. */
uint64_t together_end_ticks(uint64_t start_ticks, uint64_t planned_ticks, uint64_t lead_ticks);

#endif /* TOGETHER_H */
