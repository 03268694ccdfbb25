/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_map.c: a program's half of its address space.
 *
 * Tables come from the process's own slice. A leaf is present where the program has some right to it; memory
 * that it may not touch at the moment (mprotect to PROT_NONE) keeps its entry, not present, marked
 * PTE_ATTACHED. Large pages are split only where a range ends inside one. [Intel SDM 3A §4.5]
 *
 * Several CPUs may use a space. What goes away does so in three steps: entries are made not present, and
 * tables that would be left behind empty PTE_LEAVING; every CPU forgets them; then memory and tables are
 * given back. A CPU that has no more than this space's bit in `cpus` tells nobody. [§4.10.4, §4.10.5]
 *
 * arch_map either succeeds or changes nothing; what else may need memory is arch_split, which callers do
 * first.
 */
#include "arch.h"
#include "arch/page_table.h"
#include "arch/setup.h"
#include "smp/crosscall.h"
#include "lib/elf_image.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define USER_TABLE_BITS (PTE_PRESENT | PTE_WRITE | PTE_USER)
#define ROOT_USER_HALF  (TABLE_ENTRIES / 2)
#define FORGET_PAGES    16 /* more of them, and loading CR3 is cheaper */

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

/* ---- Which CPUs know it ---- */

int arch_space_create(struct arch_space *space, struct page_pool *pages)
{
    uint64_t table = table_take(pages);

    if (table == PAGE_POOL_NONE)
        return -ENOMEM;
    memcpy((uint64_t *)arch_physical(table) + ROOT_USER_HALF,
           (uint64_t *)arch_physical(kernel_root()) + ROOT_USER_HALF, ROOT_USER_HALF * sizeof(uint64_t));
    space->root = table;
    space->pages = pages;
    space->cpus = 0;
    return 0;
}

/* The bit comes first and goes last: a CPU without it knows nothing. */
void arch_space_activate(struct arch_space *space)
{
    __atomic_fetch_or(&space->cpus, 1ULL << arch_cpu_index(), __ATOMIC_SEQ_CST);
    cpu_tables_set(space->root);
}

void arch_space_deactivate(struct arch_space *space)
{
    cpu_tables_set(kernel_root());
    __atomic_fetch_and(&space->cpus, ~(1ULL << arch_cpu_index()), __ATOMIC_SEQ_CST);
}

/* What CPUs are to forget: some pages, or more than that, which is everything. Forgetting any page forgets
 * all tables on the way to any. */
struct forgetting {
    struct arch_space *space;
    unsigned count;
    uint64_t addresses[FORGET_PAGES];
};

static void forget_add(struct forgetting *forgetting, uint64_t address)
{
    if (forgetting->count < FORGET_PAGES)
        forgetting->addresses[forgetting->count] = address;
    forgetting->count++;
}

static void forget_here(void *context)
{
    const struct forgetting *forgetting = context;

    if (forgetting->count > FORGET_PAGES) {
        cpu_tables_set(forgetting->space->root);
        return;
    }
    for (unsigned i = 0; i < forgetting->count; i++)
        tlb_invalidate_page(forgetting->addresses[i]);
}

/* A CPU may leave the space meanwhile, and then may not be made to load its root: it clears its bit with
 * interrupts off, so that it serves the call either before or with the bit cleared. */
static void forget_there(void *context)
{
    const struct forgetting *forgetting = context;

    if (__atomic_load_n(&forgetting->space->cpus, __ATOMIC_RELAXED) & 1ULL << arch_cpu_index())
        forget_here(context);
}

static void forget_everywhere(struct forgetting *forgetting)
{
    const uint64_t here = 1ULL << arch_cpu_index();

    if (forgetting->count == 0)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* a CPU that comes now sees the new entries */
    uint64_t cpus = __atomic_load_n(&forgetting->space->cpus, __ATOMIC_RELAXED);

    if (cpus & here)
        forget_here(forgetting);
    if (cpus & ~here)
        crosscall(cpus & ~here, forget_there, forgetting);
}

static void tlb_shootdown(struct arch_space *space, uint64_t address, uint64_t bytes)
{
    struct forgetting forgetting = { .space = space };

    for (uint64_t done = 0; done < bytes && forgetting.count <= FORGET_PAGES; done += ARCH_PAGE)
        forget_add(&forgetting, address + done);
    forget_everywhere(&forgetting);
}

/* The value of the entry that decides about `address`, and its level. For those who do not hold the space's
 * lock: others may change entries meanwhile, so each is read once. */
