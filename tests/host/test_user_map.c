/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_user_map.c: the page tables of arch/common/user_map.c over an arena: the promises of vm.h on top of
 * them, then the contract of arch.h itself, with pages of all three sizes, against one entry a page.
 *
 * The test walks the tables as a CPU does [Intel SDM 3A §4.5], and remembers, as a CPU may, translations and
 * the tables on the way to them, until the code under test says that they must be forgotten: what is
 * remembered must stay true, on each of two CPUs, and be invalidated before memory is freed. INVLPG
 * invalidates the one translation and all cached tables on the way to anything [§4.10.4.1].
 */
#include "arch.h"
#include "arch/page_table.h"
#include "arch/setup.h"

#define VM_ROUNDS 4
#include "vm_promises.h"

#define MEMORY_SLOTS 512
#define HUGE_PAGES   4ULL
#define GRID_PAGES   (HUGE_PAGES * ARCH_HUGE_PAGE / ARCH_PAGE)
#define GRID_BASE    ((3ULL << 39) - 2 * ARCH_HUGE_PAGE) /* across a bound of the root's entries */

struct cpu_features cpu_features = { .no_execute = true };
static uint64_t upper_half;
uint32_t klog_mask;

/* ---- what the CPU knows ---- */

struct translation {
    uint64_t address, page_bytes, physical;
    unsigned rights;
};

struct way {
    uint64_t address, table;
    int level;
};

/* Two CPUs use the space: the one that runs the code under test, and one that hears of it by crosscall. */
#define CPUS 2

static struct {
    struct translation translations[MEMORY_SLOTS];
    struct way ways[MEMORY_SLOTS];
    unsigned translation_count, way_count;
} cpus[CPUS];
static const struct arch_space *known_space;
static unsigned crosscalls;

static void cpu_forget_all(unsigned cpu)
{
    cpus[cpu].translation_count = cpus[cpu].way_count = 0;
}

uint64_t cpu_tables(void)
{
    return known_space->root;
}

void cpu_tables_set(uint64_t root)
{
    CHECK(root == upper_half || (known_space && root == known_space->root));
    cpu_forget_all(arena_cpu);
}

void tlb_invalidate_page(uint64_t address)
{
    for (unsigned i = 0; i < cpus[arena_cpu].translation_count;) {
        struct translation *known = &cpus[arena_cpu].translations[i];

        if (address - known->address < known->page_bytes)
            *known = cpus[arena_cpu].translations[--cpus[arena_cpu].translation_count];
        else
            i++;
    }
    cpus[arena_cpu].way_count = 0;
}

void crosscall(const struct cpu_mask *mask, void (*function)(void *context), void *context)
{
    CHECK_EQUAL(cpu_mask_next(mask, CPUS), CPU_MASK_END);
    CHECK(cpu_mask_has_others(mask, arena_cpu));
    crosscalls++;
    for (unsigned cpu = 0, caller = arena_cpu; cpu < CPUS; cpu++) {
        if (cpu == caller || !cpu_mask_test(mask, cpu))
            continue;
        arena_cpu = cpu;
        function(context);
        arena_cpu = caller;
    }
}

/* Begins with a new space, which both CPUs use from now on. */
static void cpus_begin(struct arch_space *space)
{
    known_space = space;
    for (arena_cpu = CPUS; arena_cpu-- > 0;)
        arch_space_activate(space);
    arena_cpu = 0;
    CHECK_EQUAL(cpu_mask_count(&space->cpus), CPUS);
}

/* ---- the test's own walk ---- */

static uint64_t load_entry(uint64_t table, uint64_t address, int level)
{
    return ((const uint64_t *)arch_physical(table))[address >> (12 + 9 * level) & 511];
}

/* Follows present tables only; *table and *level are where the walk ends. */
static uint64_t walk(const struct arch_space *space, uint64_t address, uint64_t *table, int *level,
                     bool *write, bool *execute)
{
    *table = space->root;
    *write = *execute = true;
    for (*level = 3;; --*level) {
        uint64_t entry = load_entry(*table, address, *level);

        if (entry & 1) {
            CHECK(entry & 4); /* all of it is the program's */
            *write = *write && (entry & 2);
            *execute = *execute && !(entry >> 63);
        }
        if (!(entry & 1) || *level == 0 || (entry & 0x80))
            return entry;
        *table = entry & 0x000ffffffffff000;
    }
}

