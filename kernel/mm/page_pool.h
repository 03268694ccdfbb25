/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_pool.h: an allocator of physical memory in pages. The kernel's pool is one, every rank's slice
 * another.
 *
 * The free extents form a balanced tree, by address, each with the largest room of its subtree. The tree is
 * stored in the free memory itself, adjacent extents coalesced. So a pool costs no memory, nothing at boot,
 * has no limit on its size, and allocates and frees in time logarithmic in the number of extents. Small
 * requests are served from extents that hold no aligned large page, as long as there are any, so that
 * fragments are used up first.
 *
 * Any CPU may call these functions at any time, with any lock held: the pool's own lock is a leaf, held only
 * while the tree changes. Callers clear pages themselves. A few pages that come back zeroed, as page tables
 * do, are kept zeroed, outside the tree, for the next table, until all other memory is allocated.
 */
#ifndef TACET_PAGE_POOL_H
#define TACET_PAGE_POOL_H

#include "arch.h"
#include "lib/avl.h"
#include "lib/boot_info.h"
#include "mm/page.h"
#include "smp/spinlock.h"

#define PAGE_POOL_NONE   UINT64_MAX /* no memory: not an address of a page */
#define PAGE_POOL_ZEROED 8          /* the most free pages that are kept zeroed */
#define PAGE_POOL_SHARED 2          /* lists of allocated pages that small page tables share */

struct page_pool {
    struct spinlock lock;
    uint32_t reserving_cpu;
    struct avl_node *extents;
    uint64_t free_bytes;
    uint64_t free_bytes_min; /* least free_bytes so far */
    uint64_t total_bytes;
    uint64_t reserved_bytes; /* free bytes for reserving_cpu alone */
    unsigned zeroed_count;   /* free pages that are no extents */
    uint64_t zeroed[PAGE_POOL_ZEROED];
    uint64_t shared[PAGE_POOL_SHARED]; /* first pages of the architecture's lists; 0: empty */
};

/* Extents are page-aligned, disjoint, and mapped for arch_physical(). */
void page_pool_initialise(struct page_pool *pool, const struct memory_range *extents, unsigned count);

/* Allocates `bytes` contiguous bytes, a multiple of the page, at a multiple of `alignment`: a page, or a
 * large or huge page if that is at most `bytes`. The contents are undefined. PAGE_POOL_NONE if there is no
 * such run. */
uint64_t page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment);

/* Allocates `bytes`, rounded up to pages, for the kernel itself: zeroed; NULL if there is no such run. */
void *page_pool_take(struct page_pool *pool, uint64_t bytes);

/* Allocates as page_pool_allocate with the alignment of a page, but if there are no `bytes` contiguous bytes,
 * as many as there are, at least a page; *got is how many. Fails only if there is no free page. */
uint64_t page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got);

/* Allocates memory for the beginning of [address, address + bytes) of a program, or of a file: a huge or
 * large page if the address allows it and one is free, else as page_pool_allocate_partial, up to the next
 * address at which a large page may begin. */
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

/* Allocates a page of zeros. PAGE_POOL_NONE if there is none. */
uint64_t page_pool_allocate_zeroed(struct page_pool *pool);

/* Frees a page that is all zeros. */
void page_pool_free_zeroed(struct page_pool *pool, uint64_t page);

/* Returns how many bytes are free now; another CPU may change it at once. */
static inline uint64_t page_pool_free_bytes(const struct page_pool *pool)
{
    return __atomic_load_n(&pool->free_bytes, __ATOMIC_RELAXED);
}

/* Returns the most bytes that were allocated at one time. For a rank's slice that is the program's memory,
 * its page tables, files that it has written and what the kernel keeps for it: threads' stacks, pipes, texts
 * of /proc. */
static inline uint64_t page_pool_peak_bytes(const struct page_pool *pool)
{
    return pool->total_bytes - __atomic_load_n(&pool->free_bytes_min, __ATOMIC_RELAXED);
}

/* Reserves `bytes` for this CPU's allocations until page_pool_unreserve; this CPU frees `freed_first` of them
 * itself before it allocates. Other CPUs can allocate only what is free beyond the reservation, so this CPU
 * can allocate single pages that add up to `bytes` without fail. Returns false, with nothing reserved, if
 * there is not that much. One reservation at a time: another call replaces it, and callers on several CPUs
 * need a lock of their own. */
bool page_pool_reserve(struct page_pool *pool, uint64_t bytes, uint64_t freed_first);
void page_pool_unreserve(struct page_pool *pool);

#endif
