/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/page_table.h: the four-level page tables of x86_64 [Intel SDM 3A §4.5], shared by the kernel's map
 * (kernel_map.c) and the programs' (user_map.c).
 */
#ifndef ARCH_PAGE_TABLE_H
#define ARCH_PAGE_TABLE_H

#include "arch/platform.h"
#include "mm/page_pool.h"

#define PTE_PRESENT       (1ULL << 0)
#define PTE_WRITE         (1ULL << 1)
#define PTE_USER          (1ULL << 2)
#define PTE_WRITE_THROUGH (1ULL << 3)
#define PTE_CACHE_DISABLE (1ULL << 4)
#define PTE_ACCESSED      (1ULL << 5)
#define PTE_DIRTY         (1ULL << 6)
#define PTE_LARGE         (1ULL << 7)
#define PTE_GLOBAL        (1ULL << 8)
/* A slot of the PAT alone (cpu.c); on a CPU without one, write-through. */
#define PTE_WRITE_COMBINING PTE_WRITE_THROUGH
/* Two bits that the CPU ignores. Attached: holds memory, although it is not present if the program has no
 * right to it. Unlinked: led to a table that is to be freed after the TLB shootdown; not present any more. */
#define PTE_ATTACHED (1ULL << 9)
#define PTE_UNLINKED (1ULL << 10)
/* Of the kernel's map, ignored as well: a table that split a page for arch_guard_page. */
#define PTE_OF_GUARD   (1ULL << 11)
#define PTE_NO_EXECUTE (1ULL << 63)
#define PTE_ADDRESS    0x000ffffffffff000ULL

#define TABLE_ENTRIES 512
#define LEVEL_ROOT    3 /* an entry spans 512 GiB; level 2: 1 GiB; 1: 2 MiB; 0: 4 KiB */
#define LEVEL_HUGE    2 /* the level of ARCH_HUGE_PAGE, if the CPU has such pages */

static inline uint64_t table_entries(int level)
{
    (void)level;
    return TABLE_ENTRIES;
}

static inline uint64_t level_bytes(int level)
{
    return ARCH_PAGE << (9 * level);
}

static inline unsigned level_index(uint64_t address, int level)
{
    return address >> (12 + 9 * level) & (TABLE_ENTRIES - 1);
}

static inline uint64_t *entry_table(uint64_t entry)
{
    return arch_physical(entry & PTE_ADDRESS);
}

/* Reads an entry, in one piece, as entry_set writes it: other CPUs may do so meanwhile. */
static inline uint64_t entry_get(const uint64_t *entry)
{
    return __atomic_load_n(entry, __ATOMIC_RELAXED);
}

static inline void entry_set(uint64_t *entry, uint64_t value)
{
    __atomic_store_n(entry, value, __ATOMIC_RELAXED);
}

/* Allocates a table, which takes a page. The second function is for a caller that writes all entries. */
static inline uint64_t table_allocate(struct page_pool *pages, int level)
{
    (void)level;
    return page_pool_allocate_zeroed(pages);
}

static inline uint64_t table_allocate_to_fill(struct page_pool *pages, int level)
{
    (void)level;
    return page_pool_allocate(pages, ARCH_PAGE, ARCH_PAGE);
}

static inline void table_free(struct page_pool *pages, uint64_t table, int level)
{
    (void)level;
    page_pool_free_zeroed(pages, table);
}

static inline uint64_t table_entry(uint64_t table, int level, uint64_t table_bits)
{
    (void)level;
    return table | table_bits;
}

/* Makes a page's entry, of its memory and the bits of its rights. */
static inline uint64_t leaf_entry(uint64_t physical, int level, uint64_t bits)
{
    return physical | bits | (level > 0 ? PTE_LARGE : 0);
}

static inline uint64_t leaf_bits(uint64_t entry)
{
    return entry & ~PTE_ADDRESS & ~PTE_LARGE;
}

static inline uint64_t leaf_address(uint64_t entry, int level)
{
    return entry & PTE_ADDRESS & ~(level_bytes(level) - 1);
}

/* Returns whether an entry leads to a table one level down. */
static inline bool entry_is_table(uint64_t entry, int level)
{
    return level > 0 && (entry & PTE_PRESENT) && !(entry & PTE_LARGE);
}

/* ---- Programs' spaces, for common/user_map.c ---- */

#define USER_TABLE_BITS (PTE_PRESENT | PTE_WRITE | PTE_USER)

/* Returns whether replacing one entry by another takes rights away. */
static inline bool entry_revokes(uint64_t old, uint64_t after)
{
    return ((old & ~after) & (PTE_PRESENT | PTE_WRITE)) || (~old & after & PTE_NO_EXECUTE);
}

/* Returns the kernel's root table, whose upper half every program's root shares. */
uint64_t kernel_root(void);

#include "arch/common/page_table.h"

#endif
