/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c: programs' address spaces on ppc64, beside what all architectures do alike (common/user_map.c).
 * Each has an entry of the process table, by whose number the TLB knows its translations.
 */
#include "arch.h"
#include "arch/page_table.h"
#include "arch/setup.h"
#include "lib/elf_image.h"
#include "lib/errno.h"

uint64_t rights_bits(unsigned rights)
{
    uint64_t bits = PTE_ATTACHED;

    if (rights == 0)
        return bits;
    /* Referenced and changed are set here, so that the CPU never has to. */
    bits |= PTE_PRESENT | PTE_REFERENCED | PTE_CHANGED | PTE_READ;
    if (rights & RIGHT_WRITE)
        bits |= PTE_WRITE;
    if (rights & RIGHT_EXECUTE)
        bits |= PTE_EXECUTE;
    return bits;
}

bool entry_allows(uint64_t entry, unsigned rights)
{
    const uint64_t needed =
        PTE_PRESENT | (rights & RIGHT_WRITE ? PTE_WRITE : 0) | (rights & RIGHT_EXECUTE ? PTE_EXECUTE : 0);

    return (entry & needed) == needed;
}

/* All that this CPU has cached of a process: translations and tables on the way to them. */
static void process_flush(unsigned process)
{
    const uint64_t source = (uint64_t)process << 32, of_process = 1 << 10;

    __asm__ volatile(
        "ptesync; .machine push; .machine power9; tlbiel %0, %1, 2, 1, 1; .machine pop; ptesync; isync"
        :
        : "r"(of_process), "r"(source)
        : "memory");
}

void space_process_set(unsigned process)
{
    __asm__ volatile("mtspr 48, %0; isync" : : "r"((uint64_t)process) : "memory");
}

int arch_space_create(struct arch_space *space, struct page_pool *pages)
{
    static unsigned last = PROCESS_NONE;
    const uint64_t root = page_pool_allocate_zeroed(pages);

    if (root == PAGE_POOL_NONE)
        return -ENOMEM;
    unsigned number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) % (PROCESSES_MAX - 2) + 2;
    space->root = root;
    space->pages = pages;
    space->cpus = (struct cpu_mask){ 0 };
    space->number = number;
    process_table_set(number, root);
    process_flush(number);
    return 0;
}

void arch_space_activate(struct arch_space *space)
{
    cpu_mask_set_atomic(&space->cpus, arch_cpu_index());
    space_process_set(space->number);
}

void arch_space_deactivate(struct arch_space *space)
{
    space_process_set(PROCESS_NONE);
    cpu_mask_clear_atomic(&space->cpus, arch_cpu_index());
}

void space_flush_here(const struct arch_space *space)
{
    process_flush(space->number);
}

void space_flush_page_here(const struct arch_space *space, uint64_t address)
{
    (void)address; /* of whichever size its page was */
    process_flush(space->number);
}

void tlb_invalidate_page(uint64_t address)
{
    (void)address; /* of the program's, which splits one of its pages: what is cached stays true */
}