static struct seen_page look(const struct arch_space *space, uint64_t address)
{
    bool write, execute;
    uint64_t table;
    int level;
    uint64_t entry = walk(space, address, &table, &level, &write, &execute);
    uint64_t page_bytes = 4096ULL << (9 * level);
    struct seen_page seen = { .attached = entry != 0 };

    if (!seen.attached)
        return seen;
    CHECK(entry & (1 << 9));
    CHECK(level < 3 && (level > 0) == !!(entry & 0x80)); /* in a small page's entry, it is a memory type's */
    seen.page_bytes = page_bytes;
    seen.physical =
        (entry & 0x000ffffffffff000 & ~(page_bytes - 1)) + (address & (page_bytes - 1) & ~4095ULL);
    if (entry & 1) {
        CHECK((entry & 0x60) == 0x60); /* accessed and dirty: the CPU has nothing to write */
        seen.rights = RIGHT_READ | (write ? RIGHT_WRITE : 0) | (execute ? RIGHT_EXECUTE : 0);
    }
    return seen;
}

/* Lets a CPU read the address, for itself or for the program, so that it caches the translation. */
static void remember(const struct arch_space *space, uint64_t address)
{
    struct seen_page seen = look(space, address);
    unsigned cpu = (unsigned)(check_random(&vm_seed) % CPUS);
    bool write, execute;
    uint64_t table;
    int level;

    if (!cpu_mask_test(&space->cpus, cpu))
        return;
    if (seen.rights && cpus[cpu].translation_count < MEMORY_SLOTS)
        cpus[cpu].translations[cpus[cpu].translation_count++] = (struct translation){
            address & ~(seen.page_bytes - 1),
            seen.page_bytes,
            seen.physical - (address & (seen.page_bytes - 1) & ~4095ULL),
            seen.rights,
        };
    walk(space, address, &table, &level, &write, &execute);
    if (cpus[cpu].way_count < MEMORY_SLOTS)
        cpus[cpu].ways[cpus[cpu].way_count++] = (struct way){ address, table, level };
}

/* Checks what a CPU caches: it is true, but a CPU that did not make the change may know fewer rights. */
static void check_memory_of(unsigned cpu)
{
    for (unsigned i = 0; i < cpus[cpu].translation_count; i++) {
        const struct translation *known = &cpus[cpu].translations[i];
        struct seen_page seen = look(known_space, known->address);

        CHECK_EQUAL(seen.physical, known->physical);
        CHECK_EQUAL(seen.rights & known->rights, known->rights);
        if (cpu == arena_cpu)
            CHECK_EQUAL(seen.rights, known->rights);
    }
    for (unsigned i = 0; i < cpus[cpu].way_count; i++) {
        const struct way *known = &cpus[cpu].ways[i];
        uint64_t table = known_space->root;

        for (int level = 3; level > known->level; level--) {
            uint64_t entry = load_entry(table, known->address, level);

            if (!CHECK((entry & 0x81) == 1))
                break;
            table = entry & 0x000ffffffffff000;
        }
        CHECK_EQUAL(table, known->table);
    }
    if (check_random(&vm_seed) % 8 == 0) {
        cpus[cpu].translation_count = cpus[cpu].translation_count / 2;
        cpus[cpu].way_count = cpus[cpu].way_count / 2;
    }
}

static void check_memory(void)
{
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        check_memory_of(cpu);
}

static void space_begin(struct arch_space *space)
{
    cpus_begin(space);
}

static struct seen_page space_look(const struct arch_space *space, uint64_t address)
{
    if (check_random(&vm_seed) % 64 == 0)
        remember(space, address);
    return look(space, address);
}

