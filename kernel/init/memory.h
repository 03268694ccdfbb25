/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h: divides the memory: the kernel's pool, and a slice for each rank of the present job. On the first
 * CPU, before the job's ranks start.
 */
#ifndef TACET_INIT_MEMORY_H
#define TACET_INIT_MEMORY_H

#include "lib/boot_info.h"
#include "lib/command_line.h"
#include "mm/memplan.h"
#include "mm/page_pool.h"

extern struct page_pool kernel_pool;

/* Checks, at boot, where the boot modules lie, and makes the kernel's pool. Stops the node if the memory is
 * not sufficient. */
void memory_start(const struct boot_info *boot, const struct command_line *line);

/* Plans the slices of process_rank_count ranks, once all CPUs run. The plan's slices are whole again, what
 * memplan_take has taken from those of an earlier job included. -ENOMEM with `why`. */
int memory_slices_plan(struct memplan **plan, struct message *why);

/* Prints how much the kernel, ranks and service have; for the first job, or all jobs that use all CPUs. */
void memory_describe(void);

/* Returns what the kernel has for itself, in bytes: its image and its pool, without the service's memory. */
uint64_t memory_kernel_bytes(void);

/* Takes the memory of the service, for which the pool was planned; call once. Empty: there is none. */
struct memory_slice memory_service_take(void);

/* Returns what all ranks have together, in MiB. */
uint64_t memory_ranks_mib(void);

/* Takes memory from the pool for good, whose plan has room for it. */
uint64_t memory_take(uint64_t bytes, uint64_t alignment);

/* Gives the network the memory of its own accounts (net/memory.h), after the last plan. */
void memory_network_give(void);

#endif
