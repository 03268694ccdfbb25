/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_shared_memory.c: the promises of shared_memory.h: random operations of two ranks, checked against
 * arrays of bytes, and the account of both slices after each of them.
 */
#include "mm/shared_memory.h"
#include "arena.h"
#include "check.h"
#include "lib/errno.h"
#include "mm/page_pool.h"

#define SLICE_PAGES 1500ULL
#define BYTES_MAX   (5ULL << 20)
#define OBJECTS     4

static struct page_pool slices[2];
static uint64_t seed = 5;
static uint8_t user_bytes[BYTES_MAX], model[OBJECTS][BYTES_MAX];
static uint64_t user_end; /* the program cannot touch this address and those above; 0: it can touch all */

uint64_t __real_page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment);
uint64_t __wrap_page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment);

/* Stands between the code under test and the pool; the linker puts it there (host.mk). */
uint64_t __wrap_page_pool_allocate(struct page_pool *pool, uint64_t bytes, uint64_t alignment)
{
    uint64_t physical = __real_page_pool_allocate(pool, bytes, alignment);

    if (physical != PAGE_POOL_NONE)
        memset(arch_physical(physical), 0x55, bytes);
    return physical;
}

uint64_t __real_page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got);
uint64_t __wrap_page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got);

uint64_t __wrap_page_pool_allocate_partial(struct page_pool *pool, uint64_t bytes, uint64_t *got)
{
    uint64_t physical = __real_page_pool_allocate_partial(pool, bytes, got);

    if (physical != PAGE_POOL_NONE)
        memset(arch_physical(physical), 0x55, *got);
    return physical;
}

bool arch_huge_pages(void)
{
    return true;
}

void crosscall_serve(void)
{
    /* no other CPU is there */
}

/* Stands in for views, of which there are none here; test_shared_view.c has them. */
bool shared_views_step(struct shared_memory *object, uint64_t bytes)
{
    (void)object, (void)bytes;
    return false;
}

void shared_views_update(struct shared_memory *object)
{
    (void)object;
}

void shared_views_flush(struct shared_memory *object)
{
    (void)object;
}

void arch_zero(void *memory, uint64_t bytes)
{
    memset(memory, 0, bytes);
}

/* Returns the bytes of the range that can be reached. */
static uint64_t reach(uint64_t address, uint64_t bytes)
{
    if (!user_end || address + bytes <= user_end)
        return bytes;
    return address < user_end ? user_end - address : 0;
}

int user_read(void *to, uint64_t from, uint64_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, reach(from, bytes));
    return reach(from, bytes) < bytes ? -EFAULT : 0;
}

int user_write(uint64_t to, const void *from, uint64_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, reach(to, bytes));
    return reach(to, bytes) < bytes ? -EFAULT : 0;
}

int user_clear(uint64_t to, uint64_t bytes)
{
    memset((void *)(uintptr_t)to, 0, reach(to, bytes));
    return reach(to, bytes) < bytes ? -EFAULT : 0;
}

static void begin(uint64_t slice_pages)
{
    arena_begin();
    for (unsigned i = 0; i < 2; i++) {
        struct memory_range range = { ARENA_BASE + i * (1ULL << 30) + 5 * ARCH_PAGE,
                                      slice_pages * ARCH_PAGE };

        page_pool_initialise(&slices[i], &range, 1);
    }
    user_end = 0;
}

static void check_nothing_leaked(void)
{
    shared_memory_reclaim();
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQUAL(slices[i].free_bytes, slices[i].total_bytes);
}

static uint64_t user(void)
{
    return (uint64_t)(uintptr_t)user_bytes;
}

/* Returns whether a mapping shows these bytes of the object. */
static bool shows(struct shared_memory *object, const uint8_t *expected, uint64_t bytes)
{
    for (uint64_t offset = 0; offset < bytes;) {
        uint64_t physical, run = shared_memory_run(object, offset, bytes - offset, &physical);
        uint64_t part = run < bytes - offset ? run : bytes - offset;

        if (!CHECK(run > 0 && run % ARCH_PAGE == 0) ||
            memcmp(arch_physical(physical), expected + offset, part) != 0)
            return false;
        offset += part;
    }
    return true;
}

