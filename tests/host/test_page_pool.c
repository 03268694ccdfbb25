/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_page_pool.c: the allocator of page_pool.h over an arena, against a map with one flag a page.
 */
#include "arena.h"
#include "check.h"
#include "mm/page_pool.h"

#define PAGES       16384 /* of the arena, that the model knows: 64 MiB */
#define PIECES      2048
#define LARGE_PAGES (ARCH_LARGE_PAGE / ARCH_PAGE)

static uint64_t seed = 7;
static struct page_pool pool;
static uint64_t peak_bytes; /* that were allocated at one time */
static bool is_free[PAGES]; /* in an extent */
static uint64_t zeroed[PAGE_POOL_ZEROED];
static unsigned zeroed_count;
static struct memory_range pieces[PIECES]; /* taken ones */
static unsigned piece_count;

static uint64_t random_below(uint64_t limit)
{
    return limit ? check_random(&seed) % limit : 0;
}

static uint64_t page_address(uint64_t page)
{
    return ARENA_BASE + page * ARCH_PAGE;
}

static uint64_t page_of(uint64_t address)
{
    return (address - ARENA_BASE) / ARCH_PAGE;
}

void arch_zero(void *memory, uint64_t bytes)
{
    memset(memory, 0, bytes);
}

void crosscall_serve(void)
{
    CHECK(false); /* no other CPU is there to hold a lock */
}

/* ---- the model ---- */

static uint64_t model_free_bytes(void)
{
    uint64_t pages = 0;

    for (unsigned i = 0; i < PAGES; i++)
        pages += is_free[i];
    return (pages + zeroed_count) * ARCH_PAGE;
}

/* Finds the first run at or above *page; false if there is none. */
static bool model_run(uint64_t *page, uint64_t *pages)
{
    while (*page < PAGES && !is_free[*page])
        ++*page;
    *pages = 0;
    while (*page + *pages < PAGES && is_free[*page + *pages])
        ++*pages;
    return *pages > 0;
}

static bool run_is_fragment(uint64_t page, uint64_t pages)
{
    uint64_t aligned = (page + LARGE_PAGES - 1) / LARGE_PAGES * LARGE_PAGES; /* the arena begins on a bound */

    return aligned + LARGE_PAGES > page + pages;
}

/* Returns whether some run, or some run that is a fragment, has room. */
static bool model_has_room(uint64_t pages, uint64_t alignment, bool fragments_only)
{
    uint64_t run, run_pages;

    for (run = 0; model_run(&run, &run_pages); run += run_pages) {
        uint64_t unit = alignment / ARCH_PAGE, aligned = (run + unit - 1) / unit * unit;

        if (fragments_only && !run_is_fragment(run, run_pages))
            continue;
        if (aligned + pages <= run + run_pages)
            return true;
    }
    return false;
}

/* Returns the same as model_has_room of any run; without room the zeroed pages become extents first. */
static bool model_makes_room(uint64_t pages, uint64_t alignment)
{
    if (model_has_room(pages, alignment, false))
        return true;
    while (zeroed_count)
        is_free[page_of(zeroed[--zeroed_count])] = true;
    return model_has_room(pages, alignment, false);
}

static bool in_fragment(uint64_t page)
{
    uint64_t run, pages;

    for (run = 0; model_run(&run, &pages); run += pages)
        if (page >= run && page < run + pages)
            return run_is_fragment(run, pages);
    return false;
}

/* Checks that the pool's tree has exactly the model's runs: ascending, coalesced, complete. */
static void check_agreement(void)
{
    uint64_t run = 0, pages, at = 0;

    for (; model_run(&run, &pages); run += pages) {
        const struct avl_node *extent = avl_above(pool.extents, at);

        if (!CHECK(extent && extent->key == page_address(run) && arch_physical(extent->key) == extent))
            return;
        CHECK_EQUAL(*(const uint64_t *)(extent + 1), pages * ARCH_PAGE);
        at = extent->key + 1;
    }
    CHECK(avl_above(pool.extents, at) == NULL);
    CHECK_EQUAL(pool.free_bytes, model_free_bytes());
    if (pool.total_bytes - pool.free_bytes > peak_bytes)
        peak_bytes = pool.total_bytes - pool.free_bytes;
    CHECK_EQUAL(page_pool_peak_bytes(&pool), peak_bytes);
}

