/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_shared_view.c: the promises of shared_view.h, over all of kernel/mm and x86_64's page tables: two
 * ranks, each on a CPU of its own, map objects and change their sizes, and the test walks the tables as a CPU
 * does. What a CPU may have cached must stay true, and go when the object is cut.
 */
#include "arch/page_table.h"
#include "arch/setup.h"
#include "arena.h"
#include "check.h"
#include "lib/errno.h"
#include "mm/shared_memory.h"
#include "mm/vm.h"

#define RANKS       2
#define OBJECTS     2
#define MAPS        12
#define SLICE_BYTES (24ULL << 20)
#define KNOWN       256
#define BOTH        (RIGHT_READ | RIGHT_WRITE)

struct cpu_features cpu_features = { .no_execute = true, .huge_pages = true };
uint32_t klog_mask;

static struct page_pool slices[RANKS];
static struct vm vms[RANKS];
static struct cpu_mask cpus[RANKS];
static struct shared_memory *objects[OBJECTS];
static uint64_t seed = 7, crosscalls, before_maps[RANKS];

/* What a CPU has cached. */
static struct known {
    uint64_t address, physical;
} known[RANKS][KNOWN];
static unsigned known_count[RANKS];

static uint64_t below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

/* ---- the machine ---- */

bool arch_huge_pages(void)
{
    return cpu_features.huge_pages;
}

void arch_zero(void *memory, uint64_t bytes)
{
    arena_zero(memory, bytes);
}

uint64_t kernel_root(void)
{
    return ARENA_BASE + ARENA_BYTES - ARCH_PAGE;
}

uint64_t cpu_tables(void)
{
    return vms[arena_cpu].space.root;
}

void cpu_tables_set(uint64_t root)
{
    CHECK_EQUAL(root, vms[arena_cpu].space.root);
    known_count[arena_cpu] = 0;
}

void tlb_invalidate_page(uint64_t address)
{
    for (unsigned i = 0; i < known_count[arena_cpu]; i++)
        if (known[arena_cpu][i].address == page_down(address))
            known[arena_cpu][i--] = known[arena_cpu][--known_count[arena_cpu]];
}

void crosscall_serve(void)
{
    /* calls are served at once */
}

void crosscall(const struct cpu_mask *mask, void (*function)(void *context), void *context)
{
    const unsigned caller = arena_cpu;

    crosscalls++;
    for (arena_cpu = 0; arena_cpu < RANKS; arena_cpu++)
        if (arena_cpu != caller && cpu_mask_test(mask, arena_cpu))
            function(context);
    arena_cpu = caller;
}

