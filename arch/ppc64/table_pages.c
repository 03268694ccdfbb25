/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_pages.c: page tables that are smaller than a page. Those of one size share pages: what a page begins
 * with says which of its parts are free, and the pages of a pool that have free parts form a list, from the
 * pool on. So a table is given out and comes back in a time that does not depend on how many there are, and a
 * page goes back to the pool with the last of its tables.
 *
 * Any CPU, at any time, with any lock held: the lists are under their pool's own lock, which is a leaf.
 */
#include "arch.h"
#include "arch/page_table.h"
#include "mm/page_pool.h"
#include "smp/spinlock.h"

#define PARTS_MAX 256

/* At the beginning of a page, in place of its first part. Addresses are physical; 0: none. */
struct table_page {
    uint64_t next, previous; /* in the list, while there are free parts */
    uint64_t free[PARTS_MAX / 64];
    uint64_t free_count;
};

_Static_assert(sizeof(struct table_page) <= ARCH_PAGE / PARTS_MAX, "struct table_page fits into one part");

static struct table_page *page_at(uint64_t page)
{
    return arch_physical(page);
}

static uint64_t table_bytes(int level)
{
    return table_entries(level) * sizeof(uint64_t);
}

static uint64_t *list_of(struct page_pool *pages, int level)
{
    return &pages->shared[level == 0];
}

static void list_insert(uint64_t *list, uint64_t page)
{
    page_at(page)->previous = 0;
    page_at(page)->next = *list;
    if (*list)
        page_at(*list)->previous = page;
    *list = page;
}

static void list_remove_page(uint64_t *list, uint64_t page)
{
    const struct table_page *removed = page_at(page);

    if (removed->previous)
        page_at(removed->previous)->next = removed->next;
    else
        *list = removed->next;
    if (removed->next)
        page_at(removed->next)->previous = removed->previous;
}

/* Takes a free part of the list's first page, which has one. */
static uint64_t part_take(uint64_t *list, uint64_t bytes)
{
    const uint64_t page = *list;
    struct table_page *first = page_at(page);
    unsigned word = 0;

    while (first->free[word] == 0)
        word++;
    const unsigned bit = (unsigned)__builtin_ctzll(first->free[word]);
    first->free[word] &= first->free[word] - 1;
    if (--first->free_count == 0)
        list_remove_page(list, page);
    return page + (word * 64 + bit) * bytes;
}

/* Makes all parts of a page but the first free. */
static void page_prepare(uint64_t page, uint64_t bytes)
{
    struct table_page *new = page_at(page);
    const unsigned parts = (unsigned)(ARCH_PAGE / bytes);

    for (unsigned part = 1; part < parts; part++)
        new->free[part / 64] |= 1ULL << part % 64;
    new->free_count = parts - 1;
}

uint64_t table_allocate(struct page_pool *pages, int level)
{
    const uint64_t bytes = table_bytes(level);
    uint64_t *list = list_of(pages, level), table = PAGE_POOL_NONE;

    if (bytes == ARCH_PAGE)
        return page_pool_allocate_zeroed(pages);
    spin_lock(&pages->lock);
    if (*list)
        table = part_take(list, bytes);
    spin_unlock(&pages->lock);
    if (table != PAGE_POOL_NONE)
        return table;

    const uint64_t page = page_pool_allocate_zeroed(pages);
    if (page == PAGE_POOL_NONE)
        return PAGE_POOL_NONE;
    page_prepare(page, bytes);
    SPIN_GUARD(&pages->lock);
    list_insert(list, page);
    return part_take(list, bytes);
}

void table_free(struct page_pool *pages, uint64_t table, int level)
{
    const uint64_t bytes = table_bytes(level), page = table & ~(ARCH_PAGE - 1);
    const unsigned part = (unsigned)((table - page) / bytes);
    struct table_page *of = page_at(page);

    if (bytes < ARCH_PAGE) {
        SPIN_GUARD(&pages->lock);
        of->free[part / 64] |= 1ULL << part % 64;
        if (of->free_count++ == 0)
            list_insert(list_of(pages, level), page);
        if (of->free_count < ARCH_PAGE / bytes - 1)
            return;
        list_remove_page(list_of(pages, level), page);
        *of = (struct table_page){ 0 };
    }
    page_pool_free_zeroed(pages, page);
}