static void mark(uint64_t address, uint64_t bytes, bool to_free)
{
    for (uint64_t page = page_of(address); page < page_of(address + bytes); page++) {
        CHECK(is_free[page] != to_free);
        is_free[page] = to_free;
    }
}

static void begin(const struct memory_range *extents, unsigned count)
{
    arena_begin();
    memset(is_free, 0, sizeof(is_free));
    piece_count = zeroed_count = 0;
    peak_bytes = 0;
    for (unsigned i = 0; i < count; i++)
        mark(extents[i].base, extents[i].bytes, true);
    page_pool_initialise(&pool, extents, count);
    CHECK_EQUAL(pool.total_bytes, pool.free_bytes);
    check_agreement();
}

/* Begins with a few extents in no order, with holes between. */
static void begin_random(void)
{
    struct memory_range extents[16];
    unsigned count = 0;

    for (uint64_t page = random_below(600); page < PAGES && count < 16;) {
        uint64_t pages = 1 + random_below(random_below(2) ? 40 : 3000);

        pages = page + pages > PAGES ? PAGES - page : pages;
        extents[count++] = (struct memory_range){ page_address(page), pages * ARCH_PAGE };
        page += pages + random_below(700);
    }
    for (unsigned i = count; i-- > 1;) {
        unsigned j = (unsigned)random_below(i + 1);
        struct memory_range swapped = extents[i];

        extents[i] = extents[j];
        extents[j] = swapped;
    }
    begin(extents, count);
}

static void note_piece(uint64_t address, uint64_t bytes)
{
    CHECK(address % ARCH_PAGE == 0 && address >= ARENA_BASE && address + bytes <= page_address(PAGES));
    mark(address, bytes, false);
    memset(arch_physical(address), 0xa5, bytes); /* the owner may write it */
    pieces[piece_count++] = (struct memory_range){ address, bytes };
}

static uint64_t random_bytes(void)
{
    switch (random_below(4)) {
    case 0:
        return ARCH_LARGE_PAGE;
    case 1:
        return (1 + random_below(1200)) * ARCH_PAGE;
    default:
        return (1 + random_below(8)) * ARCH_PAGE;
    }
}

static void take_random(void)
{
    uint64_t bytes = random_bytes(),
             alignment = bytes < ARCH_LARGE_PAGE || random_below(3) ? ARCH_PAGE : ARCH_LARGE_PAGE;
    bool room = model_makes_room(bytes / ARCH_PAGE, alignment);
    bool fragment = alignment == ARCH_PAGE && bytes < ARCH_LARGE_PAGE &&
                    model_has_room(bytes / ARCH_PAGE, alignment, true);
    uint64_t address = page_pool_allocate(&pool, bytes, alignment);

    CHECK_EQUAL(address != PAGE_POOL_NONE, room);
    if (address == PAGE_POOL_NONE)
        return;
    CHECK(address % alignment == 0);
    if (fragment)
        CHECK(in_fragment(page_of(address)));
    note_piece(address, bytes);
}

static void take_some_random(void)
{
    uint64_t bytes = random_bytes(), got = 0, before = pool.free_bytes;
    bool whole = model_makes_room(bytes / ARCH_PAGE, ARCH_PAGE);
    uint64_t address = page_pool_allocate_partial(&pool, bytes, &got);

    CHECK_EQUAL(address != PAGE_POOL_NONE, before > 0);
    if (address == PAGE_POOL_NONE)
        return;
    CHECK(got > 0 && got <= bytes && got % ARCH_PAGE == 0);
    CHECK(whole ? got == bytes : !model_has_room(got / ARCH_PAGE + 1, ARCH_PAGE, false));
    note_piece(address, got);
}

