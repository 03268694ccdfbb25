/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_map.c: a program's half of its address space.
 *
 * Tables come from the process's own slice. A leaf is present if the program has some right to it; memory
 * to which it has none at the moment (mprotect to PROT_NONE) keeps its entry, not present, marked
 * PTE_ATTACHED. Large pages are split only where a range ends inside one.
 *
 * Several CPUs may use a space, so memory and tables are freed in three steps: entries are made not present,
 * those of tables that become empty PTE_UNLINKED; a TLB shootdown drops what CPUs have cached of both; then
 * memory and tables are freed. If no other CPU's bit is set in the space's `cpus`, there is no IPI.
 *
 * The crosscall of the shootdown is also the grace period for walks of the tables without the lock
 * (arch_space_allows, arch_translate): a CPU that walks serves none, so the tables that it may have come to
 * are freed after its walk has ended. CPUs whose bit is not set have nothing cached: activating the space
 * drops what they had.
 *
 * Crosscalls are served once for each table, because a range may be of any size.
 *
 * arch_map either succeeds or changes nothing; the only other function that may need memory is arch_split,
 * which callers call first.
 */
#include "arch.h"
#include "arch/page_table.h"
#include "smp/crosscall.h"
#include "lib/errno.h"

#define TLB_BATCH_PAGES 16 /* for more, dropping all is cheaper */

/* Translations to invalidate, each named by an address: TLB_BATCH_PAGES of them at most; a greater count
 * means the whole TLB. With any page, what is cached of tables is dropped, too, on the way to every page. */
struct tlb_batch {
    struct arch_space *space;
    unsigned count;
    uint64_t addresses[TLB_BATCH_PAGES];
};

static void tlb_batch_add(struct tlb_batch *batch, uint64_t address)
{
    if (batch->count < TLB_BATCH_PAGES)
        batch->addresses[batch->count] = address;
    batch->count += batch->space->is_linked ? TLB_BATCH_PAGES + 1 : 1; /* it has other addresses where used */
}

static void tlb_flush_here(void *context)
{
    const struct tlb_batch *batch = context;

    if (batch->count > TLB_BATCH_PAGES) {
        space_flush_here(batch->space);
        return;
    }
    for (unsigned i = 0; i < batch->count; i++)
        space_flush_page_here(batch->space, batch->addresses[i]);
}

/* Flushes if the space is active here. A CPU may deactivate the space meanwhile, and then must not load its
 * root: it clears its bit with interrupts off, so it serves the crosscall either before that, or with the bit
 * cleared. */
static void tlb_flush_if_active(void *context)
{
    const struct tlb_batch *batch = context;

    if (cpu_mask_test(&batch->space->cpus, arch_cpu_index()))
        tlb_flush_here(context);
}

static void tlb_batch_flush(struct tlb_batch *batch)
{
    const struct cpu_mask *cpus = &batch->space->cpus;

    if (batch->count == 0)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* a CPU that activates it from here on sees the new entries */
    tlb_flush_if_active(batch);
    if (cpu_mask_has_others(cpus, arch_cpu_index()))
        crosscall(cpus, tlb_flush_if_active, batch);
}

bool arch_space_allows(const struct arch_space *space, uint64_t address, unsigned rights)
{
    return address < ARCH_USER_LIMIT && entry_allows(leaf_find(space->root, address).value, rights);
}

/* ---- Entries ---- */

/* Moves on to the next entry of the table, that of `address`; false at the table's end. */
static bool entry_next(uint64_t **entry, uint64_t address, int level)
{
    ++*entry;
    return level_index(address, level) != 0;
}

/* Creates an entry as entry_create. In the place of a large page there may be an empty table, which is freed
 * then. CPUs may have cached the way to an empty table: they must drop it before its memory is used for
 * anything else. */
