/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_map.c: a program's half of its address space.
 *
 * Tables come from the process's own slice. A leaf is present where the program has some right to it; memory
 * that it may not touch at the moment (mprotect to PROT_NONE) keeps its entry, not present, marked
 * PTE_ATTACHED. Large pages are split only where a range ends inside one. There is one CPU an address space,
 * so a changed entry is flushed on this CPU alone. [Intel SDM 3A §4.5, §4.10.4]
 *
 * arch_map either succeeds or changes nothing; what else may need memory is arch_split, which callers do
 * first.
 */
#include "arch.h"
#include "arch/page_table.h"
#include "arch/setup.h"
#include "kstring.h"

#define USER_TABLE_BITS (PTE_PRESENT | PTE_WRITE | PTE_USER)
#define ROOT_USER_HALF  (TABLE_ENTRIES / 2)

static uint64_t rights_bits(unsigned rights)
{
    uint64_t bits = PTE_ATTACHED;

    if (rights == 0)
        return bits;
    bits |= PTE_PRESENT | PTE_USER | PTE_ACCESSED |
            PTE_DIRTY; /* set here, so that the CPU never has to write them */
    if (rights & RIGHT_WRITE)
        bits |= PTE_WRITE;
    if (!(rights & RIGHT_EXECUTE) && cpu_features()->no_execute)
        bits |= PTE_NO_EXECUTE;
    return bits;
}

int arch_space_create(struct arch_space *space, struct page_pool *pages)
{
    uint64_t table = table_take(pages);

    if (table == PAGE_POOL_NONE)
        return -ENOMEM;
    memcpy((uint64_t *)arch_physical(table) + ROOT_USER_HALF,
           (uint64_t *)arch_physical(kernel_root()) + ROOT_USER_HALF, ROOT_USER_HALF * sizeof(uint64_t));
    space->root = table;
    space->pages = pages;
    return 0;
}

void arch_space_activate(const struct arch_space *space)
{
    cpu_tables_set(space->root);
}

void arch_space_leave(const struct arch_space *space)
{
    (void)space;
    cpu_tables_set(kernel_root());
}

/* The entry that decides about `address`, and its level: a leaf, or the empty entry where the walk ends. */
static uint64_t *entry_find(const struct arch_space *space, uint64_t address, int *level)
{
    uint64_t *entry = (uint64_t *)arch_physical(space->root) + level_index(address, LEVEL_ROOT);

    *level = LEVEL_ROOT;
    while (entry_is_table(*entry, *level)) {
        --*level;
        entry = entry_table(*entry) + level_index(address, *level);
    }
    return entry;
}

/* The largest page for a mapping that goes on at `address` for `bytes`. */
static int level_for(uint64_t address, uint64_t physical, uint64_t bytes)
{
    for (int level = arch_huge_pages() ? 2 : 1; level > 0; level--)
        if (((address | physical) & (level_bytes(level) - 1)) == 0 && bytes >= level_bytes(level))
            return level;
    return 0;
}

/* A table that is left behind empty can stand where a large page should go: it is given back then. The CPU
 * may know the way to an empty table, and must forget it before the table becomes something else [Intel SDM
 * 3A §4.10.3]. */
static uint64_t *leaf_reach(struct arch_space *space, uint64_t address, int level)
{
    uint64_t *entry = entry_reach(space->root, address, level, USER_TABLE_BITS, space->pages);

    if (!entry || !entry_is_table(*entry, level))
        return entry;
    for (int i = 0; i < TABLE_ENTRIES; i++) {
        uint64_t *below = entry_table(*entry) + i;

        if (entry_is_table(*below, level - 1))
            leaf_reach(space, address + (uint64_t)i * level_bytes(level - 1), level - 1);
        if (*below)
            return NULL;
    }
    uint64_t table = *entry & PTE_ADDRESS;
    *entry = 0;
    cpu_page_forget(address);
    page_pool_give(space->pages, table, ARCH_PAGE);
    return entry;
}

int arch_map(struct arch_space *space, uint64_t address, uint64_t physical, uint64_t bytes, unsigned rights)
{
    uint64_t bits = rights_bits(rights);

    for (uint64_t done = 0; done < bytes;) {
        int level = level_for(address + done, physical + done, bytes - done);
        uint64_t *entry = leaf_reach(space, address + done, level);

        while (!entry && level > 0) /* small pages are in the neighbourhood, in a table that must stay */
            entry = leaf_reach(space, address + done, --level);
        if (!entry) {
            arch_unmap(space, address, done, NULL, NULL);
            return -ENOMEM;
        }
        *entry = (physical + done) | bits | (level > 0 ? PTE_LARGE : 0);
        done += level_bytes(level);
    }
    return 0;
}