TEST(large_files_stand_in_large_pages)
{
    uint64_t physical;

    begin(4096);
    struct shared_memory *object = shared_memory_create(&slices[0]);
    CHECK_EQUAL(shared_memory_size(object, &slices[0], (4ULL << 20) + 1, SIZE_RESIZE), 0);
    CHECK(shared_memory_run(object, 0, 4ULL << 20, &physical) >= ARCH_LARGE_PAGE);
    CHECK_EQUAL(physical % ARCH_LARGE_PAGE, 0);
    CHECK_EQUAL(shared_memory_run(object, object->capacity, 1, &physical), 0);
    shared_memory_put(object);
    check_nothing_leaked();
}

TEST(what_one_rank_cannot_pay_changes_nothing)
{
    begin(300);
    struct shared_memory *object = shared_memory_create(&slices[0]);
    CHECK_EQUAL(shared_memory_size(object, &slices[0], 100 * ARCH_PAGE, SIZE_RESIZE), 0);
    CHECK_EQUAL(shared_memory_size(object, &slices[0], 400 * ARCH_PAGE, SIZE_RESIZE), -ENOSPC);
    CHECK_EQUAL(object->bytes, 100 * ARCH_PAGE);
    CHECK_EQUAL(object->capacity, 100 * ARCH_PAGE);
    CHECK_EQUAL(shared_memory_size(object, &slices[1], 350 * ARCH_PAGE, SIZE_RESIZE), 0);
    CHECK_EQUAL(slices[1].free_bytes, 50 * ARCH_PAGE);
    /* A write takes the memory that is left; the next write reports that none is left. */
    CHECK_EQUAL(shared_memory_write(object, &slices[1], user(), 60 * ARCH_PAGE, 350 * ARCH_PAGE),
                50 * ARCH_PAGE);
    CHECK_EQUAL(shared_memory_write(object, &slices[1], user(), 1, 400 * ARCH_PAGE), -ENOSPC);
    shared_memory_put(object);
    check_nothing_leaked();
}

TEST(memory_in_use_stays_until_its_last_mapping_goes)
{
    uint64_t physical, again;

    begin(300);
    struct shared_memory *object = shared_memory_create(&slices[0]);
    CHECK_EQUAL(shared_memory_size(object, &slices[1], 10 * ARCH_PAGE, SIZE_RESIZE), 0);
    shared_memory_map_get(object);
    shared_memory_run(object, 8 * ARCH_PAGE, ARCH_PAGE, &physical);
    *(uint8_t *)arch_physical(physical) = 7;
    CHECK_EQUAL(shared_memory_size(object, &slices[0], 5, SIZE_RESIZE), 0);
    CHECK_EQUAL(*(uint8_t *)arch_physical(physical), 0);
    *(uint8_t *)arch_physical(physical) = 8; /* through the mapping, above the end */
    CHECK_EQUAL(shared_memory_size(object, &slices[0], 9 * ARCH_PAGE, SIZE_RESIZE), 0);
    shared_memory_run(object, 8 * ARCH_PAGE, ARCH_PAGE, &again);
    CHECK(again == physical && *(uint8_t *)arch_physical(physical) == 0);
    CHECK_EQUAL(shared_memory_size(object, &slices[0], 5, SIZE_RESIZE), 0);
    CHECK_EQUAL(object->capacity, 10 * ARCH_PAGE);
    shared_memory_put(object); /* no name left, and still mapped */
    shared_memory_reclaim();
    CHECK_EQUAL(slices[1].free_bytes, 290 * ARCH_PAGE);
    shared_memory_map_put(object);
    check_nothing_leaked();
}

static unsigned ends;

static void count_end(struct shared_memory *object)
{
    ends++;
    CHECK(object->context == &ends);
    CHECK(!shared_memory_get(object));
}

TEST(the_end_is_told_once_after_the_last_reference_and_mapping)
{
    begin(64);
    struct shared_memory *object = shared_memory_create(&slices[0]);
    object->ended = count_end;
    object->context = &ends;
    ends = 0;
    CHECK(shared_memory_get(object));
    shared_memory_map_get(object);
    for (unsigned i = 0; i < 2; i++) {
        shared_memory_put(object);
        shared_memory_reclaim();
        CHECK_EQUAL(ends, 0);
    }
    shared_memory_map_put(object);
    shared_memory_reclaim();
    CHECK_EQUAL(ends, 1);
    check_nothing_leaked();
}