int user_read(void *to, uint64_t from, uint64_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

int user_write(uint64_t to, const void *from, uint64_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int user_clear(uint64_t to, uint64_t bytes)
{
    memset((void *)(uintptr_t)to, 0, bytes);
    return 0;
}

/* ---- what is seen ---- */

/* Walks the tables. Returns the page's memory, or 0 if it is not present; *rights are the program's. */
static uint64_t look(unsigned rank, uint64_t address, unsigned *rights)
{
    struct leaf leaf = leaf_find(vms[rank].space.root, address);

    *rights = 0;
    if (!(leaf.value & PTE_PRESENT))
        return 0;
    *rights = RIGHT_READ | (leaf.value & PTE_WRITE ? RIGHT_WRITE : 0) |
              (leaf.value & PTE_NO_EXECUTE ? 0 : RIGHT_EXECUTE);
    uint64_t physical = leaf_address(leaf.value, leaf.level) + (address & (level_bytes(leaf.level) - 1));
    if (known_count[rank] < KNOWN && below(4) == 0)
        known[rank][known_count[rank]++] = (struct known){ page_down(address), page_down(physical) };
    return page_down(physical);
}

static void check_known(void)
{
    unsigned rights;

    for (unsigned rank = 0; rank < RANKS; rank++)
        for (unsigned i = 0; i < known_count[rank]; i++)
            CHECK_EQUAL(look(rank, known[rank][i].address, &rights), known[rank][i].physical);
}

static struct map {
    uint64_t address, pages, first; /* the first page of the object */
    unsigned rank, object, rights;
} maps[MAPS];

/* Checks each page of a mapping: those of the object, as far as it reaches, if the mapping follows it.
 * `late`: there may be no tables yet. */
static void check_map(const struct map *map, bool late)
{
    struct shared_memory *object = objects[map->object];
    const uint64_t pages = (object->bytes + ARCH_PAGE - 1) / ARCH_PAGE;

    for (uint64_t i = 0; i < map->pages; i += i < 1000 ? 1 : 1000) {
        struct vm_area area = { .view = NULL };
        uint64_t address = map->address + i * ARCH_PAGE, expected = 0;
        unsigned rights;
        uint64_t physical = look(map->rank, address, &rights);

        CHECK(vm_find(&vms[map->rank], address, &area) && area.object == object);
        shared_memory_run(object, (map->first + i) * ARCH_PAGE, ARCH_PAGE, &expected);
        if (area.view && !late)
            CHECK_EQUAL(physical != 0, map->first + i < pages);
        if (area.view && map->first + i >= pages)
            CHECK_EQUAL(physical, 0);
        if (physical) {
            CHECK_EQUAL(physical, expected);
            CHECK_EQUAL(rights, map->rights);
        }
    }
}

static bool is_mapped(unsigned rank, uint64_t address)
{
    struct vm_area area;

    return vm_find(&vms[rank], address, &area);
}

static void check_all(bool late)
{
    unsigned rights;

    check_known();
    for (unsigned i = 0; i < MAPS; i++) {
        const struct map *map = &maps[i];
        const uint64_t ends[] = { map->address - ARCH_PAGE, map->address + map->pages * ARCH_PAGE };

        if (!map->pages)
            continue;
        check_map(map, late);
        for (unsigned end = 0; end < 2; end++)
            CHECK(is_mapped(map->rank, ends[end]) || look(map->rank, ends[end], &rights) == 0);
    }
}

static void begin(void)
{
    arena_begin();
    memset(maps, 0, sizeof(maps));
    memset(known_count, 0, sizeof(known_count));
    for (unsigned rank = RANKS; rank-- > 0;) {
        const struct memory_range range = { ARENA_BASE + rank * SLICE_BYTES, SLICE_BYTES };
        uint64_t address = 0;

        page_pool_initialise(&slices[rank], &range, 1);
        cpus[rank] = (struct cpu_mask){ 0 };
        cpu_mask_set(&cpus[rank], rank);
        CHECK_EQUAL(vm_create(&vms[rank], &slices[rank], &cpus[rank]), 0);
        arena_cpu = rank;
        arch_space_activate(&vms[rank].space);
        CHECK_EQUAL(vm_map(&vms[rank], &address, ARCH_PAGE, BOTH, 0, ""), 0);
        before_maps[rank] = slices[rank].free_bytes;
    }
    for (unsigned i = 0; i < OBJECTS; i++)
        objects[i] = shared_memory_create(&slices[0]);
}

/* Unmaps all, drops the objects, and checks that all of the slices is free again. */
static void end(void)
{
    for (unsigned rank = 0; rank < RANKS; rank++) {
        arena_cpu = rank;
        vm_end(&vms[rank]);
        CHECK_EQUAL(vms[rank].views, 0);
    }
    for (unsigned i = 0; i < OBJECTS; i++)
        shared_memory_put(objects[i]);
    shared_memory_reclaim();
    for (unsigned rank = 0; rank < RANKS; rank++)
        CHECK_EQUAL(slices[rank].free_bytes, before_maps[rank]);
    arena_cpu = 0;
}

static uint64_t map_object(unsigned rank, unsigned object, uint64_t pages, unsigned rights)
{
    uint64_t address = 0;

    arena_cpu = rank;
    CHECK_EQUAL(vm_map_shared(&vms[rank], &address, pages * ARCH_PAGE, rights, 0, objects[object], 0, ""), 0);
    return address;
}

static bool shows(unsigned rank, uint64_t address)
{
    unsigned rights;

    return look(rank, address, &rights) != 0;
}

/* ---- promises ---- */

TEST(mapping_far_beyond_the_end_shows_what_any_rank_adds)
{
    begin();
    uint64_t far[RANKS] = { map_object(0, 0, 1 << 20, BOTH), map_object(1, 0, 1 << 20, RIGHT_READ) };
    uint64_t free = slices[0].free_bytes + slices[1].free_bytes;
    char byte = 'x';

    CHECK(free > 2 * SLICE_BYTES - (256 << 10)); /* whatever the length */
    for (uint64_t page = 0; page < 1200; page += 1 + below(90)) {
        unsigned rank = (unsigned)below(RANKS);

        crosscalls = 0;
        CHECK_EQUAL(shared_memory_write(objects[0], &slices[rank], (uint64_t)(uintptr_t)&byte, 1,
                                        page * ARCH_PAGE + 5),
                    1);
        CHECK_EQUAL(crosscalls, 0);
        for (unsigned i = 0; i < RANKS; i++) {
            CHECK(shows(i, far[i] + page * ARCH_PAGE));
            CHECK(!shows(i, far[i] + (page + 1) * ARCH_PAGE));
            CHECK_EQUAL(vm_beyond_object(&vms[i], far[i] + page * ARCH_PAGE), 0);
            CHECK_EQUAL(vm_beyond_object(&vms[i], far[i] + (page + 1) * ARCH_PAGE), VM_BEYOND_END);
        }
    }
    end();
}

TEST(cut_is_seen_by_every_mapping_at_once)
{
    begin();
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[0], 1000 * ARCH_PAGE, SIZE_RESIZE), 0);
    uint64_t at[3] = { map_object(0, 0, 1000, BOTH), map_object(1, 0, 1000, BOTH),
                       map_object(1, 0, 900, BOTH) };
    const unsigned rank_of[3] = { 0, 1, 1 };

    for (unsigned i = 0; i < 3; i++)
        CHECK(shows(rank_of[i], at[i]) && shows(rank_of[i], at[i] + 800 * ARCH_PAGE));
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[1], 5, SIZE_RESIZE), 0);
    check_known();
    for (unsigned i = 0; i < 3; i++)
        CHECK(shows(rank_of[i], at[i]) && !shows(rank_of[i], at[i] + ARCH_PAGE) &&
              !shows(rank_of[i], at[i] + 800 * ARCH_PAGE));
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[1], 900 * ARCH_PAGE, SIZE_RESIZE), 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK(shows(rank_of[i], at[i] + 899 * ARCH_PAGE));
    end();
}