/* Replaces a large page around `address` by a table of smaller ones with the same rights. */
int arch_split(struct arch_space *space, uint64_t address)
{
    for (;;) {
        int level;
        uint64_t *entry = entry_find(space, address, &level);

        if (*entry == 0 || (address & (level_bytes(level) - 1)) == 0)
            return 0;

        uint64_t table = table_take(space->pages);
        if (table == PAGE_POOL_NONE)
            return -ENOMEM;

        entry_split(entry, level, table, USER_TABLE_BITS);
        cpu_page_forget(address);
    }
}

/* Calls `visit` for every leaf in the range, which begins and ends on page bounds after the splits. */
static void leaves_visit(struct arch_space *space, uint64_t address, uint64_t end,
                         void (*visit)(void *context, uint64_t *entry, uint64_t address, uint64_t bytes),
                         void *context)
{
    while (address < end) {
        int level;
        uint64_t *entry = entry_find(space, address, &level);

        if (*entry)
            visit(context, entry, address, level_bytes(level));
        address = (address & ~(level_bytes(level) - 1)) + level_bytes(level);
    }
}

struct unmap_context {
    void (*release)(void *context, uint64_t physical, uint64_t bytes);
    void *context;
    uint64_t physical, bytes; /* the run gathered so far */
};

static void unmap_leaf(void *pointer, uint64_t *entry, uint64_t address, uint64_t bytes)
{
    struct unmap_context *unmap = pointer;
    uint64_t physical = *entry & PTE_ADDRESS & ~(bytes - 1);

    *entry = 0;
    cpu_page_forget(address);
    if (!unmap->release)
        return;
    if (unmap->bytes && unmap->physical + unmap->bytes == physical) {
        unmap->bytes += bytes;
        return;
    }
    if (unmap->bytes)
        unmap->release(unmap->context, unmap->physical, unmap->bytes);
    unmap->physical = physical;
    unmap->bytes = bytes;
}

void arch_unmap(struct arch_space *space, uint64_t address, uint64_t bytes,
                void (*release)(void *context, uint64_t physical, uint64_t bytes), void *context)
{
    struct unmap_context unmap = { .release = release, .context = context };

    leaves_visit(space, address, address + bytes, unmap_leaf, &unmap);
    if (unmap.bytes)
        release(context, unmap.physical, unmap.bytes);
}

static void protect_leaf(void *pointer, uint64_t *entry, uint64_t address, uint64_t bytes)
{
    const uint64_t *bits = pointer;

    *entry = (*entry & PTE_ADDRESS & ~(bytes - 1)) | *bits | (bytes > ARCH_PAGE ? PTE_LARGE : 0);
    cpu_page_forget(address);
}

void arch_protect(struct arch_space *space, uint64_t address, uint64_t bytes, unsigned rights)
{
    uint64_t bits = rights_bits(rights);

    leaves_visit(space, address, address + bytes, protect_leaf, &bits);
}

uint64_t arch_attached_zero(struct arch_space *space, uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes, zeroed = 0;

    while (address < end) {
        int level;
        uint64_t entry = *entry_find(space, address, &level);
        uint64_t offset = address & (level_bytes(level) - 1);
        uint64_t run =
            level_bytes(level) - offset < end - address ? level_bytes(level) - offset : end - address;

        if (entry) {
            arch_zero(arch_physical((entry & PTE_ADDRESS & ~(level_bytes(level) - 1)) + offset), run);
            zeroed += run;
        }
        address += run;
    }
    return zeroed;
}

uint64_t arch_attached_run(const struct arch_space *space, uint64_t address, uint64_t bytes, bool *attached)
{
    uint64_t at = address, end = address + bytes;

    while (at < end) {
        int level;
        bool here = *entry_find(space, at, &level) != 0;

        if (at == address)
            *attached = here;
        else if (here != *attached)
            break;
        at = (at & ~(level_bytes(level) - 1)) + level_bytes(level);
    }
    return (at < end ? at : end) - address;
}

uint64_t arch_physical_behind(const struct arch_space *space, uint64_t address)
{
    int level;
    uint64_t entry = *entry_find(space, address, &level);
    uint64_t within = level_bytes(level) - 1;

    return entry ? (entry & PTE_ADDRESS & ~within) + (address & within) : PAGE_POOL_NONE;
}
