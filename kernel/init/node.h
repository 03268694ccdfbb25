/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h: facts about the node as programs see them: the pages that libc/include/tacet.h describes.
 */
#ifndef TACET_NODE_H
#define TACET_NODE_H

#include "mm/vm.h"

/* Fills the facts that hold from boot on. */
void node_facts_set(uint64_t kernel_bytes);

/* Sets the fact of how many bytes were zeroed before the program started. */
void node_zeroed_set(uint64_t bytes);

/* Shows the facts' page and then every CPU's counters to a program, read-only, from `address` upwards. */
int node_pages_map(struct vm *vm, uint64_t address);

#endif
