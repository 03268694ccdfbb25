/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_pool.h: an allocator of physical memory in pages. The kernel's pool is one, every rank's slice
 * another.
 *
 * The list of free extents stands in the free memory itself, in ascending order, neighbours joined; so a pool
 * costs no memory, nothing at boot, and has no limit on its size. Small requests are served from extents that
 * hold no aligned large page, as long as there are any, so that fragments are used up first. Taking and
 * giving back cost time in the number of free extents. Not locked: a pool belongs to one rank.
 */
#ifndef TACET_PAGE_POOL_H
#define TACET_PAGE_POOL_H

#include "lib/boot_info.h"

#define PAGE_POOL_NONE UINT64_MAX /* no memory: not an address of a page */

struct page_pool {
    uint64_t first; /* physical address of the lowest free extent, or PAGE_POOL_NONE */
    uint64_t free_bytes;
    uint64_t total_bytes;
};

/* Extents are page-aligned, disjoint, and mapped for arch_physical(). */
void page_pool_initialise(struct page_pool *pool, const struct memory_range *extents, unsigned count);

/* `bytes` contiguous bytes, a multiple of the page, at a multiple of `alignment` (a power of two, at least a
 * page). The contents are whatever was there. PAGE_POOL_NONE where there are none. */
uint64_t page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment);

/* As page_pool_allocate without alignment, but fewer bytes, at least a page, will do where there is no run of
 * `bytes`: *got tells. Finds nothing only in a pool without a free page. */
uint64_t page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got);

void page_pool_free(struct page_pool *pool, uint64_t address, uint64_t bytes);

#endif