TEST(growth_without_memory_for_tables_succeeds_and_is_tried_again_at_a_fault)
{
    struct memory_range taken;
    char byte = 'x';

    begin();
    uint64_t at = map_object(1, 0, 1 << 16, RIGHT_READ);
    map_object(1, 0, 1 << 16, RIGHT_READ);
    taken.base = page_pool_allocate_partial(&slices[1], slices[1].free_bytes, &taken.bytes);
    while (page_pool_allocate(&slices[1], ARCH_PAGE, ARCH_PAGE) != PAGE_POOL_NONE)
        continue;
    arena_cpu = 0;
    CHECK_EQUAL(shared_memory_write(objects[0], &slices[0], (uint64_t)(uintptr_t)&byte, 1, 7 * ARCH_PAGE), 1);
    CHECK(!shows(1, at));
    arena_cpu = 1;
    CHECK(!vm_fault_is_spurious(&vms[1], at, RIGHT_READ));
    CHECK_EQUAL(vm_beyond_object(&vms[1], at), VM_BEYOND_TABLES);
    CHECK_EQUAL(vm_beyond_object(&vms[1], at + 8 * ARCH_PAGE), VM_BEYOND_END);
    page_pool_free(&slices[1], taken.base, taken.bytes);
    CHECK(vm_fault_is_spurious(&vms[1], at, RIGHT_READ));
    CHECK(shows(1, at + 7 * ARCH_PAGE) && !shows(1, at + 8 * ARCH_PAGE));
}

TEST(rank_with_memory_does_not_suffer_from_one_without)
{
    struct memory_range taken;
    char byte = 'x';

    begin();
    uint64_t poor = map_object(1, 0, 1 << 16, RIGHT_READ), rich = map_object(0, 0, 1 << 16, RIGHT_READ);
    while ((taken.base = page_pool_allocate_partial(&slices[1], slices[1].free_bytes, &taken.bytes)) !=
           PAGE_POOL_NONE)
        continue;
    CHECK_EQUAL(shared_memory_write(objects[0], &slices[0], (uint64_t)(uintptr_t)&byte, 1, 7 * ARCH_PAGE), 1);
    arena_cpu = 1;
    CHECK(!vm_fault_is_spurious(&vms[1], poor, RIGHT_READ));
    arena_cpu = 0;
    CHECK(vm_fault_is_spurious(&vms[0], rich + 5 * ARCH_PAGE, RIGHT_READ));
    CHECK(shows(0, rich) && shows(0, rich + 7 * ARCH_PAGE) && !shows(0, rich + 8 * ARCH_PAGE));
    CHECK_EQUAL(shared_memory_write(objects[0], &slices[0], (uint64_t)(uintptr_t)&byte, 1, 9 * ARCH_PAGE), 1);
    CHECK(!vm_fault_is_spurious(&vms[0], rich + 8 * ARCH_PAGE, BOTH));
    CHECK(vm_fault_is_spurious(&vms[0], rich + 8 * ARCH_PAGE, RIGHT_READ));
    CHECK(shows(0, rich + 9 * ARCH_PAGE) &&
          !vm_fault_is_spurious(&vms[0], rich + 10 * ARCH_PAGE, RIGHT_READ));
}

