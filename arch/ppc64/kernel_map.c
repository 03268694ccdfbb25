/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_map.c: the kernel's half of every address space: quadrant 3, which goes by the table of process 0.
 *
 *     0xc000000000000000  direct map: usable memory, which boot modules are a part of, writable and never
 *                         executable; in it the image: text R-X, constants R--, data RW-; the vectors, R-X
 *     0xc008000000000000  device window: registers, uncached
 *
 * Nothing is both writable and executable. Built once at boot from the kernel's pool; only arch_device_map
 * and arch_guard_page change it later.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/page_table.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "debug/stop.h"
#include "lib/boot_info.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include "smp/spinlock.h"

extern uint8_t image_start[], image_text_end[], image_rodata_end[], image_end[];

#define VECTORS_BYTES ARCH_PAGE

#define KERNEL_BITS (PTE_REFERENCED | PTE_CHANGED | PTE_PRIVILEGED | PTE_READ)

/* Of an entry of the process table: the size of the tree, 52 bits, and of its root. */
#define TREE_52_BITS (2ULL << 61 | 5ULL << 5)

#define PROCESS_TABLE_NEW_RADIX_GTSE 0x1d
#define PROCESS_TABLE_BITS           16

static uint64_t root, process_table;
static struct page_pool *kernel_pages;
static uint64_t kernel_pages_base, kernel_pages_bytes;
static uint64_t tables, tables_end; /* rest of a page of small tables */

struct memory_range arch_kernel_image(void)
{
    return (struct memory_range){ arch_physical_of(image_start), (uint64_t)(image_end - image_start) };
}

void process_table_set(unsigned process, uint64_t tree)
{
    entry_set((uint64_t *)arch_physical(process_table) + 2 * process,
              TREE_52_BITS | tree | level_bits(LEVEL_ROOT));
}

bool arch_huge_pages(void)
{
    return true;
}

static uint64_t range_table_bytes(const struct memory_range *range)
{
    const uint64_t bytes = smaller(range->bytes, ARCH_ADDRESS_LIMIT);

    return (6 + 2 * (bytes >> 39)) * 4096;
}

uint64_t arch_pool_bytes(const struct boot_info *boot)
{
    uint64_t bytes = 5 * ARCH_PAGE + (4 + ((uint64_t)(image_end - image_start) >> 21)) * 4096;

    for (unsigned i = 0; i < boot->usable_count; i++)
        bytes += range_table_bytes(&boot->usable[i]);
    return page_up(bytes) + cpus_pool_bytes();
}

struct page_pool *kernel_map_pool(void)
{
    return kernel_pages;
}

static _Noreturn void no_memory(void)
{
    node_stop(STOP_NO_MEMORY, "no memory for the kernel's page tables; give the node more memory");
}

static uint64_t table_take(uint64_t bytes)
{
    uint64_t at = align_up(tables, bytes);

    if (at + bytes > tables_end) {
        at = page_pool_allocate_zeroed(kernel_pages);
        if (at == PAGE_POOL_NONE)
            no_memory();
        tables_end = at + ARCH_PAGE;
    }
    tables = at + bytes;
    return at;
}

static uint64_t *kernel_entry_create(uint64_t address, int level)
{
    uint64_t *table = arch_physical(root);

    for (int at = LEVEL_ROOT; at > level; at--) {
        uint64_t *entry = &table[level_index(address, at)];

        if (!(entry_get(entry) & PTE_PRESENT))
            entry_set(entry, PTE_PRESENT | table_take(8ULL << level_bits(at - 1)) | level_bits(at - 1));
        ASSERT(!(entry_get(entry) & PTE_LEAF));
        table = arch_physical(entry_get(entry) & PTE_ADDRESS);
    }
    return &table[level_index(address, level)];
}

static void kernel_page(uint64_t address, uint64_t physical, int level, uint64_t bits)
{
    entry_set(kernel_entry_create(address, level), PTE_PRESENT | PTE_LEAF | physical | KERNEL_BITS | bits);
}

static uint64_t image_rights(uint64_t physical)
{
    const uint64_t text_end = arch_physical_of(image_text_end),
                   constants_end = arch_physical_of(image_rodata_end);

    if (physical < VECTORS_BYTES)
        return PTE_EXECUTE;
    if (physical < arch_physical_of(image_start) || physical >= arch_physical_of(image_end))
        return PTE_WRITE;
    if (physical < text_end)
        return PTE_EXECUTE;
    return physical < constants_end ? 0 : PTE_WRITE;
}

/* Maps a range, in pages of 64 KiB up to the end of the image, then in pages as large as fit. */
static void direct_map_range(const struct memory_range *range)
{
    const uint64_t small_end = align_up(arch_physical_of(image_end), level_bytes(1));
    uint64_t at = page_down(range->base),
             end = smaller(page_up(range->base + range->bytes), ARCH_ADDRESS_LIMIT);

    while (at < end) {
        int level = 2;

        while (level > 0 && (at < small_end || at % level_bytes(level) || end - at < level_bytes(level)))
            level--;
        if (at != arch_physical_of(boot_cpu.guard))
            kernel_page(DIRECT_MAP + at, at, level, image_rights(at));
        at += level_bytes(level);
    }
}