static uint64_t tables_below(uint64_t table, int level)
{
    uint64_t count = 1;

    for (unsigned i = 0; i < (level == 3 ? 256 : 512) && level > 0; i++) {
        uint64_t entry = ((const uint64_t *)arch_physical(table))[i];

        if ((entry & 0x81) == 1)
            count += tables_below(entry & 0x000ffffffffff000, level - 1);
    }
    return count;
}

/* Returns the bytes of tables. vm_promises.h calls it after every operation, so it checks the CPUs' view. */
static uint64_t space_table_bytes(const struct arch_space *space)
{
    check_memory();
    return tables_below(space->root, 3) * ARCH_PAGE;
}

/* ---- what user_map.c needs of others ---- */

bool arch_huge_pages(void)
{
    return cpu_features.huge_pages;
}

void arch_zero(void *memory, uint64_t bytes)
{
    arena_zero(memory, bytes);
}

/* Returns the kernel's root. A new space copies the kernel's half from it: a page above the slice. */
uint64_t kernel_root(void)
{
    upper_half = ARENA_BASE + ARENA_BYTES - ARCH_PAGE;
    for (unsigned i = 0; i < 512; i++)
        ((uint64_t *)arch_physical(upper_half))[i] = 0x1000 * i + 3;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        cpu_forget_all(cpu); /* a new space: a new test */
    known_space = &vm.space;
    return upper_half;
}

/* ---- the contract of arch.h ---- */

static struct {
    uint32_t physical; /* page number; 0: nothing attached */
    uint8_t rights;
} grid[GRID_PAGES];

static struct arch_space space;
static struct page_pool table_pool;
static struct page_pool physical_pool; /* what is mapped; its memory is never touched through the tables */

static uint64_t grid_address(uint64_t index)
{
    return GRID_BASE + index * ARCH_PAGE;
}

static void grid_begin(uint64_t table_bytes, bool huge_pages)
{
    const struct memory_range tables = { ARENA_BASE, table_bytes };
    const struct memory_range memory = { ARENA_BASE + ARCH_HUGE_PAGE, HUGE_PAGES * ARCH_HUGE_PAGE };

    arena_begin();
    memset(grid, 0, sizeof(grid));
    cpu_features.huge_pages = huge_pages;
    page_pool_initialise(&table_pool, &tables, 1);
    page_pool_initialise(&physical_pool, &memory, 1);
    CHECK_EQUAL(arch_space_create(&space, &table_pool), 0);
    cpus_begin(&space);
}

static void check_grid_page(uint64_t index)
{
    struct seen_page seen = look(&space, grid_address(index));

    CHECK_EQUAL(seen.attached, grid[index].physical != 0);
    CHECK_EQUAL(seen.physical, (uint64_t)grid[index].physical * ARCH_PAGE);
    CHECK_EQUAL(seen.rights, grid[index].rights);
    if (check_random(&vm_seed) % 16 == 0)
        remember(&space, grid_address(index));
}

static void check_grid(uint64_t step)
{
    for (uint64_t index = 0; index < GRID_PAGES; index += step)
        check_grid_page(index);
    check_memory();
    CHECK_EQUAL(table_pool.total_bytes, table_pool.free_bytes + tables_below(space.root, 3) * ARCH_PAGE);
}

/* Checks that nothing is mapped any more, and that no table is left but the root. */
static void grid_end(void)
{
    arch_unmap(&space, GRID_BASE, GRID_PAGES * ARCH_PAGE, (struct arch_hole){ 0, UINT64_MAX }, NULL);
    CHECK_EQUAL(table_pool.free_bytes, table_pool.total_bytes - ARCH_PAGE);
}

/* Looks closely where something has just happened. */
static void check_grid_around(uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < 40; i++) {
        if (first + i >= 20 && first + i - 20 < GRID_PAGES)
            check_grid_page(first + i - 20);
        if (first + count + i >= 20 && first + count + i - 20 < GRID_PAGES)
            check_grid_page(first + count + i - 20);
        check_grid_page(first + below(count));
    }
}

static uint64_t grid_round(uint64_t index)
{
    static const uint64_t units[] = { 1, 1, 512, 512, 512 * 512 };

    return index / units[below(5)] * units[below(5)] % GRID_PAGES;
}

