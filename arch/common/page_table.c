/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_table.c: what the kernel's map and the programs' have in common (arch/page_table.h).
 *
 * Portable C over arch_physical(), so that the host tests run it on an arena. The callers do TLB shootdowns.
 */
#include "arch.h"
#include "arch/cpu.h"
#include "arch/page_table.h"
#include "lib/errno.h"

struct leaf leaf_find(uint64_t root, uint64_t address)
{
    struct leaf leaf = { (uint64_t *)arch_physical(root) + level_index(address, LEVEL_ROOT), 0, LEVEL_ROOT };

    for (;;) {
        leaf.value = entry_get(leaf.entry);
        if (!entry_is_table(leaf.value, leaf.level))
            return leaf;
        leaf.level--;
        leaf.entry = entry_table(leaf.value) + level_index(address, leaf.level);
    }
}

int page_level(uint64_t address, uint64_t physical, uint64_t bytes)
{
    int level = 0;

    while (level < LEVEL_HUGE && bytes >= level_bytes(level + 1) &&
           !((address | physical) & (level_bytes(level + 1) - 1)))
        level++;
    return level == LEVEL_HUGE && !arch_huge_pages() ? LEVEL_HUGE - 1 : level;
}

uint64_t *entry_create(uint64_t root, uint64_t address, int level, uint64_t table_bits,
                       struct page_pool *pages)
{
    uint64_t *entry = (uint64_t *)arch_physical(root) + level_index(address, LEVEL_ROOT);

    for (int above = LEVEL_ROOT; above > level; above--) {
        if (entry_get(entry) == 0) {
            uint64_t table = table_allocate(pages, above - 1);

            if (table == PAGE_POOL_NONE)
                return NULL;
            entry_set(entry, table_entry(table, above - 1, table_bits));
        }
        if (!entry_is_table(entry_get(entry), above))
            return NULL;
        entry = entry_table(entry_get(entry)) + level_index(address, above - 1);
    }
    return entry;
}

int page_split(uint64_t root, uint64_t address, uint64_t table_bits, struct page_pool *pages)
{
    for (;;) {
        struct leaf leaf = leaf_find(root, address);

        if (leaf.value == 0 || (address & (level_bytes(leaf.level) - 1)) == 0)
            return 0;

        const int level = leaf.level - 1;
        const uint64_t table = table_allocate_to_fill(pages, level);
        if (table == PAGE_POOL_NONE)
            return -ENOMEM;

        const uint64_t page = leaf_entry(leaf_address(leaf.value, leaf.level), level, leaf_bits(leaf.value));
        for (uint64_t i = 0; i < table_entries(level); i++)
            entry_set((uint64_t *)arch_physical(table) + i, page + i * level_bytes(level));
        entry_set(leaf.entry, table_entry(table, level, table_bits));
        tlb_invalidate_page(address);
    }
}