TEST(growth_costs_the_same_for_any_number_of_mappings)
{
    begin();
    for (unsigned i = 0; i < 300; i++)
        map_object(i % RANKS, 0, 1 << 17, BOTH);
    uint64_t free = slices[0].free_bytes + slices[1].free_bytes;
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[0], ARCH_PAGE, SIZE_RESIZE), 0);
    CHECK_EQUAL(free - slices[0].free_bytes - slices[1].free_bytes, 2 * ARCH_PAGE); /* the page, a table */
    end();
}

TEST(whatever_changes_in_part_is_no_longer_shared_and_disturbs_no_other)
{
    begin();
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[0], 700 * ARCH_PAGE, SIZE_RESIZE), 0);
    uint64_t a = map_object(0, 0, 1000, BOTH), b = map_object(0, 0, 1000, BOTH), c = a + 2000 * ARCH_PAGE;
    unsigned rights;

    CHECK_EQUAL(vm_protect(&vms[0], a + 10 * ARCH_PAGE, 5 * ARCH_PAGE, RIGHT_READ), 0);
    look(0, a + 10 * ARCH_PAGE, &rights);
    CHECK_EQUAL(rights, RIGHT_READ);
    look(0, b + 10 * ARCH_PAGE, &rights);
    CHECK_EQUAL(rights, BOTH);
    CHECK_EQUAL(vm_unmap(&vms[0], b, ARCH_PAGE), 0);
    CHECK(!shows(0, b) && shows(0, b + ARCH_PAGE) && shows(0, a));
    /* What comes to lie next to a view, in its spans, does not enter its tables. */
    uint64_t d = map_object(0, 0, 1000, BOTH), e = map_object(1, 0, 1000, BOTH);
    c = d + 2000 * ARCH_PAGE;
    CHECK_EQUAL(vm_map(&vms[0], &c, ARCH_PAGE, BOTH, VM_FIXED, ""), 0);
    CHECK(shows(0, c) && shows(0, d) && shows(1, e) && !shows(1, e + 2000 * ARCH_PAGE));
    CHECK_EQUAL(vm_unmap(&vms[0], c, ARCH_PAGE), 0);
    end();
}

TEST(remapped_mapping_follows_in_its_new_length)
{
    begin();
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[0], 10 * ARCH_PAGE, SIZE_RESIZE), 0);
    uint64_t at = map_object(0, 0, 10, BOTH), old = at;

    CHECK_EQUAL(vm_remap(&vms[0], &at, 10 * ARCH_PAGE, 5000 * ARCH_PAGE, VM_MAY_MOVE, 0), 0);
    CHECK(shows(0, at + 9 * ARCH_PAGE) && !shows(0, at + 10 * ARCH_PAGE) && (at == old || !shows(0, old)));
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[1], 4000 * ARCH_PAGE, SIZE_RESIZE), 0);
    CHECK(shows(0, at + 3999 * ARCH_PAGE) && !shows(0, at + 4000 * ARCH_PAGE));
    end();
}

TEST(object_with_too_many_views_is_mapped_all_the_same)
{
    begin();
    CHECK_EQUAL(shared_memory_size(objects[0], &slices[0], 100 * ARCH_PAGE, SIZE_RESIZE), 0);
    for (uint64_t pages = 1; pages <= 3 * SHARED_VIEWS_MAX; pages++) {
        uint64_t at = map_object(0, 0, pages, RIGHT_READ);

        CHECK(shows(0, at) && shows(0, at + (pages - 1) * ARCH_PAGE) && !shows(0, at + pages * ARCH_PAGE));
    }
    CHECK_EQUAL(vms[0].views, SHARED_VIEWS_MAX);
    end();
}

/* ---- random operations ---- */

static const unsigned some_rights[] = { RIGHT_READ, BOTH, RIGHT_READ | RIGHT_EXECUTE };