static uint64_t *leaf_create(struct arch_space *space, uint64_t address, int level)
{
    uint64_t *entry = entry_create(space->root, address, level, USER_TABLE_BITS, space->pages);

    if (!entry || !entry_is_table(entry_get(entry), level))
        return entry;
    for (unsigned i = 0; i < table_entries(level - 1); i++) {
        uint64_t *below = entry_table(entry_get(entry)) + i;

        if (entry_is_table(entry_get(below), level - 1))
            leaf_create(space, address + (uint64_t)i * level_bytes(level - 1), level - 1);
        if (entry_get(below))
            return NULL;
    }
    struct tlb_batch batch = { .space = space };
    uint64_t table = entry_get(entry) & PTE_ADDRESS;
    entry_set(entry, 0);
    tlb_batch_add(&batch, address);
    tlb_batch_flush(&batch);
    table_free(space->pages, table, level - 1);
    return entry;
}

int arch_map(struct arch_space *space, uint64_t address, uint64_t physical, uint64_t bytes, unsigned rights)
{
    const uint64_t bits = rights_bits(rights);

    for (uint64_t done = 0; done < bytes;) {
        int level = page_level(address + done, physical + done, bytes - done);
        uint64_t *entry = leaf_create(space, address + done, level);

        crosscall_serve();
        while (!entry && level > 0) /* a table with other small pages stays */
            entry = leaf_create(space, address + done, --level);
        if (!entry) {
            arch_unmap(space, address, done, (struct arch_hole){ address, address + bytes }, NULL);
            return -ENOMEM;
        }
        do {
            entry_set(entry, leaf_entry(physical + done, level, bits));
            done += level_bytes(level);
        } while (bytes - done >= level_bytes(level) && entry_next(&entry, address + done, level) &&
                 entry_get(entry) == 0);
    }
    return 0;
}

int arch_split(struct arch_space *space, uint64_t address)
{
    return page_split(space->root, address, USER_TABLE_BITS, space->pages);
}

/* Visits every leaf in the range, whose ends are page bounds (arch_split). */
static void leaves_visit(struct arch_space *space, uint64_t address, uint64_t end,
                         void (*visit)(void *context, uint64_t *entry, uint64_t address, int level),
                         void *context)
{
    while (address < end) {
        struct leaf leaf = leaf_find(space->root, address);
        uint64_t *entry = leaf.entry;
        int level = leaf.level;

        crosscall_serve();
        do {
            if (entry_get(entry))
                visit(context, entry, address, level);
            address = (address & ~(level_bytes(level) - 1)) + level_bytes(level);
        } while (address < end && entry_next(&entry, address, level) &&
                 !entry_is_table(entry_get(entry), level));
    }
}

/* ---- Unmap and move ---- */

struct unmap {
    uint64_t start, end;
    struct arch_hole hole;
    struct page_pool *pages;
    struct tlb_batch batch;
    struct page_pool *owner;  /* of the memory; NULL: it stays */
    uint64_t physical, bytes; /* the run gathered so far */
};

/* Finds the entries of a table, which maps addresses from `base` on, that map the range: [*first, *last]. */
static void entries_in_range(const struct unmap *unmap, uint64_t base, int level, uint64_t *first,
                             uint64_t *last)
{
    uint64_t table_bytes = table_entries(level) * level_bytes(level);
    uint64_t from = unmap->start > base ? unmap->start - base : 0;
    uint64_t to = unmap->end - base < table_bytes ? unmap->end - base : table_bytes;

    *first = from / level_bytes(level);
    *last = (to - 1) / level_bytes(level);
}

/* Makes a leaf not present; `context` is the batch of translations. */
static void leaf_unlink(void *context, uint64_t *entry, uint64_t address, int level)
{
    (void)level;
    if (entry_get(entry) & PTE_PRESENT)
        tlb_batch_add(context, address);
    entry_set(entry, entry_get(entry) & ~PTE_PRESENT);
}

