/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_map.c: the kernel's half of every address space.
 *
 *     0xffff800000000000  direct map: usable memory, boot modules, the first megabyte (firmware data, text
 *                         screen, start-up code of further CPUs); writable, never executable
 *     0xfffffe8000000000  the framebuffer, write-combining
 *     0xffffff0000000000  device window: registers, uncached
 *     0xffffffff80000000  the image: text R-X, constants R--, data RW-, in 4 KiB pages; the pages below the
 *                         first CPU's stacks are not mapped
 *
 * Nothing is both writable and executable, nothing is reachable from programs except the pages that
 * user_map.c maps for them. Built once at boot from the kernel's pool; only arch_device_map and
 * the calls for guard pages change it later. The framebuffer's tables are the image's own, and serve the
 * early map, too. [Intel SDM 3A §4.5, §4.6, §11.12]
 */
#include "arch.h"
#include "arch/page_table.h"
#include "arch/setup.h"
#include "mm/page.h"
#include "debug/stop.h"
#include "drivers/pci/pci.h"

extern uint8_t image_start[], image_text_end[], image_rodata_end[], image_end[];

/* Its last page is for device_at. */
#define DEVICE_WINDOW_BYTES (ARCH_LARGE_PAGE - ARCH_PAGE)
#define DEVICE_BITS         (PTE_WRITE | PTE_WRITE_THROUGH | PTE_CACHE_DISABLE)
#define KERNEL_TABLE_BITS   (PTE_PRESENT | PTE_WRITE)

#define FRAME_BYTES_MAX (level_bytes(2) - 2 * ARCH_LARGE_PAGE)

static const struct memory_range first_megabyte = { 0, 1 << 20 };
static uint64_t root;
static bool is_loaded; /* instead of the early map */
static struct page_pool *kernel_pages;
static uint64_t device_window_used;

extern uint64_t boot_root[TABLE_ENTRIES];

/* Of the framebuffer: from the root's entry down; small pages where it does not begin, or end, with a large
 * one. */
static uint64_t frame_pointers[TABLE_ENTRIES] __attribute__((aligned(ARCH_PAGE)));
static uint64_t frame_directory[TABLE_ENTRIES] __attribute__((aligned(ARCH_PAGE)));
static uint64_t frame_ends[2][TABLE_ENTRIES] __attribute__((aligned(ARCH_PAGE)));

uint64_t kernel_root(void)
{
    return root;
}

struct memory_range arch_kernel_image(void)
{
    return (struct memory_range){ (uint64_t)image_start - KERNEL_BASE, (uint64_t)(image_end - image_start) };
}

/* Returns the tables that a range needs at most: two for each end that is not on a bound of large pages, and
 * one for each GiB if there are no 1 GiB pages; above these, one for each 512 GiB, and a few for the image
 * and the device window. */
static uint64_t range_table_bytes(const struct memory_range *range)
{
    uint64_t bytes = range->bytes < ARCH_ADDRESS_LIMIT ? range->bytes : ARCH_ADDRESS_LIMIT;

    if (range->base >= ARCH_ADDRESS_LIMIT || bytes == 0)
        return 0;
    return (6 + (bytes >> 39) + (arch_huge_pages() ? 0 : bytes >> 30)) * ARCH_PAGE;
}

uint64_t arch_pool_bytes(const struct boot_info *boot)
{
    uint64_t bytes =
        (8 + ((uint64_t)(image_end - image_start) >> 21)) * ARCH_PAGE + range_table_bytes(&first_megabyte);

    for (unsigned i = 0; i < boot->usable_count; i++)
        bytes += range_table_bytes(&boot->usable[i]);
    for (unsigned i = 0; i < boot->module_count; i++)
        bytes += range_table_bytes(&boot->modules[i].range);
    return bytes + cpus_pool_bytes() + pci_pool_bytes();
}

static uint64_t kernel_entry(uint64_t physical, int level, uint64_t bits)
{
    return physical | bits | PTE_PRESENT | PTE_GLOBAL | PTE_ACCESSED | PTE_DIRTY |
           (level > 0 ? PTE_LARGE : 0);
}

static uint64_t *entry_make(uint64_t address, int level)
{
    uint64_t *entry = entry_create(root, address, level, KERNEL_TABLE_BITS, kernel_pages);

    if (!entry)
        node_stop(STOP_NO_MEMORY, "no memory for the kernel's page tables; give the node more memory");
    return entry;
}

