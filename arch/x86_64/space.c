/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c: programs' address spaces on x86_64, besides what all architectures do alike (common/user_map.c).
 * The upper half of each root is the kernel's. [Intel SDM 3A §4.5, §4.10.4]
 */
#include "arch.h"
#include "arch/page_table.h"
#include "arch/setup.h"
#include "lib/elf_image.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define ROOT_USER_HALF (TABLE_ENTRIES / 2)

uint64_t rights_bits(unsigned rights)
{
    uint64_t bits = PTE_ATTACHED;

    if (rights == 0)
        return bits;
    /* Accessed and dirty are set here, so that the CPU never has to write them. */
    bits |= PTE_PRESENT | PTE_USER | PTE_ACCESSED | PTE_DIRTY;
    if (rights & RIGHT_WRITE)
        bits |= PTE_WRITE;
    if (!(rights & RIGHT_EXECUTE) && cpu_features.no_execute)
        bits |= PTE_NO_EXECUTE;
    return bits;
}

bool entry_allows(uint64_t entry, unsigned rights)
{
    const uint64_t needed = PTE_PRESENT | PTE_USER | (rights & RIGHT_WRITE ? PTE_WRITE : 0);

    return (entry & needed) == needed && !((rights & RIGHT_EXECUTE) && (entry & PTE_NO_EXECUTE));
}

int arch_space_create(struct arch_space *space, struct page_pool *pages)
{
    uint64_t table = page_pool_allocate_zeroed(pages);

    if (table == PAGE_POOL_NONE)
        return -ENOMEM;
    memcpy((uint64_t *)arch_physical(table) + ROOT_USER_HALF,
           (uint64_t *)arch_physical(kernel_root()) + ROOT_USER_HALF, ROOT_USER_HALF * sizeof(uint64_t));
    space->root = table;
    space->pages = pages;
    space->cpus = (struct cpu_mask){ 0 };
    return 0;
}

/* Loads the tables. The bit is set before they are used, and cleared after: a CPU without it has cached
 * nothing. */
void arch_space_activate(struct arch_space *space)
{
    cpu_mask_set_atomic(&space->cpus, arch_cpu_index());
    cpu_tables_set(space->root);
}

void arch_space_deactivate(struct arch_space *space)
{
    cpu_tables_set(kernel_root());
    cpu_mask_clear_atomic(&space->cpus, arch_cpu_index());
}

void space_flush_here(const struct arch_space *space)
{
    (void)space; /* this CPU's, or linked into that */
    cpu_tables_set(cpu_tables());
}

void space_flush_page_here(const struct arch_space *space, uint64_t address)
{
    (void)space;
    tlb_invalidate_page(address);
}