/* Makes what the range maps not present, and unlinks tables that become empty. */
static void range_unlink(struct unmap *unmap, uint64_t *table, uint64_t base, int level)
{
    uint64_t first, last;

    crosscall_serve();
    entries_in_range(unmap, base, level, &first, &last);
    for (uint64_t i = first; i <= last; i++) {
        uint64_t *entry = table + i, address = base + i * level_bytes(level);

        if (!entry_is_table(entry_get(entry), level)) {
            leaf_unlink(&unmap->batch, entry, address, level);
            continue;
        }
        range_unlink(unmap, entry_table(entry_get(entry)), address, level - 1);
        if (address >= unmap->hole.low && address + level_bytes(level) <= unmap->hole.high) {
            tlb_batch_add(&unmap->batch, address);
            entry_set(entry, (entry_get(entry) & PTE_ADDRESS) | PTE_UNLINKED);
        }
    }
}

/* Joins neighbouring physical runs before they are released. */
static void run_release(struct unmap *unmap, uint64_t physical, uint64_t bytes)
{
    if (!unmap->owner)
        return;
    if (unmap->bytes && unmap->physical + unmap->bytes == physical) {
        unmap->bytes += bytes;
        return;
    }
    if (unmap->bytes)
        page_pool_free(unmap->owner, unmap->physical, unmap->bytes);
    unmap->physical = physical;
    unmap->bytes = bytes;
}

/* Clears the entries, frees unlinked tables, releases the memory: after the shootdown. */
static void range_release(struct unmap *unmap, uint64_t *table, uint64_t base, int level)
{
    uint64_t first, last;

    crosscall_serve();
    entries_in_range(unmap, base, level, &first, &last);
    for (uint64_t i = first; i <= last; i++) {
        uint64_t *entry = table + i, address = base + i * level_bytes(level);
        const uint64_t value = entry_get(entry);
        const bool unlinked = level > 0 && (value & PTE_UNLINKED);

        if (unlinked || entry_is_table(value, level)) {
            range_release(unmap, entry_table(value), address, level - 1);
            if (!unlinked)
                continue;
            table_free(unmap->pages, value & PTE_ADDRESS, level - 1);
        } else if (value) {
            run_release(unmap, leaf_address(value, level), level_bytes(level));
        }
        entry_set(entry, 0);
    }
}

void arch_unmap(struct arch_space *space, uint64_t address, uint64_t bytes, struct arch_hole hole,
                struct page_pool *owner)
{
    uint64_t *root = arch_physical(space->root);
    struct unmap unmap = { .start = address,
                           .end = address + bytes,
                           .hole = hole,
                           .pages = space->pages,
                           .batch = { .space = space },
                           .owner = owner };

    if (bytes == 0)
        return;
    range_unlink(&unmap, root, 0, LEVEL_ROOT);
    tlb_batch_flush(&unmap.batch);
    range_release(&unmap, root, 0, LEVEL_ROOT);
    if (unmap.bytes)
        page_pool_free(owner, unmap.physical, unmap.bytes);
}

struct move {
    struct arch_space *space;
    uint64_t distance; /* distance to the new address; wraps around if the new address is lower */
    unsigned rights;
};

static void leaf_move(void *context, uint64_t *entry, uint64_t address, int level)
{
    const struct move *move = context;
    const uint64_t physical = leaf_address(entry_get(entry), level);

    entry_set(entry, 0);
    /* Cannot fail: the caller has ensured that there is memory for tables. */
    (void)arch_map(move->space, address + move->distance, physical, level_bytes(level), move->rights);
}

void arch_move(struct arch_space *space, uint64_t address, uint64_t to, uint64_t bytes, unsigned rights)
{
    struct tlb_batch batch = { .space = space };
    struct move move = { space, to - address, rights };

    leaves_visit(space, address, address + bytes, leaf_unlink, &batch);
    tlb_batch_flush(&batch);
    leaves_visit(space, address, address + bytes, leaf_move, &move);
}

