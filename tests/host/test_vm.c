/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vm.c: the promises of vm.h over page tables that are a plain array with one entry a page, and that
 * insist on the contract of arch.h: nothing is mapped twice, nothing is cut that was not split before.
 *
 * A table costs a page of the slice for each large page's worth of addresses in which something was mapped,
 * whether in small pages or as a large one that was split, and goes back with the hole around it; so mapping
 * and splitting can run out of memory as the real ones can.
 */
#include "vm_promises.h"

#define TABLES (WINDOW_PAGES / 512)

static struct {
    bool attached;
    unsigned rights;
    uint64_t physical, page_bytes;
} table[WINDOW_PAGES];
static bool has_table[TABLES];
static uint64_t table_page[TABLES];

static struct seen_page space_look(const struct arch_space *space, uint64_t address)
{
    uint64_t index = index_of(address);

    CHECK(space == &vm.space);
    return (struct seen_page){ table[index].attached, table[index].rights, table[index].physical,
                               table[index].page_bytes };
}

static uint64_t space_table_bytes(const struct arch_space *space)
{
    uint64_t count = 0;

    CHECK(space == &vm.space);
    for (unsigned i = 0; i < TABLES; i++)
        count += has_table[i];
    return count * ARCH_PAGE;
}

static void space_begin(struct arch_space *space)
{
    CHECK(space == &vm.space);
}

static bool in_window(uint64_t address)
{
    return address >= WINDOW_BASE && address < page_at(WINDOW_PAGES);
}

static bool table_make(struct arch_space *space, uint64_t index)
{
    if (has_table[index / 512])
        return true;
    table_page[index / 512] = page_pool_allocate(space->pages, ARCH_PAGE, ARCH_PAGE);
    has_table[index / 512] = table_page[index / 512] != PAGE_POOL_NONE;
    return has_table[index / 512];
}

/* Returns whether a page begins at `address`, or nothing is there. */
static bool is_page_bound(uint64_t address)
{
    return !in_window(address) || !table[index_of(address)].attached ||
           address % table[index_of(address)].page_bytes == 0;
}

bool arch_huge_pages(void)
{
    return false;
}

uint64_t arch_link_span(uint64_t bytes)
{
    (void)bytes;
    return ARCH_HUGE_PAGE;
}

void arch_zero(void *memory, uint64_t bytes)
{
    arena_zero(memory, bytes);
}

int arch_space_create(struct arch_space *space, struct page_pool *pool)
{
    memset(table, 0, sizeof(table));
    memset(has_table, 0, sizeof(has_table));
    space->pages = pool;
    return 0;
}

int arch_map(struct arch_space *space, uint64_t address, uint64_t physical, uint64_t bytes, unsigned rights)
{
    CHECK(address % ARCH_PAGE == 0 && physical % ARCH_PAGE == 0 && bytes > 0 && bytes % ARCH_PAGE == 0);
    for (uint64_t done = 0; done < bytes; done += ARCH_PAGE) {
        uint64_t index = index_of(address + done);

        if (!CHECK(in_window(address + done) && !table[index].attached))
            return -ENOMEM;
        if (!table_make(space, index)) {
            arch_unmap(space, address, done, (struct arch_hole){ address, address }, NULL);
            return -ENOMEM;
        }
        bool large =
            ((address + done) | (physical + done)) % ARCH_LARGE_PAGE == 0 && bytes - done >= ARCH_LARGE_PAGE;
        for (uint64_t i = 0; i < (large ? 512 : 1); i++) {
            table[index + i].attached = true;
            table[index + i].rights = rights;
            table[index + i].physical = physical + done + i * ARCH_PAGE;
            table[index + i].page_bytes = large ? ARCH_LARGE_PAGE : ARCH_PAGE;
        }
        done += large ? ARCH_LARGE_PAGE - ARCH_PAGE : 0;
    }
    return 0;
}

int arch_split(struct arch_space *space, uint64_t address)
{
    if (is_page_bound(address))
        return 0;
    if (!table_make(space, index_of(address)))
        return -ENOMEM;
    for (uint64_t i = 0, first = index_of(address) / 512 * 512; i < 512; i++)
        table[first + i].page_bytes = ARCH_PAGE;
    return 0;
}

