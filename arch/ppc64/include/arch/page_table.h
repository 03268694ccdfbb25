/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/page_table.h: the radix tree of POWER9 for 52 bits of address [Power ISA 3.0B III §5.7.10], shared by
 * the kernel's map (kernel_map.c) and the programs' (common/user_map.c). Entries are big-endian. A table has
 * eight bytes an entry, and lies at a multiple of its size:
 *
 *      level  bits  an entry spans  bytes
 *      3      13    512 GiB         64 KiB
 *      2       9    1 GiB            4 KiB
 *      1       9    2 MiB            4 KiB
 *      0       5    64 KiB         256
 */
#ifndef ARCH_PAGE_TABLE_H
#define ARCH_PAGE_TABLE_H

#include "arch.h"
#include "arch/platform.h"
#include "mm/page_pool.h"

#define PTE_PRESENT    (1ULL << 63)
#define PTE_LEAF       (1ULL << 62)
#define PTE_REFERENCED 0x100ULL
#define PTE_CHANGED    0x080ULL
#define PTE_DEVICE     0x020ULL /* not idempotent: caching inhibited, guarded */
#define PTE_PRIVILEGED 0x008ULL
#define PTE_READ       0x004ULL
#define PTE_WRITE      0x002ULL
#define PTE_EXECUTE    0x001ULL
/* Two bits that the CPU ignores. Attached: holds memory, although it is not present if the program has no
 * right to it. Unlinked: led to a table that is to be freed after the TLB shootdown; not present any more. */
#define PTE_ATTACHED 0x200ULL
#define PTE_UNLINKED (1ULL << 61)
#define PTE_ADDRESS  0x00ffffffffffff00ULL /* a table's address; a page's, without the bits below 4 KiB */
#define PTE_PAGE     0x00fffffffffff000ULL

#define LEVEL_ROOT 3
#define LEVEL_HUGE 2

static inline unsigned level_bits(int level)
{
    if (level == LEVEL_ROOT)
        return 13;
    return level == 0 ? 5 : 9;
}

static inline uint64_t table_entries(int level)
{
    return 1ULL << level_bits(level);
}

static inline unsigned level_shift(int level)
{
    return level == 0 ? 16 : 12 + 9 * (unsigned)level;
}

static inline uint64_t level_bytes(int level)
{
    return 1ULL << level_shift(level);
}

static inline unsigned level_index(uint64_t address, int level)
{
    return (unsigned)(address >> level_shift(level)) & (unsigned)(table_entries(level) - 1);
}

static inline uint64_t entry_get(const uint64_t *entry)
{
    return __builtin_bswap64(__atomic_load_n(entry, __ATOMIC_RELAXED));
}

/* Stores an entry. The CPU sees what a new table has before the entry that leads there. */
static inline void entry_set(uint64_t *entry, uint64_t value)
{
    __atomic_store_n(entry, __builtin_bswap64(value), __ATOMIC_RELEASE);
    __asm__ volatile("ptesync" : : : "memory");
}

/* Allocates a table of zeros, or PAGE_POOL_NONE. table_free takes it back, all zeros again. Small ones share
 * pages; table_pages.c. */
uint64_t table_allocate(struct page_pool *pages, int level);
void table_free(struct page_pool *pages, uint64_t table, int level);

static inline uint64_t table_allocate_to_fill(struct page_pool *pages, int level)
{
    return table_allocate(pages, level);
}

static inline uint64_t table_entry(uint64_t table, int level, uint64_t table_bits)
{
    return PTE_PRESENT | table | level_bits(level) | table_bits;
}

static inline uint64_t leaf_entry(uint64_t physical, int level, uint64_t bits)
{
    (void)level;
    return PTE_LEAF | physical | bits;
}

static inline uint64_t leaf_bits(uint64_t entry)
{
    return entry & ~PTE_PAGE & ~PTE_LEAF;
}

static inline uint64_t leaf_address(uint64_t entry, int level)
{
    return entry & PTE_PAGE & ~(level_bytes(level) - 1);
}

static inline uint64_t *entry_table(uint64_t entry)
{
    return arch_physical(entry & PTE_ADDRESS);
}

static inline bool entry_is_table(uint64_t entry, int level)
{
    return level > 0 && (entry & PTE_PRESENT) && !(entry & PTE_LEAF);
}

/* ---- Programs' spaces, for common/user_map.c ---- */

#define USER_TABLE_BITS 0

static inline bool entry_revokes(uint64_t old, uint64_t after)
{
    return (old & ~after) & (PTE_PRESENT | PTE_READ | PTE_WRITE | PTE_EXECUTE);
}

void tlb_invalidate_page(uint64_t address);

#include "arch/common/page_table.h"

#endif
