/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_pool.c: see page_pool.h. Over arch_physical() and the page sizes alone, so that the host tests run it
 * on an arena.
 */
#include "mm/page_pool.h"
#include "arch/platform.h"
#include "mm/page.h"

/* What stands at the beginning of each free extent. */
struct free_extent {
    uint64_t next; /* physical, or PAGE_POOL_NONE */
    uint64_t bytes;
};

static struct free_extent *extent_at(uint64_t address)
{
    return arch_physical(address);
}

void page_pool_initialise(struct page_pool *pool, const struct memory_range *extents, unsigned count)
{
    *pool = (struct page_pool){ .first = PAGE_POOL_NONE };
    for (unsigned i = 0; i < count; i++)
        page_pool_free(pool, extents[i].base, extents[i].bytes);
    pool->total_bytes = pool->free_bytes;
}

/* Takes [address, address + bytes) out of the extent at *link. */
static void extent_cut(struct page_pool *pool, uint64_t *link, uint64_t address, uint64_t bytes)
{
    uint64_t base = *link;
    struct free_extent extent = *extent_at(base);
    uint64_t after = address + bytes;
    uint64_t next = extent.next;

    if (after < base + extent.bytes) {
        *extent_at(after) = (struct free_extent){ .next = next, .bytes = base + extent.bytes - after };
        next = after;
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

/* The link to the extent to allocate from: the first that fits, but for less than a large page the first
 * fragment that fits, where there is one. NULL where none fits. */
static uint64_t *extent_choose(struct page_pool *pool, uint64_t bytes, uint64_t alignment)
{
    uint64_t *chosen = NULL;

    for (uint64_t *link = &pool->first; *link != PAGE_POOL_NONE; link = &extent_at(*link)->next) {
        uint64_t base = *link, extent_bytes = extent_at(base)->bytes;
        uint64_t skipped = align_up(base, alignment) - base;

        if (skipped >= extent_bytes || extent_bytes - skipped < bytes)
            continue;
        if (bytes >= ARCH_LARGE_PAGE || !extent_holds_large_page(base, extent_bytes))
            return link;
        if (!chosen)
            chosen = link;
    }
    return chosen;
}

/* Bytes that this CPU may allocate: not those that another one has reserved. */
static uint64_t available_bytes(const struct page_pool *pool)
{
    if (pool->reserved_bytes == 0 || pool->reserving_cpu == arch_cpu_index())
        return pool->free_bytes;
    return pool->free_bytes > pool->reserved_bytes ? pool->free_bytes - pool->reserved_bytes : 0;
}

uint64_t page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment)
{
    SPIN_GUARD(&pool->lock);
    if (bytes == 0 || bytes > available_bytes(pool))
        return PAGE_POOL_NONE;

    uint64_t *link = extent_choose(pool, bytes, alignment);
    if (!link)
        return PAGE_POOL_NONE;

    uint64_t address = align_up(*link, alignment);
    extent_cut(pool, link, address, bytes);
    if (pool->reserved_bytes && pool->reserving_cpu == arch_cpu_index())
        pool->reserved_bytes -= smaller(bytes, pool->reserved_bytes);
    return address;
}

uint64_t page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got)
{
    for (uint64_t part = bytes; part >= ARCH_PAGE; part = page_down(part / 2)) {
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
    if (bytes == 0)
        return;

    SPIN_GUARD(&pool->lock);
    struct free_extent *extent = extent_at(address), *below = NULL;
    uint64_t *link = &pool->first;

    while (*link < address) { /* PAGE_POOL_NONE is above all addresses */
        below = extent_at(*link);
        link = &below->next;
    }
    *extent = (struct free_extent){ .next = *link, .bytes = bytes };
    if (address + bytes == *link) {
        extent->bytes += extent_at(*link)->bytes;
        extent->next = extent_at(*link)->next;
    }
    pool->free_bytes += bytes;
    if (below && (char *)below + below->bytes == (char *)extent) {
        below->bytes += extent->bytes;
        below->next = extent->next;
    } else {
        *link = address;
    }
}

bool page_pool_reserve(struct page_pool *pool, uint64_t bytes, uint64_t freed_first)
{
    SPIN_GUARD(&pool->lock);
    bool enough = bytes <= pool->free_bytes + freed_first;
    pool->reserved_bytes = enough ? bytes : 0;
    pool->reserving_cpu = arch_cpu_index();
    return enough;
}

void page_pool_unreserve(struct page_pool *pool)
{
    SPIN_GUARD(&pool->lock);
    pool->reserved_bytes = 0;
}
