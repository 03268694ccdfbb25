/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_pool.c: see page_pool.h. Needs little of the architecture (arch_physical(), arch_zero(), page sizes),
 * so that the host tests run it on an arena.
 */
#include "mm/page_pool.h"
#include "lib/kstring.h"
#include "lib/list.h"

/* Kinds of room in an extent: for a request that begins on a bound of a page, a large page, a huge page.
 * Last, the room of a fragment: an extent that holds no aligned large page. */
enum room { ROOM_PAGE, ROOM_LARGE, ROOM_HUGE, ROOM_FRAGMENT, ROOMS };

/* Stored at the beginning of each free extent. Its key is its physical address. */
struct free_extent {
    struct avl_node node;
    uint64_t bytes;
    uint64_t rooms[ROOMS]; /* the largest of the subtree */
};

static uint64_t room_from(const struct free_extent *extent, uint64_t bound)
{
    uint64_t skipped = align_up(extent->node.key, bound) - extent->node.key;

    return skipped < extent->bytes ? extent->bytes - skipped : 0;
}

static void extent_rooms(const struct free_extent *extent, uint64_t rooms[ROOMS])
{
    rooms[ROOM_PAGE] = rooms[ROOM_FRAGMENT] = extent->bytes;
    rooms[ROOM_LARGE] = rooms[ROOM_HUGE] = 0;
    if (extent->bytes < ARCH_LARGE_PAGE)
        return;
    rooms[ROOM_LARGE] = room_from(extent, ARCH_LARGE_PAGE);
    rooms[ROOM_HUGE] = room_from(extent, ARCH_HUGE_PAGE);
    if (rooms[ROOM_LARGE] >= ARCH_LARGE_PAGE)
        rooms[ROOM_FRAGMENT] = 0;
}

static uint64_t extent_room(const struct free_extent *extent, enum room room)
{
    uint64_t rooms[ROOMS];

    extent_rooms(extent, rooms);
    return rooms[room];
}

static bool extent_summarise(struct avl_node *node)
{
    struct free_extent *extent = (struct free_extent *)node;
    uint64_t rooms[ROOMS], changed = 0;

    extent_rooms(extent, rooms);
    for (unsigned side = 0; side < 2; side++) {
        const struct free_extent *child = (struct free_extent *)node->child[side];

        for (unsigned room = 0; child && room < ROOMS; room++)
            if (child->rooms[room] > rooms[room])
                rooms[room] = child->rooms[room];
    }
    for (unsigned room = 0; room < ROOMS; room++) {
        changed |= rooms[room] ^ extent->rooms[room];
        extent->rooms[room] = rooms[room];
    }
    return changed;
}

static uint64_t pool_room(const struct page_pool *pool, enum room room)
{
    return pool->extents ? ((struct free_extent *)pool->extents)->rooms[room] : 0;
}

/* Returns the lowest extent with such room; there must be one. */
static struct free_extent *extent_choose(const struct page_pool *pool, uint64_t bytes, enum room room)
{
    struct avl_node *node = pool->extents;

    for (;;) {
        struct free_extent *extent = (struct free_extent *)node;
        const struct free_extent *lower = (struct free_extent *)node->child[0];

        if (lower && lower->rooms[room] >= bytes)
            node = node->child[0];
        else if (extent_room(extent, room) >= bytes)
            return extent;
        else
            node = node->child[1];
    }
}

static void extent_add(struct page_pool *pool, uint64_t address, uint64_t bytes)
{
    struct free_extent *extent = arch_physical(address);

    extent->node.key = address;
    extent->bytes = bytes;
    avl_insert(&pool->extents, &extent->node, extent_summarise);
}

/* Moves the bounds of an extent. No other extent lies between the old ones and the new ones. */
static void extent_change(struct page_pool *pool, struct free_extent *extent, uint64_t address,
                          uint64_t bytes)
{
    struct free_extent *moved = arch_physical(address);

    if (moved != extent)
        *moved = *extent;
    moved->node.key = address;
    moved->bytes = bytes;
    avl_replace(&pool->extents, &extent->node, &moved->node, extent_summarise);
}

/* Adds free memory, coalesced with the extents that it adjoins. */
static void range_add(struct page_pool *pool, uint64_t address, uint64_t bytes)
{
    struct free_extent *below, *above;

    avl_neighbours(pool->extents, address, &below, &above);
    SELF_CHECK(!below || below->node.key + below->bytes <= address);
    SELF_CHECK(!above || above->node.key >= address + bytes);
    if (below && below->node.key + below->bytes != address)
        below = NULL;
    if (above && above->node.key != address + bytes)
        above = NULL;
    if (above) {
        bytes += above->bytes;
        if (!below) {
            extent_change(pool, above, address, bytes);
            return;
        }
        avl_remove(&pool->extents, &above->node, extent_summarise);
    }
    if (below)
        extent_change(pool, below, below->node.key, below->bytes + bytes);
    else
        extent_add(pool, address, bytes);
}

/* Turns the zeroed pages into extents, for a request that has no room without them. */
static void zeroed_drain(struct page_pool *pool)
{
    while (pool->zeroed_count)
        range_add(pool, pool->zeroed[--pool->zeroed_count], ARCH_PAGE);
}