static bool is_zeroed(uint64_t page)
{
    const unsigned char *bytes = arch_physical(page);

    return bytes[0] == 0 && memcmp(bytes, bytes + 1, ARCH_PAGE - 1) == 0;
}

/* Takes the last zeroed page that came back, if there is one. */
static void take_zeroed(void)
{
    bool kept = zeroed_count, room = model_has_room(1, ARCH_PAGE, false);
    uint64_t page = page_pool_allocate_zeroed(&pool);

    CHECK_EQUAL(page != PAGE_POOL_NONE, kept || room);
    if (page == PAGE_POOL_NONE)
        return;
    CHECK(is_zeroed(page));
    if (kept) {
        CHECK_EQUAL(page, zeroed[--zeroed_count]);
        is_free[page_of(page)] = true;
    }
    note_piece(page, ARCH_PAGE);
}

/* Gives a piece of a page back, zeroed. */
static void give_zeroed(void)
{
    struct memory_range *piece = pieces + random_below(piece_count + 1);

    while (piece < pieces + piece_count && piece->bytes != ARCH_PAGE)
        piece++;
    if (piece >= pieces + piece_count)
        return;
    memset(arch_physical(piece->base), 0, ARCH_PAGE);
    page_pool_free_zeroed(&pool, piece->base);
    if (zeroed_count < PAGE_POOL_ZEROED)
        zeroed[zeroed_count++] = piece->base;
    else
        mark(piece->base, ARCH_PAGE, true);
    *piece = pieces[--piece_count];
}

/* Gives a piece, or a part of one, back. */
static void give_random(void)
{
    if (piece_count == 0)
        return;
    struct memory_range *piece = &pieces[random_below(piece_count)];
    uint64_t bytes =
        random_below(2) ? piece->bytes : (1 + random_below(piece->bytes / ARCH_PAGE)) * ARCH_PAGE;

    mark(piece->base, bytes, true);
    page_pool_free(&pool, piece->base, bytes);
    piece->base += bytes;
    piece->bytes -= bytes;
    if (piece->bytes == 0)
        *piece = pieces[--piece_count];
}

/* ---- tests ---- */

TEST(random_takes_and_gives_agree_with_the_map)
{
    for (unsigned round = 0; round < 30 && check_state.failures == 0; round++) {
        begin_random();
        for (unsigned step = 0; step < 1500 && check_state.failures == 0; step++) {
            bool giving = random_below(piece_count + 1) > 60 || piece_count + 2 > PIECES;

            if (giving || random_below(3) == 0)
                random_below(3) ? give_random() : give_zeroed();
            else if (random_below(4) == 0)
                take_zeroed();
            else if (random_below(2))
                take_random();
            else
                take_some_random();
            check_agreement();
        }
        while (piece_count)
            give_random();
        check_agreement();
        CHECK_EQUAL(pool.free_bytes, pool.total_bytes);
    }
}

TEST(all_of_the_memory_can_be_had_page_by_page)
{
    begin_random();
    while (pool.free_bytes) {
        CHECK(model_makes_room(1, ARCH_PAGE));
        note_piece(page_pool_allocate(&pool, ARCH_PAGE, ARCH_PAGE), ARCH_PAGE);
        if (random_below(64) == 0)
            give_zeroed();
        piece_count = 0;
    }
    CHECK_EQUAL(model_free_bytes(), 0);
    CHECK(page_pool_allocate(&pool, ARCH_PAGE, ARCH_PAGE) == PAGE_POOL_NONE);
    check_agreement();
}