TEST(half_a_write_leaves_no_trace_behind_the_end)
{
    uint8_t byte[3] = { 9, 9, 9 };

    begin(300);
    struct shared_memory *object = shared_memory_create(&slices[0]);
    memset(user_bytes, 3, 100);
    CHECK_EQUAL(shared_memory_write(object, &slices[0], user(), 10, 0), 10);
    user_end = user() + 50;
    CHECK_EQUAL(shared_memory_write(object, &slices[0], user(), 100, 10), -EFAULT);
    user_end = 0;
    CHECK_EQUAL(object->bytes, 10);
    CHECK_EQUAL(shared_memory_size(object, &slices[0], 100, SIZE_GROW), 0);
    CHECK_EQUAL(shared_memory_size(object, &slices[0], 50, SIZE_GROW), 0);
    CHECK_EQUAL(shared_memory_read(object, (uint64_t)(uintptr_t)byte, 3, 9), 3);
    CHECK(byte[0] == 3 && byte[1] == 0 && byte[2] == 0);
    CHECK_EQUAL(shared_memory_read(object, (uint64_t)(uintptr_t)byte, 3, 98), 2);
    shared_memory_put(object);
    check_nothing_leaked();
}

TEST(what_is_appended_at_once_has_a_place_for_each)
{
    uint64_t first, second, third;
    char text[31];

    begin(300);
    struct shared_memory *object = shared_memory_create(&slices[0]);
    memset(user_bytes, 'a', 100);
    CHECK_EQUAL(shared_memory_claim(object, &slices[0], 10, &first), 10);
    CHECK_EQUAL(shared_memory_claim(object, &slices[1], 20, &second), 20);
    CHECK_EQUAL(object->bytes, 0); /* no rank reads bytes that are not written */
    CHECK_EQUAL(shared_memory_write(object, &slices[1], user(), 20, second), 20);
    memset(user_bytes, 'b', 100);
    CHECK_EQUAL(shared_memory_write(object, &slices[0], user(), 10, first), 10);
    shared_memory_claim_end(object);
    CHECK_EQUAL(shared_memory_claim(object, &slices[0], 5, &third), 5); /* of which nothing is written */
    shared_memory_claim_end(object);
    shared_memory_claim_end(object);
    CHECK_EQUAL(shared_memory_read(object, (uint64_t)(uintptr_t)text, 31, 0), 30);
    CHECK(memcmp(text, "bbbbbbbbbbaaaaaaaaaaaaaaaaaaaa", 30) == 0);
    CHECK(first == 0 && second == 10 && third == 30);
    CHECK_EQUAL(shared_memory_claim(object, &slices[0], 400 * ARCH_PAGE, &first), 299 * ARCH_PAGE - 30);
    shared_memory_claim_end(object);
    shared_memory_put(object);
    check_nothing_leaked();
}

static uint64_t below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

/* Returns sizes that are small, large, and around the bounds of pages. */
static uint64_t some_size(void)
{
    uint64_t pages = below(4) ? below(20) : below(BYTES_MAX / ARCH_PAGE - 1);

    return pages * ARCH_PAGE + (below(3) ? below(ARCH_PAGE) : 0);
}

static struct {
    struct shared_memory *object;
    uint64_t bytes, reserved;
    unsigned mappings;
} made[OBJECTS];

static void try_write(unsigned i, struct page_pool *rank)
{
    bool append = below(2);
    uint64_t bytes = some_size(), at = append ? made[i].bytes : some_size();
    int64_t claimed = 0, put = -ENOSPC;

    if (at + bytes > BYTES_MAX || (append && bytes == 0))
        return;
    memset(user_bytes, (int)below(256), bytes);
    if (append) {
        uint64_t offset;

        claimed = shared_memory_claim(made[i].object, rank, bytes, &offset);
        CHECK(claimed == -ENOSPC || (claimed > 0 && (uint64_t)claimed <= bytes && offset == at));
        bytes = (uint64_t)claimed;
    }
    if (claimed >= 0)
        put = shared_memory_write(made[i].object, rank, user(), bytes, at);
    if (claimed > 0) {
        CHECK_EQUAL(put, claimed);
        shared_memory_claim_end(made[i].object);
    }
    CHECK(put == -ENOSPC || put == 0 || (put > 0 && (uint64_t)put <= bytes));
    if (put <= 0)
        return;
    memcpy(model[i] + at, user_bytes, (uint64_t)put);
    if (at + (uint64_t)put > made[i].bytes)
        made[i].bytes = at + (uint64_t)put;
}

