/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * together.h: how the ranks of a Tacet node start a measurement at the same moment without communication.
 *
 * Each rank is a process on its own core. Ranks share no memory, and a message would be a kernel entry. But
 * they share the clock: the kernel sets the cores' counters to one value at boot, and shows every process
 * when that was (`boot_ticks` of tacet.h). So each rank starts at the next multiple of an interval since boot
 * that is at least a lead ahead. Ranks that ask within the same interval get the same start.
 *
 * Limit: ranks that ask on different sides of a border between two intervals (less the lead) start one
 * interval apart. So the interval must be long compared to the spread of the ranks' arrival, and the start is
 * printed, so that the lab can refuse ranks that did not agree. A start that the user gives, as time since
 * boot, has no border.
 *
 * If the window has a fixed length, the end needs no agreement. If the work is fixed instead, a rank that has
 * finished spins until the planned end plus a margin, so that its output does not disturb ranks that still
 * measure.
 *
 * Pure, except together_find(); no function enters the kernel.
 */
#ifndef TOGETHER_H
#define TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

#define TOGETHER_RANKS_MAX 65536

/* Starts are multiples of this. On an emulator whose CPUs take turns, each rank may arrive 100 ms after the
 * one before it. */
#define TOGETHER_INTERVAL_NS UINT64_C(1000000000)
/* A start is at least this much ahead, so that the rank is ready for it. */
#define TOGETHER_LEAD_NS UINT64_C(20000000)

/* This process's rank, and the number of ranks. */
struct together_place {
    uint32_t rank;
    uint32_t size; /* 1: alone */
};

/*
 * Reads the texts of TACET_RANK and TACET_SIZE; both NULL means alone. Returns false if only one is given,
 * one is no whole number, or the rank is not below the size.
 */
bool together_parse(const char *rank, const char *size, struct together_place *place);

/* Reads them from the environment. */
bool together_find(struct together_place *place);

/*
 * Returns the start: `base_ticks` plus the first multiple of `interval_ticks` that is at least `lead_ticks`
 * after `now_ticks`. `now_ticks` is not before `base_ticks`; `interval_ticks` is not 0.
 */
uint64_t together_start_ticks(uint64_t now_ticks, uint64_t base_ticks, uint64_t interval_ticks,
                              uint64_t lead_ticks);

/* Returns when a rank may leave whose work should last `planned_ticks` from `start_ticks` on: a twentieth of
 * `planned_ticks` plus `lead_ticks` after the planned end. */
uint64_t together_end_ticks(uint64_t start_ticks, uint64_t planned_ticks, uint64_t lead_ticks);

#endif /* TOGETHER_H */
