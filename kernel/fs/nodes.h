/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.h: NUMA as programs see it: the firmware's domains are Linux's nodes, by the same numbers. Memory and
 * CPUs that no domain below NODES_MAX has are in node 0. nodes.c
 */
#ifndef TACET_NODES_H
#define TACET_NODES_H

#include "mm/memplan.h"
#include "mm/vm.h"
#include "smp/cpu_mask.h"

#define NODES_MAX 64

/* Returns the nodes that have CPUs or memory, a bit for each. */
uint64_t nodes_known(void);

unsigned node_of_cpu(unsigned cpu);

/* Returns nodes as a mask, which has room for them. */
static inline struct cpu_mask node_mask(uint64_t nodes)
{
    return (struct cpu_mask){ .used = 1, .words = { nodes } };
}

/* Returns how much of a slice is in a node; nodes_of, the nodes in which more of it is than what is left when
 * it is cut at large pages (memplan.h). */
uint64_t node_bytes(const struct memory_slice *slice, unsigned node);
uint64_t nodes_of(const struct memory_slice *slice);

/* Returns the node of the memory at an address of this CPU's process; -ENOENT if there is none. */
int node_of_address(const struct vm *vm, uint64_t address);

/* Counts, for each node, the pages of [start, end) of this CPU's process. Serves crosscalls. */
void node_pages(const struct vm *vm, uint64_t start, uint64_t end, uint64_t pages[NODES_MAX]);

#endif