static void random_range(uint64_t *first, uint64_t *count)
{
    *first = grid_round(below(GRID_PAGES));
    *count = 1 + below(below(2) ? 2000 : GRID_PAGES - *first);
    if (below(2))
        *count = *count < 512 ? 512 : *count / 512 * 512;
    *count = *first + *count > GRID_PAGES ? GRID_PAGES - *first : *count;
}

static bool grid_split(uint64_t first, uint64_t count)
{
    int error = arch_split(&space, grid_address(first));

    if (!error)
        error = arch_split(&space, grid_address(first + count));
    CHECK(error == 0 || error == -ENOMEM);
    return error == 0;
}

/* Returns the hole around the range. */
static struct arch_hole grid_hole(uint64_t first, uint64_t count)
{
    uint64_t low = first, high = first + count;

    while (low > 0 && !grid[low - 1].physical)
        low--;
    while (high < GRID_PAGES && !grid[high].physical)
        high++;
    return (struct arch_hole){ low ? grid_address(low) : 0,
                               high < GRID_PAGES ? grid_address(high) : UINT64_MAX };
}

static void grid_map(void)
{
    uint64_t first, count, bytes, got;

    random_range(&first, &count);
    while (count > 0 && grid[first].physical) {
        first++;
        count--;
    }
    for (uint64_t i = 0; i < count; i++)
        if (grid[first + i].physical)
            count = i;
    bytes = count * ARCH_PAGE;
    if (count == 0)
        return;
    /* sometimes at a place that is as far from a large page's bound as the address */
    uint64_t unit = bytes >= ARCH_HUGE_PAGE    ? ARCH_HUGE_PAGE
                    : bytes >= ARCH_LARGE_PAGE ? ARCH_LARGE_PAGE
                                               : ARCH_PAGE;
    uint64_t physical = below(4) ? page_pool_allocate(&physical_pool, bytes, unit) : PAGE_POOL_NONE;
    got = bytes;
    if (physical == PAGE_POOL_NONE)
        physical = page_pool_allocate_partial(&physical_pool, bytes, &got);
    if (physical == PAGE_POOL_NONE)
        return;
    unsigned rights = random_rights();
    int error = arch_map(&space, grid_address(first), physical, got, rights);

    if (error) {
        CHECK_EQUAL(error, -ENOMEM);
        page_pool_free(&physical_pool, physical, got);
        arch_unmap(&space, grid_address(first), got, grid_hole(first, got / ARCH_PAGE), NULL);
        check_grid_around(first, got / ARCH_PAGE);
        return;
    }
    for (uint64_t i = 0; i < got / ARCH_PAGE; i++) {
        grid[first + i].physical = (uint32_t)(physical / ARCH_PAGE + i);
        grid[first + i].rights = (uint8_t)rights;
    }
    check_grid_around(first, got / ARCH_PAGE);
}

static uint64_t released_bytes;

void __real_page_pool_free(struct page_pool *pool, uint64_t physical, uint64_t bytes);
void __wrap_page_pool_free(struct page_pool *pool, uint64_t physical, uint64_t bytes);

void __wrap_page_pool_free(struct page_pool *pool, uint64_t physical, uint64_t bytes)
{
    for (unsigned cpu = 0; cpu < CPUS && pool == &physical_pool; cpu++)
        for (unsigned i = 0; i < cpus[cpu].translation_count; i++)
            CHECK(cpus[cpu].translations[i].physical - physical >= bytes);
    __real_page_pool_free(pool, physical, bytes);
    released_bytes += pool == &physical_pool ? bytes : 0;
}

static void grid_unmap(void)
{
    uint64_t first, count, attached = 0;

    random_range(&first, &count);
    if (!grid_split(first, count))
        return;
    released_bytes = 0;
    arch_unmap(&space, grid_address(first), count * ARCH_PAGE, grid_hole(first, count), &physical_pool);
    for (uint64_t i = first; i < first + count; i++) {
        attached += grid[i].physical != 0;
        grid[i].physical = 0;
        grid[i].rights = 0;
    }
    CHECK_EQUAL(released_bytes, attached * ARCH_PAGE);
    check_grid_around(first, count);
}