static void try_resize(unsigned i, struct page_pool *rank)
{
    uint64_t bytes = some_size();
    int error = shared_memory_size(made[i].object, rank, bytes, SIZE_RESIZE);

    CHECK(error == 0 || error == -ENOSPC);
    if (error)
        return;
    if (bytes < made[i].bytes)
        memset(model[i] + bytes, 0, made[i].bytes - bytes);
    made[i].bytes = bytes;
    made[i].reserved = 0;
}

static void try_reserve(unsigned i, struct page_pool *rank)
{
    uint64_t bytes = some_size();
    int error = shared_memory_size(made[i].object, rank, bytes, SIZE_RESERVE);

    CHECK(error == 0 || error == -ENOSPC);
    if (!error && bytes > made[i].reserved)
        made[i].reserved = bytes;
}

static void try_clear(unsigned i)
{
    uint64_t offset = some_size(), bytes = some_size();

    shared_memory_clear(made[i].object, offset, bytes);
    if (offset < made[i].bytes)
        memset(model[i] + offset, 0, offset + bytes > made[i].bytes ? made[i].bytes - offset : bytes);
}

static void try_mapping(unsigned i)
{
    if (made[i].mappings == 0 || below(2)) {
        shared_memory_map_get(made[i].object);
        made[i].mappings++;
        return;
    }
    /* The program writes above the end, where it may. */
    uint64_t physical, offset = made[i].object->capacity - ARCH_PAGE;
    if (made[i].object->capacity > 0 && offset > made[i].bytes) {
        CHECK(shared_memory_run(made[i].object, offset, ARCH_PAGE, &physical) == ARCH_PAGE);
        memset(arch_physical(physical), 0xee, ARCH_PAGE);
    }
    shared_memory_map_put(made[i].object);
    made[i].mappings--;
}

static void check_object(unsigned i)
{
    struct shared_memory *object = made[i].object;
    uint64_t kept = made[i].bytes > made[i].reserved ? made[i].bytes : made[i].reserved;
    uint64_t pages = (kept + ARCH_PAGE - 1) / ARCH_PAGE;

    CHECK_EQUAL(object->bytes, made[i].bytes);
    CHECK(made[i].mappings || object->capacity == pages * ARCH_PAGE);
    CHECK(object->capacity >= object->bytes);
    CHECK(shows(object, model[i], made[i].bytes));
    CHECK_EQUAL(shared_memory_read(object, user(), BYTES_MAX, 0), made[i].bytes);
    CHECK(memcmp(user_bytes, model[i], made[i].bytes) == 0);
}

TEST(random_operations_agree_with_arrays)
{
    begin(SLICE_PAGES);
    for (unsigned round = 0; round < 6000; round++) {
        unsigned i = (unsigned)below(OBJECTS);
        struct page_pool *rank = &slices[below(2)];

        if (!made[i].object) {
            made[i].object = shared_memory_create(rank);
            made[i].bytes = made[i].reserved = 0;
            memset(model[i], 0, BYTES_MAX);
            continue;
        }
        switch (below(10)) {
        case 0:
        case 1:
        case 2:
            try_write(i, rank);
            break;
        case 3:
        case 4:
            try_resize(i, rank);
            break;
        case 5:
        case 6:
            try_mapping(i);
            break;
        case 7:
            try_reserve(i, rank);
            break;
        case 8:
            try_clear(i);
            break;
        default:
            shared_memory_put(made[i].object);
            for (; made[i].mappings > 0; made[i].mappings--)
                shared_memory_map_put(made[i].object);
            made[i].object = NULL;
        }
        shared_memory_reclaim();
        if (made[i].object && round % 4 == 0)
            check_object(i);
    }
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (!made[i].object)
            continue;
        check_object(i);
        shared_memory_put(made[i].object);
        for (; made[i].mappings > 0; made[i].mappings--)
            shared_memory_map_put(made[i].object);
    }
    check_nothing_leaked();
}

int main(void)
{
    RUN(large_files_stand_in_large_pages);
    RUN(what_one_rank_cannot_pay_changes_nothing);
    RUN(memory_in_use_stays_until_its_last_mapping_goes);
    RUN(the_end_is_told_once_after_the_last_reference_and_mapping);
    RUN(half_a_write_leaves_no_trace_behind_the_end);
    RUN(what_is_appended_at_once_has_a_place_for_each);
    RUN(random_operations_agree_with_arrays);
    return check_report("shared_memory");
}
