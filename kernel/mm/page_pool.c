/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_pool.c: see page_pool.h. Pure C over arch_physical() and the page sizes, so that the host tests run it
 * on an arena.
 */
#include "mm/page_pool.h"
#include "arch/platform.h"

/* What stands at the beginning of each free extent. */
struct free_extent {
    uint64_t next; /* physical, or PAGE_POOL_NONE */
    uint64_t bytes;
};

static struct free_extent *extent_at(uint64_t address)
{
    return arch_physical(address);
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

void page_pool_initialise(struct page_pool *pool, const struct memory_range *extents, unsigned count)
{
    pool->first = PAGE_POOL_NONE;
    pool->free_bytes = 0;
    for (unsigned i = 0; i < count; i++)
        page_pool_free(pool, extents[i].base, extents[i].bytes);
    pool->total_bytes = pool->free_bytes;
}

/* Cuts [address, address + bytes) out of the extent at *link. */
static void extent_cut(struct page_pool *pool, uint64_t *link, uint64_t address, uint64_t bytes)
{
    uint64_t base = *link;
    struct free_extent extent = *extent_at(base);
    uint64_t behind = address + bytes;
    uint64_t next = extent.next;

    if (behind < base + extent.bytes) {
        *extent_at(behind) = (struct free_extent){ .next = next, .bytes = base + extent.bytes - behind };
        next = behind;
    }
    if (address > base) {
        *extent_at(base) = (struct free_extent){ .next = next, .bytes = address - base };
    } else {
        *link = next;
    }
    pool->free_bytes -= bytes;
}

/* Whether a whole large page could be cut from it. */
static bool extent_holds_large_page(uint64_t base, uint64_t bytes)
{
    uint64_t aligned = align_up(base, ARCH_LARGE_PAGE);

    return aligned < base + bytes && base + bytes - aligned >= ARCH_LARGE_PAGE;
}

static uint64_t take_first_fit(struct page_pool *pool, uint64_t bytes, uint64_t alignment,
                               bool fragments_only)
{
    for (uint64_t *link = &pool->first; *link != PAGE_POOL_NONE; link = &extent_at(*link)->next) {
        uint64_t base = *link, extent_bytes = extent_at(base)->bytes;
        uint64_t address = align_up(base, alignment);

        if (fragments_only && extent_holds_large_page(base, extent_bytes))
            continue;
        if (address - base < extent_bytes && extent_bytes - (address - base) >= bytes) {
            extent_cut(pool, link, address, bytes);
            return address;
        }
    }
    return PAGE_POOL_NONE;
}

uint64_t page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment)
{
    uint64_t address = PAGE_POOL_NONE;

    if (bytes == 0 || bytes > pool->free_bytes)
        return PAGE_POOL_NONE;
    if (bytes < ARCH_LARGE_PAGE)
        address = take_first_fit(pool, bytes, alignment, true);
    if (address == PAGE_POOL_NONE)
        address = take_first_fit(pool, bytes, alignment, false);
    return address;
}

uint64_t page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got)
{
    for (uint64_t part = bytes; part >= ARCH_PAGE; part = part / 2 & ~(ARCH_PAGE - 1)) {
        uint64_t address = page_pool_allocate(pool, part, ARCH_PAGE);

        if (address != PAGE_POOL_NONE) {
            *got = part;
            return address;
        }
    }
    return PAGE_POOL_NONE;
}

void page_pool_free(struct page_pool *pool, uint64_t address, uint64_t bytes)
{
    uint64_t *link = &pool->first;
    uint64_t before = PAGE_POOL_NONE;

    if (bytes == 0)
        return;
    while (*link != PAGE_POOL_NONE && *link < address) {
        before = *link;
        link = &extent_at(before)->next;
    }

    uint64_t next = *link;
    struct free_extent extent = { .next = next, .bytes = bytes };

    if (next != PAGE_POOL_NONE && address + bytes == next) {
        extent.bytes += extent_at(next)->bytes;
        extent.next = extent_at(next)->next;
    }
    pool->free_bytes += bytes;
    if (before != PAGE_POOL_NONE && before + extent_at(before)->bytes == address) {
        extent_at(before)->bytes += extent.bytes;
        extent_at(before)->next = extent.next;
        return;
    }
    *extent_at(address) = extent;
    *link = address;
}
