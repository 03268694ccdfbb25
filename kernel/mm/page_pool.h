/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_pool.h: an allocator of physical memory in pages. The kernel's pool is one, every rank's slice
 * another.
 *
 * The free extents are a balanced tree by address, each with the largest room of its subtree; it stands in
 * the free memory itself, adjacent extents coalesced. So a pool costs no memory, nothing at boot, has no
 * limit on its size, and allocates and frees in the logarithm of how many extents there are. Small requests
 * are served from extents that hold no aligned large page, as long as there are any, so that fragments are
 * used up first.
 *
 * Any CPU may call these functions at any time, with any lock held: the pool's own lock is a leaf, held only
 * while the tree changes. The contents of pages are the caller's business, but for the few that come back
 * zeroed, as page tables do: they stay so for the next table, apart from the tree, until all the rest is
 * allocated.
 */
#ifndef TACET_PAGE_POOL_H
#define TACET_PAGE_POOL_H

#include "arch.h"
#include "lib/avl.h"
#include "lib/boot_info.h"
#include "mm/page.h"
#include "smp/spinlock.h"

#define PAGE_POOL_NONE   UINT64_MAX /* no memory: not an address of a page */
#define PAGE_POOL_ZEROED 8          /* free pages at most that are kept zeroed */
#define PAGE_POOL_SHARED 2          /* lists of allocated pages that small page tables share */

struct page_pool {
    struct spinlock lock;
    uint32_t reserving_cpu;
    struct avl_node *extents;
    uint64_t free_bytes;
    uint64_t free_bytes_min; /* so far */
    uint64_t total_bytes;
    uint64_t reserved_bytes; /* of the free ones, for reserving_cpu alone */
    unsigned zeroed_count;   /* free pages that are no extents */
    uint64_t zeroed[PAGE_POOL_ZEROED];
    uint64_t shared[PAGE_POOL_SHARED]; /* of the architecture: first pages of its lists; 0: empty */
};

/* Extents are page-aligned, disjoint, and mapped for arch_physical(). */
void page_pool_initialise(struct page_pool *pool, const struct memory_range *extents, unsigned count);

/* Allocates `bytes` contiguous bytes, a multiple of the page, at a multiple of `alignment`: a page, or a
 * large or huge page where that is at most `bytes`. The contents are whatever was there. PAGE_POOL_NONE where
 * there are none. */
uint64_t page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment);

/* As page_pool_allocate with no more alignment than a page, but where there are no `bytes` contiguous bytes
 * it allocates as many as there are, at least a page; *got is how many. Fails only where there is no free
 * page. */
uint64_t page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got);

/* Allocates memory for the beginning of [address, address + bytes) of a program, or of a file: a huge or
 * large page where the address allows and there is one, else as page_pool_allocate_partial, up to the next
 * address at which there may be one. */
static inline uint64_t page_pool_allocate_run(struct page_pool *pool, uint64_t address, uint64_t bytes,
                                              uint64_t *got)
{
    static const uint64_t sizes[] = { ARCH_HUGE_PAGE, ARCH_LARGE_PAGE };

    for (unsigned i = arch_huge_pages() ? 0 : 1; i < 2; i++) {
        if ((address & (sizes[i] - 1)) || bytes < sizes[i])
            continue;

        uint64_t physical = page_pool_allocate(pool, sizes[i], sizes[i]);
        if (physical != PAGE_POOL_NONE) {
            *got = sizes[i];
            return physical;
        }
    }

    uint64_t to_large = ARCH_LARGE_PAGE - (address & (ARCH_LARGE_PAGE - 1));
    return page_pool_allocate_partial(pool, smaller(bytes, to_large), got);
}

void page_pool_free(struct page_pool *pool, uint64_t address, uint64_t bytes);

/* A page of zeros, or PAGE_POOL_NONE. */
uint64_t page_pool_allocate_zeroed(struct page_pool *pool);

/* As page_pool_free, of a page that is all zeros. */
void page_pool_free_zeroed(struct page_pool *pool, uint64_t page);

/* What is free now; another CPU may change it at once. */
static inline uint64_t page_pool_free_bytes(const struct page_pool *pool)
{
    return __atomic_load_n(&pool->free_bytes, __ATOMIC_RELAXED);
}

/* The most that was allocated at one time. Of a rank's slice that is the program's memory, its page tables,
 * files that it has written and what the kernel keeps for it: threads' stacks, pipes, texts of /proc. */
static inline uint64_t page_pool_peak_bytes(const struct page_pool *pool)
{
    return pool->total_bytes - __atomic_load_n(&pool->free_bytes_min, __ATOMIC_RELAXED);
}

/* Reserves `bytes` for what this CPU allocates until page_pool_unreserve, `freed_first` of which it frees
 * itself before it allocates: other CPUs can allocate only what is free beyond them, so single pages that add
 * up to `bytes` can be allocated without fail. False, with nothing reserved, where there is not that much.
 * One reservation at a time: another call replaces it, and callers on several CPUs need a lock of their own.
 */
bool page_pool_reserve(struct page_pool *pool, uint64_t bytes, uint64_t freed_first);
void page_pool_unreserve(struct page_pool *pool);

#endif