void page_pool_initialise(struct page_pool *pool, const struct memory_range *extents, unsigned count)
{
    *pool = (struct page_pool){ .extents = NULL };
    for (unsigned i = 0; i < count; i++)
        page_pool_free(pool, extents[i].base, extents[i].bytes);
    pool->total_bytes = pool->free_bytes_min = pool->free_bytes;
}

/* Takes [address, address + bytes) out of an extent. */
static void extent_cut(struct page_pool *pool, struct free_extent *extent, uint64_t address, uint64_t bytes)
{
    uint64_t base = extent->node.key, end = base + extent->bytes, after = address + bytes;

    if (address > base) {
        extent_change(pool, extent, base, address - base);
        if (after < end)
            extent_add(pool, after, end - after);
    } else if (after < end) {
        extent_change(pool, extent, after, end - after);
    } else {
        avl_remove(&pool->extents, &extent->node, extent_summarise);
    }
}

/* Returns how many bytes this CPU may allocate: not those that another CPU has reserved. */
static uint64_t available_bytes(const struct page_pool *pool)
{
    if (pool->reserved_bytes == 0 || pool->reserving_cpu == arch_cpu_index())
        return pool->free_bytes;
    return pool->free_bytes > pool->reserved_bytes ? pool->free_bytes - pool->reserved_bytes : 0;
}

static void allocated_count(struct page_pool *pool, uint64_t bytes)
{
    pool->free_bytes -= bytes;
    pool->free_bytes_min = smaller(pool->free_bytes_min, pool->free_bytes);
    if (pool->reserved_bytes && pool->reserving_cpu == arch_cpu_index())
        pool->reserved_bytes -= smaller(bytes, pool->reserved_bytes);
}

/* Allocates, under the lock, what there is room for. For less than a large page fragments come first. */
static uint64_t room_allocate(struct page_pool *pool, uint64_t bytes, enum room room)
{
    if (room == ROOM_PAGE && bytes < ARCH_LARGE_PAGE && pool_room(pool, ROOM_FRAGMENT) >= bytes)
        room = ROOM_FRAGMENT;

    struct free_extent *extent = extent_choose(pool, bytes, room);
    uint64_t address = extent->node.key + extent->bytes - extent_room(extent, room);

    extent_cut(pool, extent, address, bytes);
    allocated_count(pool, bytes);
    return address;
}

/* Returns the kind of room that a request with that alignment needs. */
static enum room room_for(uint64_t alignment)
{
    if (alignment == ARCH_PAGE)
        return ROOM_PAGE;
    return alignment == ARCH_LARGE_PAGE ? ROOM_LARGE : ROOM_HUGE;
}

uint64_t page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment)
{
    const enum room room = room_for(alignment);

    SPIN_GUARD(&pool->lock);
    if (bytes > pool_room(pool, room))
        zeroed_drain(pool);
    if (bytes == 0 || bytes > available_bytes(pool) || bytes > pool_room(pool, room))
        return PAGE_POOL_NONE;
    return room_allocate(pool, bytes, room);
}

uint64_t page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got)
{
    SPIN_GUARD(&pool->lock);
    if (bytes > pool_room(pool, ROOM_PAGE))
        zeroed_drain(pool);
    *got = smaller(bytes, smaller(available_bytes(pool), pool_room(pool, ROOM_PAGE)));
    return *got ? room_allocate(pool, *got, ROOM_PAGE) : PAGE_POOL_NONE;
}

/* Takes one of the pages that are kept zeroed; PAGE_POOL_NONE if there is none. */
static uint64_t zeroed_take(struct page_pool *pool)
{
    SPIN_GUARD(&pool->lock);
    if (pool->zeroed_count == 0 || available_bytes(pool) < ARCH_PAGE)
        return PAGE_POOL_NONE;
    allocated_count(pool, ARCH_PAGE);
    return pool->zeroed[--pool->zeroed_count];
}

uint64_t page_pool_allocate_zeroed(struct page_pool *pool)
{
    uint64_t page = zeroed_take(pool);

    if (page != PAGE_POOL_NONE)
        return page;
    page = page_pool_allocate(pool, ARCH_PAGE, ARCH_PAGE);
    if (page != PAGE_POOL_NONE)
        arch_zero(arch_physical(page), ARCH_PAGE);
    return page;
}

void *page_pool_take(struct page_pool *pool, uint64_t bytes)
{
    uint64_t memory = page_pool_allocate(pool, page_up(bytes), ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        return NULL;
    arch_zero(arch_physical(memory), page_up(bytes));
    return arch_physical(memory);
}

void page_pool_free(struct page_pool *pool, uint64_t address, uint64_t bytes)
{
    if (bytes == 0)
        return;
#ifdef LOCKCHECK /* shows a use after free */
    memset(arch_physical(address), 0xdb, bytes);
#endif
    SPIN_GUARD(&pool->lock);
    pool->free_bytes += bytes;
    range_add(pool, address, bytes);
}

void page_pool_free_zeroed(struct page_pool *pool, uint64_t page)
{
    SPIN_GUARD(&pool->lock);
    pool->free_bytes += ARCH_PAGE;
    if (pool->zeroed_count < PAGE_POOL_ZEROED)
        pool->zeroed[pool->zeroed_count++] = page;
    else
        range_add(pool, page, ARCH_PAGE);
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
