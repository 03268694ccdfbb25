/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_table.h: page tables as trees, alike on all architectures: what page_table.c and user_map.c do with
 * them, and what they need of an architecture in addition to the levels, tables and entries of its
 * arch/page_table.h, which ends with this header.
 */
#ifndef ARCH_COMMON_PAGE_TABLE_H
#define ARCH_COMMON_PAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct arch_space;
struct page_pool;

/* The entry that maps `address`, or the one at which the walk ends: there is no table below it. Other CPUs
 * may change entries meanwhile, so each is read once; `value` is what was read. */
struct leaf {
    uint64_t *entry;
    uint64_t value;
    int level;
};
struct leaf leaf_find(uint64_t root, uint64_t address);

/* Returns the level of the largest page with which a mapping of `address` to `physical` can go on for
 * `bytes`. */
int page_level(uint64_t address, uint64_t physical, uint64_t bytes);

/* Finds the entry for `address` at `level`; creates missing tables above it with `table_bits`. Returns NULL
 * if there is no memory for one, or `address` is inside a larger page. */
uint64_t *entry_create(uint64_t root, uint64_t address, int level, uint64_t table_bits,
                       struct page_pool *pages);

/* Makes `address` the beginning of a page: replaces large pages around it by tables of smaller ones with the
 * same memory and rights. Returns -ENOMEM if there is no memory for a table. Invalidates the TLB of this CPU
 * only: what other CPUs have cached of the large page stays true. */
int page_split(uint64_t root, uint64_t address, uint64_t table_bits, struct page_pool *pages);

/* ---- Of the architecture: programs' spaces ---- */

/* Returns the bits of a page's entry with these rights. entry_allows: whether an entry allows an access. */
uint64_t rights_bits(unsigned rights);
bool entry_allows(uint64_t entry, unsigned rights);

/* Drops what this CPU has cached of its space: all, or that of one page, and of tables on the way to any. */
void space_flush_here(const struct arch_space *space);
void space_flush_page_here(const struct arch_space *space, uint64_t address);

#endif