static void try_map(struct map *map)
{
    struct map new = { .address = 0,
                       .pages = 1 + below(below(3)   ? 40
                                          : below(2) ? 3000
                                                     : 1 << 19),
                       .first = below(2) ? 0 : below(600),
                       .rank = (unsigned)below(RANKS),
                       .object = (unsigned)below(OBJECTS),
                       .rights = some_rights[below(3)] };
    unsigned flags = 0;

    if (below(4) == 0) { /* into the spans of another one */
        const struct map *other = &maps[below(MAPS)];

        new.address = other->address + (other->pages + below(3)) * ARCH_PAGE;
        flags = other->pages && below(2) ? VM_FIXED | VM_NO_REPLACE : 0;
        new.pages = smaller(new.pages, 40);
    }
    arena_cpu = new.rank;
    int error = vm_map_shared(&vms[new.rank], &new.address, new.pages *ARCH_PAGE, new.rights, flags,
                              objects[new.object], new.first *ARCH_PAGE, "");
    CHECK(error == 0 || error == -ENOMEM || (flags && error == -EEXIST));
    if (!error)
        *map = new;
}

static void try_change(struct map *map)
{
    struct vm *vm = &vms[map->rank];
    uint64_t part = 1 + below(map->pages);
    int error;

    arena_cpu = map->rank;
    switch (below(5)) {
    case 0: /* a part of it; the model forgets the rest */
        error = vm_unmap(vm, map->address + part * ARCH_PAGE, (map->pages - part) * ARCH_PAGE);
        CHECK(error == 0 || error == -ENOMEM || part == map->pages);
        map->pages = error ? map->pages : part;
        break;
    case 1: {
        uint64_t more = map->pages + below(100);

        error = vm_remap(vm, &map->address, map->pages * ARCH_PAGE, more * ARCH_PAGE, VM_MAY_MOVE, 0);
        CHECK(error == 0 || error == -ENOMEM);
        map->pages = error ? map->pages : more;
        break;
    }
    case 2: {
        unsigned rights = some_rights[below(3)];

        error = vm_protect(vm, map->address, map->pages * ARCH_PAGE, rights);
        CHECK(error == 0 || error == -ENOMEM);
        map->rights = error ? map->rights : rights;
        break;
    }
    default:
        CHECK_EQUAL(vm_unmap(vm, map->address, map->pages * ARCH_PAGE), 0);
        map->pages = 0;
    }
}

static void try_size(void)
{
    static char bytes[200000];
    const unsigned rank = (unsigned)below(RANKS);
    struct shared_memory *object = objects[below(OBJECTS)];
    const uint64_t size = below(below(2) ? 30 * ARCH_PAGE : 900 * ARCH_PAGE);

    arena_cpu = rank;
    if (below(2))
        shared_memory_size(object, &slices[rank], size, (enum size_change)below(3));
    else
        shared_memory_write(object, &slices[rank], (uint64_t)(uintptr_t)bytes, below(sizeof(bytes)), size);
}

TEST(random_operations_show_every_page_that_there_is_and_no_other)
{
    for (unsigned round = 0; round < 12 && check_state.failures == 0; round++) {
        struct memory_range hoard = { PAGE_POOL_NONE, 0 };
        bool late = false;

        begin();
        for (unsigned step = 0; step < 400 && check_state.failures == 0; step++) {
            struct map *map = &maps[below(MAPS)];

            if (round % 3 == 2 && step % 50 == 10) { /* a slice without memory, for a while */
                hoard.base = page_pool_allocate_partial(&slices[1], slices[1].free_bytes, &hoard.bytes);
                late = true;
            }
            if (hoard.base != PAGE_POOL_NONE && step % 50 == 30) {
                page_pool_free(&slices[1], hoard.base, hoard.bytes);
                hoard.base = PAGE_POOL_NONE;
            }
            if (below(3) == 0)
                try_size();
            else if (map->pages)
                try_change(map);
            else
                try_map(map);
            check_all(late);
            if (check_state.failures)
                fprintf(stderr, "    round %u, step %u\n", round, step);
        }
        if (hoard.base != PAGE_POOL_NONE)
            page_pool_free(&slices[1], hoard.base, hoard.bytes);
        for (unsigned i = 0; i < OBJECTS; i++)
            shared_views_update(objects[i]);
        check_all(false);
        end();
    }
}

int main(void)
{
    RUN(mapping_far_beyond_the_end_shows_what_any_rank_adds);
    RUN(cut_is_seen_by_every_mapping_at_once);
    RUN(growth_without_memory_for_tables_succeeds_and_is_tried_again_at_a_fault);
    RUN(rank_with_memory_does_not_suffer_from_one_without);
    RUN(growth_costs_the_same_for_any_number_of_mappings);
    RUN(whatever_changes_in_part_is_no_longer_shared_and_disturbs_no_other);
    RUN(remapped_mapping_follows_in_its_new_length);
    RUN(object_with_too_many_views_is_mapped_all_the_same);
    RUN(random_operations_show_every_page_that_there_is_and_no_other);
    return check_report("shared_view");
}