TEST(small_requests_leave_large_pages_whole_while_there_are_fragments)
{
    const struct memory_range extents[] = {
        { page_address(0), 4 * ARCH_LARGE_PAGE },
        { page_address(5 * LARGE_PAGES + 1), (LARGE_PAGES - 1) * ARCH_PAGE },
        { page_address(7 * LARGE_PAGES + 100), 20 * ARCH_PAGE },
    };

    begin(extents, 3);
    for (unsigned i = 0; i < LARGE_PAGES - 1 + 20; i++)
        note_piece(page_pool_allocate(&pool, ARCH_PAGE, ARCH_PAGE), ARCH_PAGE);
    for (unsigned i = 0; i < 4; i++)
        CHECK(page_pool_allocate(&pool, ARCH_LARGE_PAGE, ARCH_LARGE_PAGE) != PAGE_POOL_NONE);
    CHECK_EQUAL(pool.free_bytes, 0);
}

TEST(impossible_requests_get_nothing_and_change_nothing)
{
    const struct memory_range extent = { page_address(3), 100 * ARCH_PAGE };
    uint64_t got = 1;

    begin(&extent, 1);
    CHECK(page_pool_allocate(&pool, 0, ARCH_PAGE) == PAGE_POOL_NONE);
    CHECK(page_pool_allocate(&pool, 101 * ARCH_PAGE, ARCH_PAGE) == PAGE_POOL_NONE);
    CHECK(page_pool_allocate(&pool, ARCH_PAGE, ARCH_HUGE_PAGE) == PAGE_POOL_NONE);
    CHECK(page_pool_allocate(&pool, UINT64_MAX & ~(ARCH_PAGE - 1), ARCH_PAGE) == PAGE_POOL_NONE);
    CHECK(page_pool_allocate_partial(&pool, 0, &got) == PAGE_POOL_NONE);
    page_pool_free(&pool, page_address(50), 0);
    check_agreement();
    begin(NULL, 0);
    CHECK(page_pool_allocate(&pool, ARCH_PAGE, ARCH_PAGE) == PAGE_POOL_NONE);
    CHECK(page_pool_allocate_partial(&pool, ARCH_PAGE, &got) == PAGE_POOL_NONE);
}

TEST(reserved_bytes_are_allocated_by_the_reserving_cpu_alone)
{
    const struct memory_range extent = { page_address(3), 100 * ARCH_PAGE };

    begin(&extent, 1);
    CHECK(!page_pool_reserve(&pool, 101 * ARCH_PAGE, 0));
    CHECK(page_pool_reserve(&pool, 101 * ARCH_PAGE, ARCH_PAGE));
    CHECK(page_pool_reserve(&pool, 90 * ARCH_PAGE, 0));
    arena_cpu = 1;
    CHECK(page_pool_allocate(&pool, 11 * ARCH_PAGE, ARCH_PAGE) == PAGE_POOL_NONE);
    note_piece(page_pool_allocate(&pool, 10 * ARCH_PAGE, ARCH_PAGE), 10 * ARCH_PAGE);
    CHECK(page_pool_allocate(&pool, ARCH_PAGE, ARCH_PAGE) == PAGE_POOL_NONE);
    arena_cpu = 0;
    note_piece(page_pool_allocate(&pool, 50 * ARCH_PAGE, ARCH_PAGE), 50 * ARCH_PAGE);
    arena_cpu = 1;
    CHECK(page_pool_allocate(&pool, ARCH_PAGE, ARCH_PAGE) == PAGE_POOL_NONE);
    arena_cpu = 0;
    page_pool_unreserve(&pool);
    arena_cpu = 1;
    note_piece(page_pool_allocate(&pool, 40 * ARCH_PAGE, ARCH_PAGE), 40 * ARCH_PAGE);
    arena_cpu = 0;
    check_agreement();
}

int main(void)
{
    RUN(random_takes_and_gives_agree_with_the_map);
    RUN(all_of_the_memory_can_be_had_page_by_page);
    RUN(small_requests_leave_large_pages_whole_while_there_are_fragments);
    RUN(impossible_requests_get_nothing_and_change_nothing);
    RUN(reserved_bytes_are_allocated_by_the_reserving_cpu_alone);
    return check_report("page_pool");
}