/* ---- Tables in several spaces ---- */

/* Returns the level of the entry by which a tree of this length is linked. */
static int link_level(uint64_t bytes)
{
    return bytes <= level_bytes(LEVEL_HUGE) ? LEVEL_HUGE : LEVEL_ROOT;
}

uint64_t arch_link_span(uint64_t bytes)
{
    return level_bytes(link_level(bytes));
}

int arch_link(struct arch_space *space, uint64_t address, struct arch_space *tree, uint64_t bytes)
{
    const int level = link_level(bytes);
    uint64_t *table = entry_create(tree->root, 0, level - 1, USER_TABLE_BITS, tree->pages);
    uint64_t *entry = table ? leaf_create(space, address, level) : NULL;

    if (!entry)
        return -ENOMEM;
    entry_set(entry, entry_get(entry_create(tree->root, 0, level, USER_TABLE_BITS, tree->pages)));
    return 0;
}

void arch_unlink(struct arch_space *space, uint64_t address, uint64_t bytes)
{
    entry_set(entry_create(space->root, address, link_level(bytes), USER_TABLE_BITS, space->pages), 0);
    arch_flush(space);
}

void arch_flush(struct arch_space *space)
{
    struct tlb_batch batch = { .space = space, .count = TLB_BATCH_PAGES + 1 };

    tlb_batch_flush(&batch);
}

/* ---- Rights ---- */

struct protect {
    uint64_t bits;
    struct tlb_batch batch;
};

/* Changes a leaf's rights. A right that is revoked needs a shootdown. One that is added needs a flush only
 * here, for the caller's sake: another CPU's fault is spurious then. */
static void leaf_protect(void *context, uint64_t *entry, uint64_t address, int level)
{
    struct protect *protect = context;
    const uint64_t old = entry_get(entry), new = leaf_entry(leaf_address(old, level), level, protect->bits);

    entry_set(entry, new);
    if (!(old & PTE_PRESENT))
        return;
    if (entry_revokes(old, new))
        tlb_batch_add(&protect->batch, address);
    else
        space_flush_page_here(protect->batch.space, address);
}

void arch_protect(struct arch_space *space, uint64_t address, uint64_t bytes, unsigned rights)
{
    struct protect protect = { .bits = rights_bits(rights), .batch = { .space = space } };

    leaves_visit(space, address, address + bytes, leaf_protect, &protect);
    tlb_batch_flush(&protect.batch);
}

/* ---- The memory attached ---- */

uint64_t arch_attached_zero(struct arch_space *space, uint64_t address, uint64_t bytes)
{
    uint64_t end = address + bytes, zeroed = 0;

    while (address < end) {
        struct leaf leaf = leaf_find(space->root, address);
        uint64_t within = level_bytes(leaf.level) - 1, left = within + 1 - (address & within);
        uint64_t run = left < end - address ? left : end - address;

        if (leaf.value) {
            arch_zero(arch_physical(leaf_address(leaf.value, leaf.level) + (address & within)), run);
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
        struct leaf leaf = leaf_find(space->root, at);
        const uint64_t *entry = leaf.entry;
        int level = leaf.level;

        crosscall_serve();
        if (at == address)
            *attached = entry_get(entry) != 0;
        do {
            if ((entry_get(entry) != 0) != *attached)
                return at - address;
            at = (at & ~(level_bytes(level) - 1)) + level_bytes(level);
            entry++;
        } while (at < end && level_index(at, level) != 0 && !entry_is_table(entry_get(entry), level));
    }
    return (at < end ? at : end) - address;
}

uint64_t arch_translate(const struct arch_space *space, uint64_t address)
{
    struct leaf leaf = leaf_find(space->root, address);
    uint64_t within = level_bytes(leaf.level) - 1;

    return leaf.value ? leaf_address(leaf.value, leaf.level) + (address & within) : PAGE_POOL_NONE;
}