void arch_memory_initialise(struct page_pool *pool, const struct boot_info *boot)
{
    kernel_pages = pool;
    kernel_pages_base = arch_physical_of(pool->extents); /* it is one extent */
    kernel_pages_bytes = pool->total_bytes;
    root = page_pool_allocate_zeroed(pool);
    process_table = page_pool_allocate_zeroed(pool);
    const uint64_t empty = page_pool_allocate_zeroed(pool);
    if (root == PAGE_POOL_NONE || process_table == PAGE_POOL_NONE || empty == PAGE_POOL_NONE)
        no_memory();
    for (unsigned i = 0; i < boot->usable_count; i++)
        direct_map_range(&boot->usable[i]);
    process_table_set(0, root);
    process_table_set(PROCESS_NONE, empty);

    int64_t status = hypercall(H_REGISTER_PROC_TABLE, PROCESS_TABLE_NEW_RADIX_GTSE, process_table, 0,
                               PROCESS_TABLE_BITS - 12, NULL);
    if (status)
        node_stop(STOP_BAD_INPUT, "the hypervisor rejects radix tables (%ld): POWER9 with radix is needed",
                  status);
    space_process_set(PROCESS_NONE);
    status = hypercall(H_SET_MODE, 3, ADDRESS_TRANSLATION_MODE, 0, 0, NULL);
    if (status)
        node_stop(STOP_BAD_INPUT, "the hypervisor rejects translation in interrupts (%ld)", status);
    kernel_map_activate();
}

void kernel_map_activate(void)
{
    uint64_t msr;

    __asm__ volatile("mfmsr %0" : "=r"(msr));
    translation_on(msr | MSR_TRANSLATION | MSR_VECTORS);
}

/* ---- Guard pages ---- */

/* Drops what any CPU has cached of the kernel's map: translations, and tables on the way to them. */
static void kernel_flush(void)
{
    const uint64_t of_process = 1 << 10, kernel = 0;

    __asm__ volatile("ptesync; .machine push; .machine power9; tlbie %0, %1, 2, 1, 1; .machine pop;"
                     "eieio; tlbsync; ptesync; isync"
                     :
                     : "r"(of_process), "r"(kernel)
                     : "memory");
}

/* Unmaps a page, so that it faults. Large pages around it become tables of smaller ones while CPUs use them:
 * no entry can be made invalid in between, because the code that runs here may lie in the same page. It need
 * not be: a CPU that has the large page's translation uses it, and a CPU that does not have it finds the
 * table; both have the same memory and rights. */
void arch_guard_page(uint64_t address, struct page_pool *pool)
{
    static struct spinlock lock; /* ranks share the tables */

    SPIN_GUARD(&lock);
    if (page_split(root, address, 0, pool) || page_split(root, address + ARCH_PAGE, 0, pool))
        return;
    entry_set(leaf_find(root, address).entry, 0);
    kernel_flush();
}

void arch_guard_page_open(uint64_t address, bool is_open)
{
    const uint64_t one_page = address | 5ULL << 5, kernel = 0; /* of 64 KiB [Power ISA 3.0B III §5.9.3.3] */
    static uint64_t *entry; /* of the one page for which this is called, for every heartbeat */

    if (!entry) {
        const struct leaf leaf = leaf_find(root, address);

        if (leaf.level)
            return;
        entry = leaf.entry;
    }
    if (is_open) {
        entry_set(entry, PTE_PRESENT | leaf_entry(address - DIRECT_MAP, 0, KERNEL_BITS | PTE_WRITE));
        __asm__ volatile("ptesync; isync" : : : "memory");
        return;
    }
    entry_set(entry, 0);
    __asm__ volatile("ptesync; .machine push; .machine power9; tlbiel %0, %1, 0, 1, 1; .machine pop;"
                     "ptesync; isync"
                     :
                     : "r"(one_page), "r"(kernel)
                     : "memory");
}

/* Returns whether an entry leads to a table of arch_guard_page: only such a table is in memory of a rank. */
static bool is_of_guard(uint64_t entry)
{
    return arch_physical_of(entry_table(entry)) - kernel_pages_base >= kernel_pages_bytes;
}

void arch_guard_pages_drop(const struct memory_range *range)
{
    for (uint64_t at = range->base; at < range->base + range->bytes;) {
        int level = LEVEL_ROOT;
        uint64_t *entry = (uint64_t *)arch_physical(root) + level_index(DIRECT_MAP + at, level);

        while (entry_is_table(entry_get(entry), level) && !is_of_guard(entry_get(entry)))
            entry = entry_table(entry_get(entry)) + level_index(DIRECT_MAP + at, --level);
        if (entry_is_table(entry_get(entry), level) || entry_get(entry) == 0)
            entry_set(entry, PTE_PRESENT |
                                 leaf_entry(at & ~(level_bytes(level) - 1), level, KERNEL_BITS | PTE_WRITE));
        at = (at | (level_bytes(level) - 1)) + 1;
    }
    kernel_flush();
}

/* ---- Devices ---- */

volatile void *arch_device_map(uint64_t physical, uint64_t bytes)
{
    static uint64_t used;
    const uint64_t offset = physical & (ARCH_PAGE - 1), length = page_up(offset + bytes);
    const uint64_t address = DEVICE_WINDOW + used;

    for (uint64_t done = 0; done < length; done += ARCH_PAGE)
        kernel_page(address + done, physical - offset + done, 0, PTE_WRITE | PTE_DEVICE);
    used += length;
    return (volatile void *)(address + offset);
}

void *arch_dma_allocate(uint64_t bytes)
{
    return page_pool_take(kernel_pages, bytes);
}