static void grid_protect(void)
{
    uint64_t first, count;
    unsigned rights = random_rights();

    random_range(&first, &count);
    if (!grid_split(first, count))
        return;
    arch_protect(&space, grid_address(first), count * ARCH_PAGE, rights);
    for (uint64_t i = first; i < first + count; i++)
        grid[i].rights = grid[i].physical ? (uint8_t)rights : 0;
    check_grid_around(first, count);
}

static void grid_move(void)
{
    uint64_t first, count, to = grid_round(below(GRID_PAGES));

    random_range(&first, &count);
    count = count > 3000 ? 3000 : count;
    while (to % 512 != first % 512 && below(2))
        to++;
    if (to + count > GRID_PAGES || (to < first + count && first < to + count) || !grid_split(first, count))
        return;
    if (table_pool.free_bytes < (count / 512 + 20) * ARCH_PAGE)
        return;
    for (uint64_t i = 0; i < count; i++)
        if (grid[to + i].physical ||
            (grid[first + i].physical && grid[first + i].rights != grid[first].rights))
            return;
    arch_move(&space, grid_address(first), grid_address(to), count * ARCH_PAGE, grid[first].rights);
    for (uint64_t i = 0; i < count; i++) {
        grid[to + i] = grid[first + i];
        grid[first + i].physical = grid[first + i].rights = 0;
    }
    arch_unmap(&space, grid_address(first), count * ARCH_PAGE, grid_hole(first, count), NULL);
    check_grid_around(first, count);
    check_grid_around(to, count);
}

static void grid_run(void)
{
    uint64_t first, count, run = 0, seen;
    bool attached;

    random_range(&first, &count);
    while (run < count && !grid[first + run].physical == !grid[first].physical)
        run++;
    seen = arch_attached_run(&space, grid_address(first), count * ARCH_PAGE, &attached);
    CHECK_EQUAL(seen, run * ARCH_PAGE);
    CHECK_EQUAL(attached, grid[first].physical != 0);
}

static void grid_random(unsigned steps, uint64_t table_bytes, bool huge_pages)
{
    grid_begin(table_bytes, huge_pages);
    for (unsigned step = 0; step < steps && check_state.failures == 0; step++) {
        switch (below(9)) {
        case 8:
            grid_move();
            break;
        case 0:
        case 1:
        case 2:
            grid_map();
            break;
        case 3:
        case 4:
            grid_unmap();
            break;
        case 5:
            grid_protect();
            break;
        case 6:
            grid_run();
            break;
        default:
            check_memory();
        }
        if (step % 100 == 0)
            check_grid(61);
        if (check_state.failures)
            fprintf(stderr, "    step %u\n", step);
    }
    check_grid(1);
    grid_end();
}

TEST(random_maps_splits_and_changes_with_pages_of_all_sizes)
{
    grid_random(700, 64ULL << 20, true);
    grid_random(700, 64ULL << 20, false);
}

TEST(lack_of_memory_for_tables_changes_nothing)
{
    for (unsigned round = 0; round < 6 && check_state.failures == 0; round++)
        grid_random(200, (1 + round * round * 4) * ARCH_PAGE, round % 2);
}

/* Checks that `bytes` at `address` are in pages of that size. */
static void check_page_size(uint64_t address, uint64_t bytes, uint64_t page_bytes)
{
    for (uint64_t at = address; at < address + bytes; at += page_bytes)
        CHECK_EQUAL(look(&space, at).page_bytes, page_bytes);
}