static void kernel_page(uint64_t address, uint64_t physical, int level, uint64_t bits)
{
    *entry_make(address, level) = kernel_entry(physical, level, bits);
}

static uint64_t no_execute(void)
{
    return cpu_features.no_execute ? PTE_NO_EXECUTE : 0;
}

static void image_section_map(const uint8_t *from, const uint8_t *to, uint64_t bits)
{
    for (uint64_t address = (uint64_t)from; address < (uint64_t)to; address += ARCH_PAGE)
        if (address != (uint64_t)boot_cpu.guard && address != (uint64_t)boot_guard)
            kernel_page(address, address - KERNEL_BASE, 0, bits);
}

/* Maps a range, rounded outwards to pages, with the largest pages that fit; pages that are mapped already,
 * because ranges overlap, stay as they are. */
static void direct_map_range(const struct memory_range *range)
{
    if (range->bytes == 0 || range->base >= ARCH_ADDRESS_LIMIT || range->bytes > UINT64_MAX - range->base)
        return;

    uint64_t address = range->base & ~(ARCH_PAGE - 1);
    uint64_t end = range->base + range->bytes;
    const uint64_t bits = PTE_WRITE | no_execute();

    if (end > ARCH_ADDRESS_LIMIT)
        end = ARCH_ADDRESS_LIMIT;
    while (address < end) {
        struct leaf leaf = leaf_find(root, DIRECT_MAP + address);

        if (leaf.value) {
            address = (address | (level_bytes(leaf.level) - 1)) + 1;
            continue;
        }
        int level = page_level(address, 0, end - address);
        if (level < leaf.level) {
            kernel_page(DIRECT_MAP + address, address, level, bits);
        } else { /* there is a table at all levels above the leaf's */
            level = leaf.level;
            *leaf.entry = kernel_entry(address, level, bits);
        }
        address += level_bytes(level);
    }
}

void arch_memory_initialise(struct page_pool *pool, const struct boot_info *boot)
{
    kernel_pages = pool;
    root = page_pool_allocate_zeroed(pool);
    ASSERT(root != PAGE_POOL_NONE);

    image_section_map(image_start, image_text_end, 0);
    image_section_map(image_text_end, image_rodata_end, no_execute());
    image_section_map(image_rodata_end, image_end, PTE_WRITE | no_execute());
    direct_map_range(&first_megabyte);
    for (unsigned i = 0; i < boot->usable_count; i++)
        direct_map_range(&boot->usable[i]);
    for (unsigned i = 0; i < boot->module_count; i++)
        direct_map_range(&boot->modules[i].range);
    uint64_t *top = arch_physical(root);
    top[level_index(FRAME_WINDOW, LEVEL_ROOT)] = boot_root[level_index(FRAME_WINDOW, LEVEL_ROOT)];
    /* The window's tables exist before any program's root copies the upper half. */
    entry_make(DEVICE_WINDOW, 0);

    kernel_map_activate();
    is_loaded = true;
}

void kernel_map_activate(void)
{
    cpu_tables_set(root);
}

void arch_guard_page(uint64_t address, struct page_pool *pool)
{
    static struct spinlock lock; /* ranks share the tables */

    SPIN_GUARD(&lock);
    if (page_split(root, address, KERNEL_TABLE_BITS | PTE_OF_GUARD, pool) ||
        page_split(root, address + ARCH_PAGE, KERNEL_TABLE_BITS | PTE_OF_GUARD, pool))
        return;
    *leaf_find(root, address).entry = 0;
    tlb_invalidate_page(address);
}

static uint64_t *open_entry, open_value; /* of the one page that is opened, for each heartbeat */

__attribute__((noinline)) static void open_entry_find(uint64_t address, bool is_open)
{
    const struct leaf leaf = leaf_find(root, address);

    if (leaf.level)
        return;
    open_value = kernel_entry(address - DIRECT_MAP, 0, PTE_WRITE | no_execute());
    open_entry = leaf.entry;
    arch_guard_page_open(address, is_open);
}

void arch_guard_page_open(uint64_t address, bool is_open)
{
    if (!open_entry) {
        open_entry_find(address, is_open); /* at the end, so that this needs no frame */
        return;
    }
    *open_entry = is_open ? open_value : 0;
    if (!is_open)
        tlb_invalidate_page(address);
}