static uint64_t entry_read(const struct arch_space *space, uint64_t address, int *level)
{
    const uint64_t *entry = (uint64_t *)arch_physical(space->root) + level_index(address, LEVEL_ROOT);

    for (*level = LEVEL_ROOT;; --*level) {
        uint64_t value = __atomic_load_n(entry, __ATOMIC_RELAXED);

        if (!entry_is_table(value, *level))
            return value;
        entry = entry_table(value) + level_index(address, *level - 1);
    }
}

bool arch_space_allows(const struct arch_space *space, uint64_t address, unsigned rights)
{
    uint64_t wanted = PTE_PRESENT | PTE_USER | (rights & RIGHT_WRITE ? PTE_WRITE : 0);
    int level;

    if (address >= ARCH_USER_LIMIT)
        return false;

    uint64_t value = entry_read(space, address, &level);
    return (value & wanted) == wanted && !((rights & RIGHT_EXECUTE) && (value & PTE_NO_EXECUTE));
}

/* ---- Entries ---- */

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

/* The entry behind, which is that of `address`; false at the table's end. */
static bool entry_next(uint64_t **entry, uint64_t address, int level)
{
    ++*entry;
    return level_index(address, level) != 0;
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
    tlb_shootdown(space, address, ARCH_PAGE);
    page_pool_free(space->pages, table, ARCH_PAGE);
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
            arch_unmap(space, address, done, (struct arch_hole){ address, address + bytes }, NULL, NULL);
            return -ENOMEM;
        }
        do {
            *entry = (physical + done) | bits | (level > 0 ? PTE_LARGE : 0);
            done += level_bytes(level);
        } while (bytes - done >= level_bytes(level) && entry_next(&entry, address + done, level) &&
                 *entry == 0);
    }
    return 0;
}

/* Replaces a large page around `address` by a table of smaller ones with the same rights. What other CPUs
 * remember of the large page stays true, and is forgotten with any page of it. */
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
        tlb_invalidate_page(address);
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

        do {
            if (*entry)
                visit(context, entry, address, level_bytes(level));
            address = (address & ~(level_bytes(level) - 1)) + level_bytes(level);
        } while (address < end && entry_next(&entry, address, level) && !entry_is_table(*entry, level));
    }
}

/* ---- Taking away ---- */

struct unmapping {
    uint64_t start, end;
    struct arch_hole hole;
    struct page_pool *pages;
    struct forgetting forgetting;
    void (*release)(void *context, uint64_t physical, uint64_t bytes);
    void *context;
    uint64_t physical, bytes; /* the run gathered so far */
};

/* The entries of a table for addresses from `base` on that the range touches: [*first, *last]. */
static void entries_touched(const struct unmapping *unmapping, uint64_t base, int level, uint64_t *first,
                            uint64_t *last)
{
    uint64_t table_bytes = TABLE_ENTRIES * level_bytes(level);
    uint64_t from = unmapping->start > base ? unmapping->start - base : 0;
    uint64_t to = unmapping->end - base < table_bytes ? unmapping->end - base : table_bytes;

    *first = from / level_bytes(level);
    *last = (to - 1) / level_bytes(level);
}

static void range_hide(struct unmapping *unmapping, uint64_t *table, uint64_t base, int level)
{
    uint64_t first, last;

    entries_touched(unmapping, base, level, &first, &last);
    for (uint64_t i = first; i <= last; i++) {
        uint64_t *entry = table + i, address = base + i * level_bytes(level);

        if (!entry_is_table(*entry, level)) {
            if (*entry & PTE_PRESENT)
                forget_add(&unmapping->forgetting, address);
            *entry &= ~PTE_PRESENT;
            continue;
        }
        range_hide(unmapping, entry_table(*entry), address, level - 1);
        if (address >= unmapping->hole.low && address + level_bytes(level) <= unmapping->hole.high) {
            forget_add(&unmapping->forgetting, address);
            *entry = (*entry & PTE_ADDRESS) | PTE_LEAVING;
        }
    }
}

static void run_release(struct unmapping *unmapping, uint64_t physical, uint64_t bytes)
{
    if (!unmapping->release)
        return;
    if (unmapping->bytes && unmapping->physical + unmapping->bytes == physical) {
        unmapping->bytes += bytes;
        return;
    }
    if (unmapping->bytes)
        unmapping->release(unmapping->context, unmapping->physical, unmapping->bytes);
    unmapping->physical = physical;
    unmapping->bytes = bytes;
}

