/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_table.c: what the kernel's map and the programs' have in common (arch/page_table.h). [Intel SDM 3A
 * §4.5]
 *
 * Pure C over arch_physical(), so that the host tests run it on an arena. Flushes nothing: who changes an
 * entry that the CPU may know flushes it.
 */
#include "arch.h"
#include "arch/page_table.h"

uint64_t table_take(struct page_pool *pages)
{
    uint64_t table = page_pool_allocate(pages, ARCH_PAGE, ARCH_PAGE);

    if (table != PAGE_POOL_NONE)
        arch_zero(arch_physical(table), ARCH_PAGE);
    return table;
}

void entry_split(uint64_t *entry, int level, uint64_t table, uint64_t table_bits)
{
    uint64_t large = level == 1 ? *entry & ~PTE_LARGE : *entry;
    uint64_t *below = arch_physical(table);

    for (uint64_t i = 0; i < TABLE_ENTRIES; i++)
        below[i] = large + i * level_bytes(level - 1);
    *entry = table | table_bits;
}

uint64_t *entry_reach(uint64_t table, uint64_t address, int level, uint64_t table_bits,
                      struct page_pool *pages)
{
    uint64_t *entry = (uint64_t *)arch_physical(table) + level_index(address, LEVEL_ROOT);

    for (int above = LEVEL_ROOT; above > level; above--) {
        if (*entry == 0) {
            uint64_t below = table_take(pages);

            if (below == PAGE_POOL_NONE)
                return NULL;
            *entry = below | table_bits;
        }
        if (!entry_is_table(*entry, above))
            return NULL;
        entry = entry_table(*entry) + level_index(address, above - 1);
    }
    return entry;
}