/* Restores the pages. Translations of single pages, which a CPU may still have, are those of the page that
 * comes back. What it has of tables has to go before their memory is used: loading the root drops it. [Intel
 * SDM 3A §4.10.4] */
void arch_guard_pages_drop(const struct memory_range *range)
{
    const uint64_t bits = PTE_WRITE | no_execute();

    for (uint64_t at = range->base; at < range->base + range->bytes;) {
        int level = LEVEL_ROOT;
        uint64_t *entry = (uint64_t *)arch_physical(root) + level_index(DIRECT_MAP + at, level);

        while (entry_is_table(*entry, level) && !(*entry & PTE_OF_GUARD))
            entry = entry_table(*entry) + level_index(DIRECT_MAP + at, --level);
        if (entry_is_table(*entry, level) || *entry == 0)
            *entry = kernel_entry(at & ~(level_bytes(level) - 1), level, bits);
        at = (at | (level_bytes(level) - 1)) + 1;
    }
    crosscall_all(kernel_map_activate);
}

static uint64_t frame_table_entry(const uint64_t *table)
{
    return arch_physical_of(table) | KERNEL_TABLE_BITS;
}

static void frame_page(uint64_t *entry, uint64_t physical, int level)
{
    *entry = kernel_entry(physical, level, PTE_WRITE | PTE_WRITE_COMBINING | no_execute());
}

void *frame_map(uint64_t physical, uint64_t bytes)
{
    const uint64_t limit = 1ULL << cpu_features.physical_bits;
    const uint64_t first = physical & ~(ARCH_LARGE_PAGE - 1), low = physical & ~(ARCH_PAGE - 1);

    if (bytes > FRAME_BYTES_MAX || physical > limit || bytes > limit - physical)
        return NULL;
    const uint64_t end = page_up(physical + bytes);
    for (uint64_t at = first; at < end; at += ARCH_LARGE_PAGE) {
        uint64_t *entry = &frame_directory[(at - first) / ARCH_LARGE_PAGE];

        if (at >= low && end - at >= ARCH_LARGE_PAGE) {
            frame_page(entry, at, 1);
            continue;
        }
        uint64_t *pages = frame_ends[at != first];
        for (uint64_t page = at; page < at + ARCH_LARGE_PAGE; page += ARCH_PAGE)
            if (page >= low && page < end)
                frame_page(&pages[level_index(page, 0)], page, 0);
        *entry = frame_table_entry(pages);
    }
    frame_pointers[level_index(FRAME_WINDOW, 2)] = frame_table_entry(frame_directory);
    boot_root[level_index(FRAME_WINDOW, LEVEL_ROOT)] = frame_table_entry(frame_pointers);
    return (void *)(FRAME_WINDOW + physical - first);
}

volatile void *arch_device_map(uint64_t physical, uint64_t bytes)
{
    uint64_t offset = physical & (ARCH_PAGE - 1);
    uint64_t length = page_up(offset + bytes);
    uint64_t address = DEVICE_WINDOW + device_window_used;

    if (physical >= ARCH_ADDRESS_LIMIT || length > DEVICE_WINDOW_BYTES - device_window_used)
        return NULL;
    for (uint64_t done = 0; done < length; done += ARCH_PAGE)
        kernel_page(address + done, physical - offset + done, 0, DEVICE_BITS | no_execute());
    device_window_used += length;
    return (volatile void *)(address + offset);
}

volatile void *device_at(uint64_t physical)
{
    const uint64_t address = DEVICE_WINDOW + DEVICE_WINDOW_BYTES;

    if (physical >= (is_loaded ? ARCH_ADDRESS_LIMIT : ARCH_EARLY_LIMIT))
        return NULL;
    if (!is_loaded)
        return arch_physical(physical);
    kernel_page(address, physical & ~(ARCH_PAGE - 1), 0, DEVICE_BITS | no_execute());
    tlb_invalidate_page(address);
    return (volatile void *)(address + (physical & (ARCH_PAGE - 1)));
}

/* Allocates from the pool, which lies where the early map reaches: below 4 GiB. */
void *arch_dma_allocate(uint64_t bytes)
{
    return page_pool_take(kernel_pages, bytes);
}