static void range_release(struct unmapping *unmapping, uint64_t *table, uint64_t base, int level)
{
    uint64_t first, last;

    entries_touched(unmapping, base, level, &first, &last);
    for (uint64_t i = first; i <= last; i++) {
        uint64_t *entry = table + i, address = base + i * level_bytes(level);
        bool leaving = level > 0 && (*entry & PTE_LEAVING);

        if (leaving || entry_is_table(*entry, level)) {
            range_release(unmapping, entry_table(*entry), address, level - 1);
            if (!leaving)
                continue;
            page_pool_free(unmapping->pages, *entry & PTE_ADDRESS, ARCH_PAGE);
        } else if (*entry) {
            run_release(unmapping, *entry & PTE_ADDRESS & ~(level_bytes(level) - 1), level_bytes(level));
        }
        *entry = 0;
    }
}

void arch_unmap(struct arch_space *space, uint64_t address, uint64_t bytes, struct arch_hole hole,
                void (*release)(void *context, uint64_t physical, uint64_t bytes), void *context)
{
    uint64_t *root = arch_physical(space->root);
    struct unmapping unmapping = { .start = address,
                                   .end = address + bytes,
                                   .hole = hole,
                                   .pages = space->pages,
                                   .forgetting = { .space = space },
                                   .release = release,
                                   .context = context };

    if (bytes == 0)
        return;
    range_hide(&unmapping, root, 0, LEVEL_ROOT);
    forget_everywhere(&unmapping.forgetting);
    range_release(&unmapping, root, 0, LEVEL_ROOT);
    if (unmapping.bytes)
        release(context, unmapping.physical, unmapping.bytes);
}

static void hide_leaf(void *context, uint64_t *entry, uint64_t address, uint64_t bytes)
{
    (void)bytes;
    if (*entry & PTE_PRESENT)
        forget_add(context, address);
    *entry &= ~PTE_PRESENT;
}

struct moving {
    struct arch_space *space;
    uint64_t distance; /* to the new place; wraps around where that is below */
    unsigned rights;
};

static void move_leaf(void *context, uint64_t *entry, uint64_t address, uint64_t bytes)
{
    const struct moving *moving = context;
    uint64_t physical = *entry & PTE_ADDRESS & ~(bytes - 1);

    *entry = 0;
    /* Cannot fail: the caller has made sure of the memory for tables. */
    (void)arch_map(moving->space, address + moving->distance, physical, bytes, moving->rights);
}

void arch_move(struct arch_space *space, uint64_t address, uint64_t to, uint64_t bytes, unsigned rights)
{
    struct forgetting forgetting = { .space = space };
    struct moving moving = { space, to - address, rights };

    leaves_visit(space, address, address + bytes, hide_leaf, &forgetting);
    forget_everywhere(&forgetting);
    leaves_visit(space, address, address + bytes, move_leaf, &moving);
}

/* ---- Rights ---- */

struct protecting {
    uint64_t bits;
    struct forgetting forgetting;
};

/* A right that is taken must be forgotten everywhere; one that is given is of use at once only here. */
static void protect_leaf(void *context, uint64_t *entry, uint64_t address, uint64_t bytes)
{
    struct protecting *protecting = context;
    uint64_t old = *entry, new = protecting->bits;
    bool takes = ((old & ~new) & (PTE_PRESENT | PTE_WRITE)) || (~old & new &PTE_NO_EXECUTE);

    *entry = (old & PTE_ADDRESS & ~(bytes - 1)) | new | (bytes > ARCH_PAGE ? PTE_LARGE : 0);
    if (!(old & PTE_PRESENT))
        return;
    if (takes)
        forget_add(&protecting->forgetting, address);
    else
        tlb_invalidate_page(address);
}

void arch_protect(struct arch_space *space, uint64_t address, uint64_t bytes, unsigned rights)
{
    struct protecting protecting = { .bits = rights_bits(rights), .forgetting = { .space = space } };

    leaves_visit(space, address, address + bytes, protect_leaf, &protecting);
    forget_everywhere(&protecting.forgetting);
}

/* ---- What is behind ---- */

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
        const uint64_t *entry = entry_find(space, at, &level);

        if (at == address)
            *attached = *entry != 0;
        do {
            if ((*entry != 0) != *attached)
                return at - address;
            at = (at & ~(level_bytes(level) - 1)) + level_bytes(level);
            entry++;
        } while (at < end && level_index(at, level) != 0 && !entry_is_table(*entry, level));
    }
    return (at < end ? at : end) - address;
}

uint64_t arch_translate(const struct arch_space *space, uint64_t address)
{
    int level;
    uint64_t entry = entry_read(space, address, &level);
    uint64_t within = level_bytes(level) - 1;

    return entry ? (entry & PTE_ADDRESS & ~within) + (address & within) : PAGE_POOL_NONE;
}