TEST(mapping_takes_the_largest_pages_that_alignment_allows)
{
    const uint64_t memory = ARENA_BASE + ARCH_HUGE_PAGE;

    grid_begin(16ULL << 20, true);
    CHECK_EQUAL(arch_map(&space, GRID_BASE - ARCH_PAGE, memory - ARCH_PAGE,
                         2 * ARCH_HUGE_PAGE + 3 * ARCH_LARGE_PAGE, RIGHT_READ),
                0);
    check_page_size(GRID_BASE - ARCH_PAGE, ARCH_PAGE, ARCH_PAGE);
    check_page_size(GRID_BASE, 2 * ARCH_HUGE_PAGE, ARCH_HUGE_PAGE);
    check_page_size(GRID_BASE + 2 * ARCH_HUGE_PAGE, 2 * ARCH_LARGE_PAGE, ARCH_LARGE_PAGE);
    check_page_size(GRID_BASE + 2 * ARCH_HUGE_PAGE + 2 * ARCH_LARGE_PAGE, ARCH_LARGE_PAGE - ARCH_PAGE,
                    ARCH_PAGE);
    grid_begin(16ULL << 20, false);
    CHECK_EQUAL(arch_map(&space, GRID_BASE, memory, ARCH_HUGE_PAGE, RIGHT_READ), 0);
    check_page_size(GRID_BASE, ARCH_HUGE_PAGE, ARCH_LARGE_PAGE);
    CHECK_EQUAL(arch_map(&space, grid_address(1 << 18), memory + ARCH_HUGE_PAGE + ARCH_PAGE, ARCH_LARGE_PAGE,
                         RIGHT_READ),
                0);
    check_page_size(grid_address(1 << 18), ARCH_LARGE_PAGE, ARCH_PAGE);
}

TEST(split_cuts_only_the_pages_around_its_address)
{
    const uint64_t memory = ARENA_BASE + ARCH_HUGE_PAGE,
                   cut = GRID_BASE + 5 * ARCH_LARGE_PAGE + 7 * ARCH_PAGE;

    for (unsigned rights = 0; rights <= (RIGHT_READ | RIGHT_WRITE); rights += RIGHT_READ | RIGHT_WRITE) {
        grid_begin(4 * ARCH_PAGE, true); /* the root, its next two, and one more for the cut */
        CHECK_EQUAL(arch_map(&space, GRID_BASE, memory, ARCH_HUGE_PAGE, rights), 0);
        CHECK_EQUAL(arch_split(&space, GRID_BASE), 0);
        CHECK_EQUAL(arch_split(&space, GRID_BASE + ARCH_HUGE_PAGE), 0);
        CHECK_EQUAL(table_pool.free_bytes, 2 * ARCH_PAGE);
        CHECK_EQUAL(arch_split(&space, cut), 0);
        CHECK_EQUAL(table_pool.free_bytes, 0);
        check_page_size(GRID_BASE, 5 * ARCH_LARGE_PAGE, ARCH_LARGE_PAGE);
        check_page_size(GRID_BASE + 5 * ARCH_LARGE_PAGE, ARCH_LARGE_PAGE, ARCH_PAGE);
        check_page_size(GRID_BASE + 6 * ARCH_LARGE_PAGE, 506 * ARCH_LARGE_PAGE, ARCH_LARGE_PAGE);
        CHECK_EQUAL(arch_split(&space, cut + ARCH_LARGE_PAGE), -ENOMEM);
        for (uint64_t i = 0; i < ARCH_HUGE_PAGE / ARCH_PAGE; i++) {
            struct seen_page seen = look(&space, grid_address(i));

            CHECK_EQUAL(seen.physical, memory + i * ARCH_PAGE);
            CHECK_EQUAL(seen.rights, rights);
        }
    }
}