void arch_unmap(struct arch_space *space, uint64_t address, uint64_t bytes, struct arch_hole hole,
                struct page_pool *owner)
{
    CHECK(hole.low <= address && (hole.high >= address + bytes || hole.high == hole.low));
    CHECK(space == &vm.space);
    CHECK(is_page_bound(address) && is_page_bound(address + bytes));
    for (uint64_t done = 0; done < bytes; done += ARCH_PAGE) {
        uint64_t index = index_of(address + done);

        if (!in_window(address + done) || !table[index].attached)
            continue;
        table[index].attached = false;
        table[index].rights = 0;
        if (owner)
            page_pool_free(owner, table[index].physical, ARCH_PAGE);
    }
    for (uint64_t i = 0; i < TABLES; i++) {
        uint64_t low = page_at(i * 512), high = page_at(i * 512 + 512);

        if (!has_table[i] || high <= address || low >= address + bytes || low < hole.low || high > hole.high)
            continue;
        for (uint64_t page = i * 512; page < i * 512 + 512; page++)
            CHECK(!table[page].attached);
        page_pool_free(space->pages, table_page[i], ARCH_PAGE);
        has_table[i] = false;
    }
    rival_allocate();
}

static struct {
    struct arch_space *space;
    uint64_t to;
    unsigned rights;
} moving;

static void move_page(void *context, uint64_t physical, uint64_t bytes)
{
    CHECK(context == &moving);
    CHECK_EQUAL(arch_map(moving.space, moving.to, physical, bytes, moving.rights), 0);
}

void arch_move(struct arch_space *space, uint64_t address, uint64_t to, uint64_t bytes, unsigned rights)
{
    CHECK(is_page_bound(address) && is_page_bound(address + bytes));
    for (uint64_t done = 0; done < bytes;) {
        uint64_t index = index_of(address + done);
        uint64_t page_bytes = table[index].attached ? table[index].page_bytes : ARCH_PAGE;
        uint64_t physical = table[index].physical;

        moving.space = space, moving.to = to + done, moving.rights = rights;
        if (table[index].attached) {
            CHECK_EQUAL(table[index].rights, rights);
            arch_unmap(space, address + done, page_bytes,
                       (struct arch_hole){ address + done, address + done }, NULL);
            move_page(&moving, physical, page_bytes);
        }
        done += page_bytes;
    }
}

bool arch_space_allows(const struct arch_space *space, uint64_t address, unsigned rights)
{
    CHECK(space == &vm.space);
    return in_window(address) && table[index_of(address)].attached &&
           (table[index_of(address)].rights & rights) == rights;
}

void arch_protect(struct arch_space *space, uint64_t address, uint64_t bytes, unsigned rights)
{
    CHECK(space == &vm.space);
    CHECK(is_page_bound(address) && is_page_bound(address + bytes));
    for (uint64_t done = 0; done < bytes; done += ARCH_PAGE)
        if (in_window(address + done) && table[index_of(address + done)].attached)
            table[index_of(address + done)].rights = rights;
}

uint64_t arch_attached_zero(struct arch_space *space, uint64_t address, uint64_t bytes)
{
    uint64_t zeroed = 0;

    CHECK(space == &vm.space);
    for (uint64_t at = address, end = address + bytes; at < end;) {
        uint64_t next = (at / ARCH_PAGE + 1) * ARCH_PAGE < end ? (at / ARCH_PAGE + 1) * ARCH_PAGE : end;

        if (in_window(at) && table[index_of(at)].attached) {
            memset((uint8_t *)arch_physical(table[index_of(at)].physical) + at % ARCH_PAGE, 0, next - at);
            zeroed += next - at;
        }
        at = next;
    }
    return zeroed;
}

uint64_t arch_attached_run(const struct arch_space *space, uint64_t address, uint64_t bytes, bool *attached)
{
    uint64_t run = 0;

    CHECK(space == &vm.space);
    *attached = in_window(address) && table[index_of(address)].attached;
    while (run < bytes && *attached == (in_window(address + run) && table[index_of(address + run)].attached))
        run += in_window(address + run) ? ARCH_PAGE : bytes - run;
    return run < bytes ? run : bytes;
}

int main(void)
{
    vm_promises_run();
    return check_report("vm");
}
