/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c: programs' address spaces on ppc64, besides what all architectures do alike (common/user_map.c).
 *
 * The TLB knows translations by the number of an entry of the process table, which leads to a tree. Here each
 * CPU has a number of its own, whatever space it runs: arch_space_activate makes its entry lead to that
 * space, and drops what the CPU has cached under the number before. So no two spaces ever have one number, no
 * number is used up, and what a CPU may have cached of a space ends with its bit in the space's `cpus`.
 *
 * All of it is dropped on the CPU itself, by a crosscall (user_map.c), never by tlbie for others.
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

#define TLB_SETS 128 /* of POWER9 with radix tables; tlbiel for all of a process names one */

/* What tlbiel invalidates. */
enum { TRANSLATIONS = 0, TABLES = 1, ALL = 2 };

#define OF_PROCESS (1ULL << 10)

#define TLBIEL(what, source)                                                                 \
    __asm__ volatile(".machine push; .machine power9; tlbiel %0, %1, %2, 1, 1; .machine pop" \
                     :                                                                       \
                     : "r"(what), "r"((uint64_t)process_here() << 32), "i"(source)           \
                     : "memory")

_Static_assert(PROCESS_OF_CPU(ARCH_CPUS_MAX) <= PROCESSES_MAX, "each CPU has a number");

static unsigned process_here(void)
{
    return PROCESS_OF_CPU(arch_cpu_index());
}

/* Drops all that this CPU has cached of its own process: translations, tables on the way to them, the entry
 * of the process table. */
static void process_flush(void)
{
    __asm__ volatile("ptesync" : : : "memory");
    TLBIEL(OF_PROCESS, ALL);
    for (uint64_t set = 1; set < TLB_SETS; set++)
        TLBIEL(OF_PROCESS | set << 12, TRANSLATIONS);
    __asm__ volatile("ptesync; isync" : : : "memory");
}

void space_process_set(unsigned process)
{
    __asm__ volatile("mtspr 48, %0; isync" : : "r"((uint64_t)process) : "memory");
}

int arch_space_create(struct arch_space *space, struct page_pool *pages)
{
    const uint64_t root = page_pool_allocate_zeroed(pages);

    if (root == PAGE_POOL_NONE)
        return -ENOMEM;
    space->root = root;
    space->pages = pages;
    space->cpus = (struct cpu_mask){ 0 };
    return 0;
}

void arch_space_activate(struct arch_space *space)
{
    cpu_mask_set_atomic(&space->cpus, arch_cpu_index());
    process_table_set(process_here(), space->root);
    process_flush();
    space_process_set(process_here());
}

void arch_space_deactivate(struct arch_space *space)
{
    space_process_set(PROCESS_NONE);
    cpu_mask_clear_atomic(&space->cpus, arch_cpu_index());
}

void space_flush_here(const struct arch_space *space)
{
    (void)space; /* this CPU's, or linked into that */
    process_flush();
}

/* Drops what is cached of a page, of whichever size it was. */
void space_flush_page_here(const struct arch_space *space, uint64_t address)
{
    static const uint64_t sizes[] = { 5 << 5, 1 << 5, 2 << 5 }; /* 64 KiB, 2 MiB, 1 GiB */

    (void)space;
    __asm__ volatile("ptesync" : : : "memory");
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        TLBIEL((address & ~(ARCH_PAGE - 1)) | sizes[i], TRANSLATIONS);
    TLBIEL(OF_PROCESS, TABLES);
    __asm__ volatile("ptesync; isync" : : : "memory");
}

/* Does nothing. Called when a page is split. A CPU that has the large page's translation uses that, with the
 * same memory and rights, until a change of these drops it, by address (space_flush_page_here: of any size);
 * a CPU that does not have it finds the table. So none comes to have both. */
void tlb_invalidate_page(uint64_t address)
{
    (void)address;
}