TEST(table_left_behind_empty_makes_way_for_a_large_page)
{
    const uint64_t memory = ARENA_BASE + ARCH_HUGE_PAGE;

    grid_begin(16ULL << 20, true);
    for (uint64_t i = 0; i < ARCH_HUGE_PAGE; i += ARCH_LARGE_PAGE)
        CHECK_EQUAL(arch_map(&space, GRID_BASE + i, memory + i, ARCH_PAGE, RIGHT_READ), 0);
    uint64_t tables = tables_below(space.root, 3);
    CHECK_EQUAL(tables, 3 + 512);
    const struct arch_hole none = { 1, 1 }; /* as in an address space where areas without rights are around */
    arch_unmap(&space, GRID_BASE + ARCH_PAGE, ARCH_HUGE_PAGE - ARCH_PAGE, none, NULL);
    CHECK_EQUAL(arch_map(&space, GRID_BASE + ARCH_LARGE_PAGE, memory, ARCH_LARGE_PAGE, RIGHT_READ), 0);
    CHECK_EQUAL(look(&space, GRID_BASE + ARCH_LARGE_PAGE).page_bytes, ARCH_LARGE_PAGE);
    CHECK_EQUAL(tables_below(space.root, 3), tables - 1);
    remember(&space, GRID_BASE + 7 * ARCH_LARGE_PAGE); /* a way to an empty table */
    arch_unmap(&space, GRID_BASE, ARCH_HUGE_PAGE, none, NULL);
    remember(&space, GRID_BASE + 9 * ARCH_LARGE_PAGE);
    CHECK_EQUAL(arch_map(&space, GRID_BASE, memory, ARCH_HUGE_PAGE, RIGHT_READ), 0);
    CHECK_EQUAL(look(&space, GRID_BASE).page_bytes, ARCH_HUGE_PAGE);
    CHECK_EQUAL(tables_below(space.root, 3), 2);
    check_memory();
}

TEST(tables_that_lead_into_a_hole_alone_are_given_back)
{
    const uint64_t memory = ARENA_BASE + ARCH_HUGE_PAGE;

    grid_begin(16ULL << 20, true);
    uint64_t free_bytes = table_pool.free_bytes;
    for (uint64_t i = 0; i < 4; i++)
        CHECK_EQUAL(arch_map(&space, GRID_BASE + i * ARCH_HUGE_PAGE, memory, 3 * ARCH_PAGE, RIGHT_READ), 0);
    CHECK_EQUAL(free_bytes - table_pool.free_bytes,
                (2 + 4 + 4) * ARCH_PAGE); /* across a root entry's bound */
    arch_unmap(&space, GRID_BASE, 2 * ARCH_PAGE, (struct arch_hole){ 0, GRID_BASE + 2 * ARCH_PAGE }, NULL);
    CHECK_EQUAL(free_bytes - table_pool.free_bytes, 10 * ARCH_PAGE); /* one page is left in each */
    arch_unmap(&space, GRID_BASE, ARCH_HUGE_PAGE, (struct arch_hole){ 0, GRID_BASE + ARCH_HUGE_PAGE }, NULL);
    CHECK_EQUAL(free_bytes - table_pool.free_bytes, 8 * ARCH_PAGE);
    arch_unmap(&space, GRID_BASE, 4 * ARCH_HUGE_PAGE, (struct arch_hole){ 0, UINT64_MAX }, NULL);
    CHECK_EQUAL(table_pool.free_bytes, free_bytes);
    check_memory();
}

TEST(only_cpus_that_use_a_space_are_told_and_only_of_what_they_lose)
{
    const uint64_t memory = ARENA_BASE + ARCH_HUGE_PAGE;
    const struct arch_hole hole = { 0, UINT64_MAX };

    grid_begin(16ULL << 20, true);
    CHECK_EQUAL(arch_map(&space, GRID_BASE, memory, 64 * ARCH_PAGE, RIGHT_READ), 0);
    crosscalls = 0;
    arch_protect(&space, GRID_BASE, 64 * ARCH_PAGE, RIGHT_READ | RIGHT_WRITE); /* gives */
    CHECK_EQUAL(crosscalls, 0);
    CHECK(arch_space_allows(&space, GRID_BASE + 5, RIGHT_WRITE));
    arch_protect(&space, GRID_BASE, 64 * ARCH_PAGE, RIGHT_READ); /* takes */
    CHECK_EQUAL(crosscalls, 1);
    CHECK(!arch_space_allows(&space, GRID_BASE + 5, RIGHT_WRITE));
    CHECK(arch_space_allows(&space, GRID_BASE + 5, RIGHT_READ));
    CHECK(!arch_space_allows(&space, GRID_BASE + 5, RIGHT_EXECUTE));
    CHECK(!arch_space_allows(&space, GRID_BASE + 64 * ARCH_PAGE, RIGHT_READ));
    CHECK(!arch_space_allows(&space, UINT64_MAX, RIGHT_READ));
    arch_unmap(&space, GRID_BASE, 32 * ARCH_PAGE, hole, NULL);
    CHECK_EQUAL(crosscalls, 2);
    arch_unmap(&space, GRID_BASE, 32 * ARCH_PAGE, (struct arch_hole){ 1, 1 }, NULL); /* nothing is there */
    CHECK_EQUAL(crosscalls, 2);
    arena_cpu = 1;
    arch_space_deactivate(&space);
    arena_cpu = 0;
    CHECK(cpu_mask_test(&space.cpus, 0) && cpu_mask_count(&space.cpus) == 1);
    grid_begin(16ULL << 20, true);
    arena_cpu = 1;
    arch_space_deactivate(&space);
    arena_cpu = 0;
    CHECK_EQUAL(arch_map(&space, GRID_BASE, memory, 64 * ARCH_PAGE, RIGHT_READ), 0);
    arch_unmap(&space, GRID_BASE, 64 * ARCH_PAGE, hole, NULL);
    CHECK_EQUAL(crosscalls, 2); /* one CPU alone interrupts none */
}

TEST(attached_memory_is_zeroed_at_any_alignment_whatever_the_rights)
{
    const uint64_t memory = ARENA_BASE + ARCH_HUGE_PAGE, bytes = ARCH_LARGE_PAGE + 2 * ARCH_PAGE;
    uint8_t *there;

    grid_begin(16ULL << 20, true);
    there = arch_physical(memory);
    CHECK_EQUAL(arch_map(&space, GRID_BASE, memory, bytes, 0), 0);
    memset(there, 0xff, bytes);
    CHECK_EQUAL(arch_attached_zero(&space, GRID_BASE + 5, bytes + ARCH_PAGE), bytes - 5);
    for (uint64_t i = 0; i < bytes; i++)
        if (!CHECK_EQUAL(there[i], i < 5 ? 0xff : 0))
            return;
    memset(there, 0xff, bytes);
    CHECK_EQUAL(arch_attached_zero(&space, GRID_BASE + 4090, 10), 10);
    CHECK_EQUAL(there[4089], 0xff);
    CHECK_EQUAL(there[4090] | there[4099], 0);
    CHECK_EQUAL(there[4100], 0xff);
}

TEST(every_space_has_the_kernels_half)
{
    grid_begin(16ULL << 20, true);
    const uint64_t *root = arch_physical(space.root);
    const uint64_t *kernel = arch_physical(upper_half);

    for (unsigned i = 0; i < 512; i++)
        CHECK_EQUAL(root[i], i < 256 ? 0 : kernel[i]);
    arch_space_activate(&space);

    struct page_pool empty;
    struct arch_space other;
    page_pool_initialise(&empty, NULL, 0);
    CHECK_EQUAL(arch_space_create(&other, &empty), -ENOMEM);
}

TEST(cpu_without_no_execute_gets_no_such_bit)
{
    grid_begin(16ULL << 20, true);
    cpu_features.no_execute = false;
    CHECK_EQUAL(arch_map(&space, GRID_BASE, ARENA_BASE + ARCH_HUGE_PAGE, ARCH_PAGE, RIGHT_READ | RIGHT_WRITE),
                0);
    CHECK_EQUAL(look(&space, GRID_BASE).rights, RIGHT_READ | RIGHT_WRITE | RIGHT_EXECUTE);
    cpu_features.no_execute = true;
}

int main(void)
{
    vm_promises_run();
    RUN(random_maps_splits_and_changes_with_pages_of_all_sizes);
    RUN(lack_of_memory_for_tables_changes_nothing);
    RUN(mapping_takes_the_largest_pages_that_alignment_allows);
    RUN(split_cuts_only_the_pages_around_its_address);
    RUN(table_left_behind_empty_makes_way_for_a_large_page);
    RUN(tables_that_lead_into_a_hole_alone_are_given_back);
    RUN(only_cpus_that_use_a_space_are_told_and_only_of_what_they_lose);
    RUN(attached_memory_is_zeroed_at_any_alignment_whatever_the_rights);
    RUN(every_space_has_the_kernels_half);
    RUN(cpu_without_no_execute_gets_no_such_bit);
    return check_report("user_map");
}
