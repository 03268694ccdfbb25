/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_promises.h: the promises of kernel/mm/vm.h, tried on whatever page tables the including test has:
 * random operations, checked against a model that knows four words of every page, its rights and its owner.
 *
 * The including test provides space_begin(), which is called with a new space, and space_look() and
 * space_table_bytes(), which read the tables independently of the code under test, and calls
 * vm_promises_run().
 *
 * After each operation the account must be even: free memory, memory that the model says is attached, tables,
 * and descriptors are all of the slice. What fails with -ENOMEM must have had a reason and change nothing.
 */
#ifndef TACET_VM_PROMISES_H
#define TACET_VM_PROMISES_H

#include "arena.h"
#include "check.h"
#include "lib/errno.h"
#include "mm/shared_memory.h"
#include "mm/vm.h"

/* One page as the CPU would see it; rights are those of a program. */
struct seen_page {
    bool attached;
    unsigned rights;
    uint64_t physical;
    uint64_t page_bytes; /* of the page that it is a part of */
};

static struct seen_page space_look(const struct arch_space *space, uint64_t address);
static uint64_t space_table_bytes(const struct arch_space *space);
static void space_begin(struct arch_space *space);

/* The window: the heap's part, then the part where mmap begins to look. */
#define HEAP_PAGES   8192ULL
#define MMAP_PAGES   16384ULL
#define WINDOW_PAGES (HEAP_PAGES + MMAP_PAGES)
#define WINDOW_BASE  (ARCH_MMAP_BASE - HEAP_PAGES * ARCH_PAGE)
#define SLICE_PAGES  12000ULL
#define WORDS        4

static uint64_t vm_seed = 11;
static struct vm vm;
static const unsigned word_offsets[WORDS] = { 0, 8, 2040, 4088 };
static const char *const names[] = { "", "[a]", "[b]", "[heap]" };

#define NAME_HEAP 3

static struct {
    bool mapped, attached, foreign;
    unsigned rights, name;
    unsigned object; /* its number and 1; 0: the slice's memory, or the kernel's */
    uint64_t object_page;
    uint64_t words[WORDS];
} pages[WINDOW_PAGES];

/* Shared objects: what vm.c sees of shared_memory.h, over memory above the slice, in two runs. */
#define OBJECTS      3
#define OBJECT_PAGES 2048ULL
#define OBJECT_BASE  (ARENA_BASE + (256ULL << 20))

static struct shared_memory objects[OBJECTS];
static const uint64_t object_pages[OBJECTS] = { 5, 700, 1600 };
static const uint64_t object_break[OBJECTS] = { 3, 512, 1030 }; /* where the second run begins */
static uint64_t object_words[OBJECTS][OBJECT_PAGES][WORDS];

static struct page_pool slice;
static uint64_t attached_pages, hoarded_bytes, heap_end;
static struct memory_range hoard[64];
static uint8_t *kernel_page;
static unsigned refusals;

static uint64_t below(uint64_t limit)
{
    return limit ? check_random(&vm_seed) % limit : 0;
}

static uint64_t page_at(uint64_t index)
{
    return WINDOW_BASE + index * ARCH_PAGE;
}

static uint64_t index_of(uint64_t address)
{
    return (address - WINDOW_BASE) / ARCH_PAGE;
}

static uint64_t *words_of(uint64_t index)
{
    return pages[index].object ? object_words[pages[index].object - 1][pages[index].object_page]
                               : pages[index].words;
}

/* ---- a shared object, as far as vm.c knows it ---- */

static uint64_t object_physical(uint64_t number, uint64_t page)
{
    return OBJECT_BASE +
           (number * 2 * OBJECT_PAGES + page + (page < object_break[number] ? 0 : 513)) * ARCH_PAGE;
}

uint64_t shared_memory_run(struct shared_memory *object, uint64_t offset, uint64_t bytes, uint64_t *physical)
{
    uint64_t number = (uint64_t)(object - objects), page = offset / ARCH_PAGE;

    CHECK(offset % ARCH_PAGE == 0 && object->uses > 0);
    if (page >= object_pages[number])
        return 0;
    uint64_t end = page < object_break[number] ? object_break[number] : object_pages[number];
    *physical = object_physical(number, page);
    return bytes < (end - page) * ARCH_PAGE ? bytes : (end - page) * ARCH_PAGE;
}

void shared_memory_map_get(struct shared_memory *object)
{
    object->references++;
    object->uses++;
}

void shared_memory_map_put(struct shared_memory *object)
{
    object->references--;
    object->uses--;
}

void shared_memory_reclaim(void)
{
    CHECK_EQUAL(vm.lock.held, 0);
}

/* Views: there are none here; test_shared_view.c has them. */
void shared_view_link(struct vm *of, struct vm_area *area)
{
    (void)of, (void)area;
}

void shared_view_unlink(struct vm *of, struct vm_area *area)
{
    CHECK(of->views == 0 && area->view == NULL);
}

void shared_views_update(struct shared_memory *object)
{
    (void)object;
    CHECK(false);
}

void crosscall_serve(void)
{
    /* no other CPU is there */
}

/* ---- comparison ---- */

static uint64_t *word_in(const struct seen_page *seen, unsigned word)
{
    return (uint64_t *)((uint8_t *)arch_physical(seen->physical) + word_offsets[word]);
}

static void check_page(uint64_t index)
{
    struct seen_page seen = space_look(&vm.space, page_at(index));

    CHECK_EQUAL(seen.attached, pages[index].attached || pages[index].foreign);
    CHECK_EQUAL(seen.rights, seen.attached ? pages[index].rights : 0);
    if (!seen.attached || pages[index].foreign)
        return;
    if (pages[index].object)
        CHECK_EQUAL(seen.physical, object_physical(pages[index].object - 1, pages[index].object_page));
    for (unsigned word = 0; word < WORDS; word++)
        CHECK_EQUAL(*word_in(&seen, word), words_of(index)[word]);
}

static bool alike(uint64_t left, uint64_t right)
{
    return pages[left].mapped && pages[right].mapped && pages[left].rights == pages[right].rights &&
           pages[left].foreign == pages[right].foreign && pages[left].name == pages[right].name &&
           pages[left].object == pages[right].object &&
           (!pages[left].object || pages[left].object_page + (right - left) == pages[right].object_page);
}

/* Checks that the areas are the model's maximal runs of pages that are alike, in order. */
static void check_areas(void)
{
    const struct vm_area *area = avl_above(vm.areas, 0);

    for (uint64_t index = 0; index < WINDOW_PAGES;) {
        uint64_t first = index;

        if (!pages[index++].mapped)
            continue;
        while (index < WINDOW_PAGES && alike(first, index))
            index++;
        if (!CHECK(area != NULL))
            return;
        CHECK_EQUAL(area->start, page_at(first));
        CHECK_EQUAL(area->end, page_at(index));
        CHECK_EQUAL(area->rights, pages[first].rights);
        CHECK_EQUAL(area->foreign, pages[first].foreign);
        CHECK_TEXT(area->name, names[pages[first].name]);
        CHECK(area->object == (pages[first].object ? &objects[pages[first].object - 1] : NULL));
        area = avl_above(vm.areas, area->end);
    }
    CHECK(area == NULL);
}

static uint64_t area_count(void)
{
    uint64_t count = 0;

    for (const struct vm_area *area = NULL; (area = avl_above(vm.areas, area ? area->end : 0)) != NULL;)
        count++;
    return count;
}

static void check_account(void)
{
    uint64_t per_page = ARCH_PAGE / sizeof(struct vm_area) - 1;
    unsigned holds[OBJECTS] = { 0 };

    CHECK(vm.area_page_count <= area_count() / per_page + 2);
    CHECK_EQUAL(slice.total_bytes, slice.free_bytes + hoarded_bytes + attached_pages * ARCH_PAGE +
                                       space_table_bytes(&vm.space) + vm.area_page_count * ARCH_PAGE);
    for (const struct vm_area *area = avl_above(vm.areas, 0); area; area = avl_above(vm.areas, area->end))
        if (area->object)
            holds[area->object - objects]++;
    for (unsigned i = 0; i < OBJECTS; i++) {
        CHECK_EQUAL(objects[i].references, holds[i] + 1);
        CHECK_EQUAL(objects[i].uses, holds[i]);
    }
}

/* Checks that no memory shows up twice. */
static void check_owners(void)
{
    static bool owned[SLICE_PAGES + 2];

    memset(owned, 0, sizeof(owned));
    for (uint64_t index = 0; index < WINDOW_PAGES; index++) {
        struct seen_page seen = space_look(&vm.space, page_at(index));
        uint64_t number = (seen.physical - ARENA_BASE) / ARCH_PAGE;

        if (!seen.attached || pages[index].foreign || pages[index].object)
            continue;
        if (!CHECK(number < SLICE_PAGES))
            return;
        CHECK(!owned[number]);
        owned[number] = true;
    }
}

static void check_all(void)
{
    for (uint64_t index = 0; index < WINDOW_PAGES; index++)
        check_page(index);
    check_areas();
    check_owners();
    check_account();
}

static void check_around(uint64_t address, uint64_t bytes)
{
    uint64_t first = index_of(address), last = first + bytes / ARCH_PAGE;

    for (uint64_t index = first > 2 ? first - 2 : 0; index < last + 2 && index < WINDOW_PAGES; index++)
        check_page(index);
    check_areas();
    check_account();
}

/* Checks a refusal for lack of memory: the memory, or what tables may take of it, is really missing. */
static void check_refusal(int error, uint64_t bytes, uint64_t coming)
{
    uint64_t tables = (bytes / ARCH_LARGE_PAGE + 20) * ARCH_PAGE;

    CHECK_EQUAL(error, -ENOMEM);
    CHECK(slice.free_bytes + coming < bytes + tables);
    refusals++;
    check_all();
}

/* ---- the model's changes ---- */

static void model_unmap(uint64_t first, uint64_t count)
{
    for (uint64_t index = first; index < first + count; index++) {
        attached_pages -= pages[index].attached && !pages[index].object;
        memset(&pages[index], 0, sizeof(pages[index]));
    }
}

static void model_back(uint64_t first, uint64_t count)
{
    for (uint64_t index = first; index < first + count; index++) {
        if (pages[index].object) {
            pages[index].attached = pages[index].object_page < object_pages[pages[index].object - 1];
            continue;
        }
        attached_pages += !pages[index].attached && !pages[index].foreign;
        pages[index].attached = !pages[index].foreign;
    }
}

static void model_map_shared(uint64_t first, uint64_t count, unsigned rights, unsigned name, unsigned object,
                             uint64_t object_page)
{
    model_unmap(first, count);
    for (uint64_t index = first; index < first + count; index++) {
        pages[index].mapped = true;
        pages[index].rights = rights;
        pages[index].name = name;
        pages[index].object = object;
        pages[index].object_page = object_page + (index - first);
    }
    if (rights)
        model_back(first, count);
}

static void model_map(uint64_t first, uint64_t count, unsigned rights, unsigned name)
{
    model_map_shared(first, count, rights, name, 0, 0);
}

static bool all_mapped(uint64_t first, uint64_t count)
{
    for (uint64_t index = first; index < first + count; index++)
        if (!pages[index].mapped)
            return false;
    return true;
}

static bool none_mapped(uint64_t first, uint64_t count)
{
    for (uint64_t index = first; index < first + count; index++)
        if (pages[index].mapped)
            return false;
    return true;
}

/* Counts pages of the slice. */
static uint64_t count_attached(uint64_t first, uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t index = first; index < first + count; index++)
        sum += pages[index].attached && !pages[index].object;
    return sum;
}

/* Counts the pages of the slice that there would be if all of them had all rights. */
static uint64_t count_missing(uint64_t first, uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t index = first; index < first + count; index++)
        sum += !pages[index].attached && !pages[index].object && !pages[index].foreign;
    return sum;
}

/* ---- operations ---- */

static void vm_begin(void)
{
    const struct memory_range extent = { ARENA_BASE, SLICE_PAGES * ARCH_PAGE };

    arena_begin();
    memset(pages, 0, sizeof(pages));
    memset(hoard, 0, sizeof(hoard));
    memset(objects, 0, sizeof(objects));
    memset(object_words, 0, sizeof(object_words));
    for (unsigned i = 0; i < OBJECTS; i++)
        objects[i].references = 1; /* the test's own */
    attached_pages = hoarded_bytes = 0;
    page_pool_initialise(&slice, &extent, 1);
    CHECK_EQUAL(vm_create(&vm, &slice, NULL), 0);
    space_begin(&vm.space);
    vm.heap_start = vm.heap_end = heap_end = WINDOW_BASE;
    kernel_page = arch_physical(ARENA_BASE + (SLICE_PAGES + 1) * ARCH_PAGE);
}

static uint64_t random_count(void)
{
    switch (below(6)) {
    case 0:
        return 512 * (1 + below(3));
    case 1:
        return 1 + below(3000);
    default:
        return 1 + below(12);
    }
}

/* Returns a place in the window, often where something begins or ends, or on a large page's bound. */
static uint64_t random_index(uint64_t count)
{
    uint64_t index = below(WINDOW_PAGES - count);

    switch (below(4)) {
    case 0:
        return index / 512 * 512;
    case 1:
        while (index > 0 && alike(index - 1, index))
            index--;
        return index;
    default:
        return index;
    }
}

static unsigned random_rights(void)
{
    static const unsigned rights[] = { 0, RIGHT_READ, RIGHT_READ | RIGHT_WRITE, RIGHT_READ | RIGHT_WRITE,
                                       RIGHT_READ | RIGHT_EXECUTE };

    return rights[below(5)];
}

/* Returns the lowest gap that is large enough, from where mmap begins to look. */
static uint64_t lowest_gap(uint64_t count)
{
    uint64_t unit = count >= 512 ? 512 : 1;

    for (uint64_t first = HEAP_PAGES; first + count <= WINDOW_PAGES; first += unit)
        if (none_mapped(first, count))
            return page_at(first);
    return 0;
}

static void try_map(void)
{
    uint64_t count = random_count(), first = random_index(count), address = page_at(first), before = address;
    unsigned rights = random_rights(), name = (unsigned)below(3), flags = (unsigned)below(4);
    bool free = none_mapped(first, count), fixed = flags & VM_FIXED;
    uint64_t coming = fixed ? count_attached(first, count) * ARCH_PAGE : 0;
    uint64_t gap = fixed || free ? address : lowest_gap(count);

    if (gap == 0)
        return; /* the only one is above the window */
    int error = vm_map(&vm, &address, count * ARCH_PAGE - below(ARCH_PAGE), rights, flags, names[name]);

    if (fixed && (flags & VM_NO_REPLACE) && !free) {
        CHECK_EQUAL(error, -EEXIST);
        return;
    }
    if (error) {
        CHECK_EQUAL(address, before);
        check_refusal(error, rights ? count * ARCH_PAGE : 0, coming);
        return;
    }
    CHECK_EQUAL(address, gap);
    model_map(index_of(address), count, rights, name);
    check_around(address, count * ARCH_PAGE);
}

static void try_map_shared(void)
{
    uint64_t count = random_count(), first = random_index(count), address = page_at(first), before = address;
    unsigned rights = random_rights(), object = (unsigned)below(OBJECTS);
    uint64_t from = below(3) ? below(object_pages[object] + 3) : first % 512;
    uint64_t coming = count_attached(first, count) * ARCH_PAGE;
    int error = vm_map_shared(&vm, &address, count * ARCH_PAGE, rights, VM_FIXED, &objects[object],
                              from * ARCH_PAGE, names[0]);

    CHECK_EQUAL(address, before);
    if (error) {
        check_refusal(error, 0, coming);
        return;
    }
    model_map_shared(first, count, rights, 0, object + 1, from);
    check_around(address, count * ARCH_PAGE);
}

static void try_map_kernel(void)
{
    uint64_t index = random_index(1);

    if (pages[index].mapped)
        return;
    int error = vm_map_kernel(&vm, page_at(index), kernel_page, ARCH_PAGE, RIGHT_READ,
                              names[0]); /* only what it is sets it apart */

    if (error) {
        check_refusal(error, 0, 0);
        return;
    }
    model_map(index, 1, 0, 0);
    pages[index].rights = RIGHT_READ;
    pages[index].foreign = true;
    CHECK_EQUAL(space_look(&vm.space, page_at(index)).physical, arch_physical_of(kernel_page));
    check_around(page_at(index), ARCH_PAGE);
}

static void try_unmap(void)
{
    uint64_t count = random_count(), first = random_index(count);
    int error = vm_unmap(&vm, page_at(first), count * ARCH_PAGE);

    if (error) {
        check_refusal(error, 0, 0);
        return;
    }
    model_unmap(first, count);
    check_around(page_at(first), count * ARCH_PAGE);
}

static void try_protect(void)
{
    uint64_t count = random_count(), first = random_index(count), unattached, foreign = 0;
    unsigned rights = random_rights();

    if (below(2))
        while (count > 1 && !all_mapped(first, count))
            count = count / 2;
    unattached = count_missing(first, count);
    for (uint64_t index = first; index < first + count; index++)
        foreign += pages[index].foreign;
    int error = vm_protect(&vm, page_at(first), count * ARCH_PAGE, rights);

    if (!all_mapped(first, count)) {
        CHECK_EQUAL(error, -ENOMEM);
        return;
    }
    if (foreign && (rights & ~(unsigned)RIGHT_READ)) {
        CHECK_EQUAL(error, -EACCES);
        return;
    }
    if (error) {
        /* tables are reckoned for the whole range */
        check_refusal(error, rights ? unattached * ARCH_PAGE : 0, 0);
        return;
    }
    for (uint64_t index = first; index < first + count; index++)
        pages[index].rights = rights;
    if (rights)
        model_back(first, count);
    check_around(page_at(first), count * ARCH_PAGE);
}

static void model_move(uint64_t from, uint64_t to, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        CHECK(!pages[to + i].mapped || (to + i >= from && to + i < from + count));
        pages[to + i] = pages[from + i];
        memset(&pages[from + i], 0, sizeof(pages[0]));
    }
}

static void try_remap(void)
{
    uint64_t count = random_count(), first = random_index(count), new_count = random_count();
    uint64_t address = page_at(first);
    bool may_move = below(4), one_area = pages[first].mapped && !pages[first].foreign;

    while (count > 1 && !(all_mapped(first, count) && alike(first, first + count - 1)))
        count /= 2;
    for (uint64_t index = first; index < first + count; index++)
        one_area = one_area && alike(first, index);
    unsigned rights = pages[first].rights, name = pages[first].name, object = pages[first].object;
    uint64_t object_page = pages[first].object_page + count;
    uint64_t more_bytes = rights && !object && new_count > count ? (new_count - count) * ARCH_PAGE : 0;
    bool in_place = first + new_count <= WINDOW_PAGES && new_count > count &&
                    none_mapped(first + count, new_count - count);
    if (first + new_count > WINDOW_PAGES || !lowest_gap(new_count + first % 512))
        return; /* the only room may be above the window */
    int error =
        vm_remap(&vm, &address, count * ARCH_PAGE, new_count * ARCH_PAGE, may_move ? VM_MAY_MOVE : 0, 0);

    if (!one_area) {
        CHECK_EQUAL(error, -EFAULT);
        return;
    }
    if (error) {
        CHECK_EQUAL(address, page_at(first));
        if (new_count <= count)
            check_refusal(error, 0, 0);
        else if (in_place || may_move)
            check_refusal(error, more_bytes + count / 512 * ARCH_PAGE, 0);
        else
            CHECK_EQUAL(error, -ENOMEM);
        return;
    }
    if (new_count <= count || in_place) {
        CHECK_EQUAL(address, page_at(first));
        if (new_count < count)
            model_unmap(first + new_count, count - new_count);
        else if (new_count > count)
            model_map_shared(first + count, new_count - count, rights, name, object, object_page);
        check_around(address, new_count * ARCH_PAGE);
        return;
    }
    CHECK(may_move && address != page_at(first));
    if (new_count >= 512)
        CHECK_EQUAL(address % ARCH_LARGE_PAGE, page_at(first) % ARCH_LARGE_PAGE);
    uint64_t to = index_of(address);
    model_move(first, to, count);
    model_map_shared(to + count, new_count - count, rights, name, object, object_page);
    check_around(page_at(first), count * ARCH_PAGE);
    check_around(address, new_count * ARCH_PAGE);
}

static void try_remap_fixed(void)
{
    uint64_t count = random_count(), first = random_index(count), new_count = random_count();
    uint64_t to = random_index(new_count), address = page_at(first), kept;
    bool one_area = pages[first].mapped && !pages[first].foreign;

    while (count > 1 && !(all_mapped(first, count) && alike(first, first + count - 1)))
        count /= 2;
    for (uint64_t index = first; index < first + count; index++)
        one_area = one_area && alike(first, index);
    unsigned rights = pages[first].rights, name = pages[first].name, object = pages[first].object;
    uint64_t object_page = pages[first].object_page;
    uint64_t coming = count_attached(to, new_count) * ARCH_PAGE;
    int error = vm_remap(&vm, &address, count * ARCH_PAGE, new_count * ARCH_PAGE, VM_MAY_MOVE | VM_FIXED,
                         page_at(to));

    if (!one_area || (to < first + count && first < to + new_count)) {
        CHECK_EQUAL(error, one_area ? -EINVAL : -EFAULT);
        return;
    }
    kept = count < new_count ? count : new_count;
    if (error) {
        CHECK_EQUAL(address, page_at(first));
        check_refusal(error, (rights && !object ? new_count - kept : 0) * ARCH_PAGE, coming);
        return;
    }
    CHECK_EQUAL(address, page_at(to));
    model_unmap(to, new_count);
    model_move(first, to, kept);
    model_unmap(first + kept, count - kept);
    model_map_shared(to + kept, new_count - kept, rights, name, object, object_page + kept);
    check_around(page_at(first), count * ARCH_PAGE);
    check_around(address, new_count * ARCH_PAGE);
}

static void model_zero(uint64_t from, uint64_t to)
{
    for (uint64_t index = index_of(from); page_at(index) < to; index++)
        for (unsigned word = 0; word < WORDS; word++)
            if (page_at(index) + word_offsets[word] >= from && page_at(index) + word_offsets[word] < to &&
                !pages[index].object)
                pages[index].words[word] = 0;
}

static void try_clear_shared(void)
{
    uint64_t count = random_count(), first = random_index(count);
    int expected = all_mapped(first, count) ? 0 : -ENOMEM;

    while (!expected && count > 1 && pages[first].object && !pages[first + count - 1].object)
        count /= 2;
    for (uint64_t index = first; index < first + count && !expected; index++)
        expected = !pages[index].object ? -EINVAL : !(pages[index].rights & RIGHT_WRITE) ? -EACCES : 0;
    CHECK_EQUAL(vm_clear(&vm, page_at(first), count * ARCH_PAGE, true), expected);
    for (uint64_t index = first; index < first + count && !expected; index++)
        if (pages[index].attached)
            memset(words_of(index), 0, sizeof(object_words[0][0]));
    check_around(page_at(first), count * ARCH_PAGE);
}

static void try_clear(void)
{
    uint64_t count = random_count(), first = random_index(count);
    int error = vm_clear(&vm, page_at(first), count * ARCH_PAGE, false);

    CHECK_EQUAL(error, all_mapped(first, count) ? 0 : -ENOMEM);
    if (error)
        return;
    model_zero(page_at(first), page_at(first + count));
    check_around(page_at(first), count * ARCH_PAGE);
}

static uint64_t large_up(uint64_t address)
{
    return (address + ARCH_LARGE_PAGE - 1) & ~(ARCH_LARGE_PAGE - 1);
}

static void try_brk(void)
{
    uint64_t requested = WINDOW_BASE + below(HEAP_PAGES * ARCH_PAGE / (1 + below(8))) / 8 * 8;
    uint64_t old = large_up(heap_end), new = large_up(requested);
    bool possible = new <= old || none_mapped(index_of(old), (new - old) / ARCH_PAGE);
    uint64_t end = vm_brk(&vm, requested);

    if (end != requested) {
        CHECK_EQUAL(end, heap_end);
        if (possible)
            check_refusal(-ENOMEM, new > old ? new - old : 0, 0);
        return;
    }
    CHECK(possible);
    if (new > old)
        model_map(index_of(old), (new - old) / ARCH_PAGE, RIGHT_READ | RIGHT_WRITE, NAME_HEAP);
    else if (new < old)
        model_unmap(index_of(new), (old - new) / ARCH_PAGE);
    if (requested < heap_end)
        model_zero(requested, heap_end < new ? heap_end : new);
    heap_end = requested;
    check_around(WINDOW_BASE, large_up(heap_end) - WINDOW_BASE);
}

/* Writes as the program; also as the kernel on its behalf, so rights do not matter. */
static void write_words(void)
{
    uint64_t count = random_count(), first = random_index(count);

    for (uint64_t index = first; index < first + count; index += 1 + below(3)) {
        struct seen_page seen = space_look(&vm.space, page_at(index));

        if (!pages[index].attached)
            continue;
        for (unsigned word = 0; word < WORDS; word++)
            *word_in(&seen, word) = words_of(index)[word] = check_random(&vm_seed);
    }
}

/* Takes memory for another user, or gives some back, in pieces. */
static void hoard_memory(void)
{
    struct memory_range *piece = &hoard[below(64)];
    uint64_t leave = ARCH_PAGE * (below(3) ? below(20) : below(SLICE_PAGES));

    if (piece->bytes) {
        memset(arch_physical(piece->base), 0xa5, piece->bytes);
        page_pool_free(&slice, piece->base, piece->bytes);
        hoarded_bytes -= piece->bytes;
        piece->bytes = 0;
    } else if (slice.free_bytes > leave) {
        uint64_t bytes = below(2) ? slice.free_bytes - leave : ARCH_PAGE * (1 + below(30));

        bytes = bytes < slice.free_bytes ? bytes : slice.free_bytes;
        piece->base = page_pool_allocate_partial(&slice, bytes, &piece->bytes);
        hoarded_bytes += piece->bytes;
    }
}

static void release_hoard(void)
{
    for (unsigned i = 0; i < 64; i++)
        if (hoard[i].bytes)
            page_pool_free(&slice, hoard[i].base, hoard[i].bytes);
    memset(hoard, 0, sizeof(hoard));
    hoarded_bytes = 0;
}

static void try_anything(void)
{
    switch (below(24)) {
    case 20:
    case 21:
        try_map_shared();
        break;
    case 22:
        try_remap_fixed();
        break;
    case 23:
        try_clear_shared();
        break;
    case 0:
    case 1:
    case 2:
    case 3:
        try_map();
        break;
    case 4:
    case 5:
    case 6:
        try_unmap();
        break;
    case 7:
    case 8:
    case 9:
        try_protect();
        break;
    case 10:
    case 11:
    case 12:
        try_remap();
        break;
    case 13:
        try_clear();
        break;
    case 14:
        try_brk();
        break;
    case 15:
        if (below(10) == 0)
            try_map_kernel();
        break;
    case 16:
        if (below(2))
            release_hoard();
        break;
    case 17:
        for (unsigned i = 0; i < 8; i++)
            hoard_memory();
        break;
    default:
        write_words();
    }
}

/* ---- promises ---- */

#ifndef VM_ROUNDS
#define VM_ROUNDS 12
#endif

TEST(random_operations_leave_every_page_as_the_model_says)
{
    refusals = 0;
    for (unsigned round = 0; round < VM_ROUNDS && check_state.failures == 0; round++) {
        vm_begin();
        for (unsigned step = 0; step < 3000 && check_state.failures == 0; step++) {
            try_anything();
            if (check_state.failures)
                fprintf(stderr, "    round %u, step %u\n", round, step);
            if (step % 100 == 0)
                check_all();
        }
        check_all();
    }
    CHECK(refusals > 8 * VM_ROUNDS);
}

TEST(unmapping_everything_gives_everything_back)
{
    for (unsigned round = 0; round < 5 && check_state.failures == 0; round++) {
        vm_begin();
        for (unsigned step = 0; step < 300; step++)
            try_anything();
        release_hoard();
        CHECK_EQUAL(vm_unmap(&vm, WINDOW_BASE, WINDOW_PAGES * ARCH_PAGE), 0);
        model_unmap(0, WINDOW_PAGES);
        check_all();
        CHECK(vm.areas == NULL);
        CHECK_EQUAL(attached_pages, 0);
        CHECK(vm.area_page_count <= 1);
        CHECK(space_table_bytes(&vm.space) <= ARCH_PAGE); /* the root */
    }
}

TEST(address_space_without_rights_costs_nothing)
{
    vm_begin();
    uint64_t address = 0, before;

    CHECK_EQUAL(vm_map(&vm, &address, ARCH_PAGE, 0, 0, ""), 0);
    before = slice.free_bytes;
    for (unsigned i = 0; i < 50; i++) {
        address = 0;
        CHECK_EQUAL(vm_map(&vm, &address, 1ULL << 40, 0, 0, ""), 0);
    }
    CHECK_EQUAL(slice.free_bytes, before);
    struct vm_area area;
    CHECK(vm_find(&vm, address + (1ULL << 39), &area) && area.rights == 0);
}

TEST(memory_keeps_its_contents_while_nobody_may_touch_it)
{
    vm_begin();
    uint64_t address = page_at(HEAP_PAGES);

    CHECK_EQUAL(vm_map(&vm, &address, 700 * ARCH_PAGE, RIGHT_READ | RIGHT_WRITE, VM_FIXED, ""), 0);
    model_map(index_of(address), 700, RIGHT_READ | RIGHT_WRITE, 0);
    struct seen_page seen = space_look(&vm.space, address + 600 * ARCH_PAGE);
    *word_in(&seen, 2) = pages[index_of(address) + 600].words[2] = 77;
    CHECK_EQUAL(vm_protect(&vm, address, 700 * ARCH_PAGE, 0), 0);
    CHECK_EQUAL(space_look(&vm.space, address + 600 * ARCH_PAGE).rights, 0);
    CHECK_EQUAL(vm_protect(&vm, address, 700 * ARCH_PAGE, RIGHT_READ | RIGHT_WRITE), 0);
    check_all();
}

TEST(nonsense_is_refused)
{
    vm_begin();
    uint64_t address = page_at(HEAP_PAGES), limit = ARCH_USER_LIMIT;

    CHECK_EQUAL(vm_map(&vm, &address, 0, RIGHT_READ, 0, ""), -EINVAL);
    CHECK_EQUAL(vm_map(&vm, &address, UINT64_MAX, RIGHT_READ, 0, ""), -ENOMEM);
    CHECK_EQUAL(vm_map(&vm, &address, UINT64_MAX - 1, RIGHT_READ, VM_FIXED, ""), -ENOMEM);
    CHECK_EQUAL(vm_map(&vm, &limit, ARCH_PAGE, 0, VM_FIXED, ""), -ENOMEM);
    address++;
    CHECK_EQUAL(vm_map(&vm, &address, ARCH_PAGE, RIGHT_READ, VM_FIXED, ""), -EINVAL);
    address = 0;
    CHECK_EQUAL(vm_map(&vm, &address, ARCH_PAGE, RIGHT_READ, VM_FIXED, ""), -ENOMEM);
    CHECK_EQUAL(vm_unmap(&vm, page_at(3) + 1, ARCH_PAGE), -EINVAL);
    CHECK_EQUAL(vm_unmap(&vm, page_at(3), UINT64_MAX), -EINVAL);
    CHECK_EQUAL(vm_unmap(&vm, 0, ARCH_PAGE), -EINVAL);
    CHECK_EQUAL(vm_unmap(&vm, ARCH_USER_LIMIT - ARCH_PAGE, 2 * ARCH_PAGE), -EINVAL);
    CHECK_EQUAL(vm_protect(&vm, page_at(3) + 1, ARCH_PAGE, RIGHT_READ), -EINVAL);
    CHECK_EQUAL(vm_protect(&vm, page_at(3), 0, RIGHT_READ), 0);
    CHECK_EQUAL(vm_protect(&vm, page_at(3), UINT64_MAX - ARCH_PAGE, RIGHT_READ), -ENOMEM);
    CHECK_EQUAL(vm_clear(&vm, page_at(3) + 1, ARCH_PAGE, false), -EINVAL);
    CHECK_EQUAL(vm_clear(&vm, page_at(3), UINT64_MAX - ARCH_PAGE, false), -ENOMEM);
    address = page_at(3);
    CHECK_EQUAL(vm_remap(&vm, &address, ARCH_PAGE, 0, VM_MAY_MOVE, 0), -EINVAL);
    CHECK_EQUAL(vm_remap(&vm, &address, ARCH_PAGE, UINT64_MAX, VM_MAY_MOVE, 0), -EINVAL);
    CHECK_EQUAL(vm_remap(&vm, &address, ARCH_PAGE, 2 * ARCH_PAGE, VM_MAY_MOVE, 0), -EFAULT);
    CHECK_EQUAL(vm_brk(&vm, WINDOW_BASE - 1), WINDOW_BASE);
    CHECK_EQUAL(vm_brk(&vm, UINT64_MAX), WINDOW_BASE);
    CHECK_EQUAL(vm_brk(&vm, ARCH_MMAP_BASE + 1), WINDOW_BASE);
    check_all();
}

/* Another CPU that allocates all that it can get of the slice, for files or pipes, which needs no lock of the
 * address space: in the middle of operations, once they have begun to unmap. */
static bool rival_active;
static struct memory_range rival_memory[64];
static unsigned rival_count;

static inline void rival_allocate(void)
{
    arena_cpu = 1;
    while (rival_active && rival_count < 64) {
        struct memory_range *piece = &rival_memory[rival_count];

        piece->base = page_pool_allocate_partial(&slice, slice.free_bytes, &piece->bytes);
        if (piece->base == PAGE_POOL_NONE)
            break;
        rival_count++;
    }
    arena_cpu = 0;
}

static void rival_free(void)
{
    while (rival_count > 0) {
        rival_count--;
        page_pool_free(&slice, rival_memory[rival_count].base, rival_memory[rival_count].bytes);
    }
}

/* Allocates all but `bytes` of the free memory. */
static void leave_only(uint64_t bytes)
{
    for (unsigned i = 0; i < 64 && slice.free_bytes > bytes; i++) {
        hoard[i].base = page_pool_allocate_partial(&slice, slice.free_bytes - bytes, &hoard[i].bytes);
        hoarded_bytes += hoard[i].bytes;
    }
    CHECK_EQUAL(slice.free_bytes, bytes);
}

/* Tries each operation that takes memory with every amount that is too small, and with one that is enough. */
static void lack_of_memory_try(void)
{
    enum { OPERATIONS = 7 };
    const unsigned both = RIGHT_READ | RIGHT_WRITE;
    static const int growth[OPERATIONS] = { 20, 20, 20, 20, 30, -1, -20 }; /* in pages */

    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        bool done = false;

        for (uint64_t left = 0; !done && check_state.failures == 0; left++) {
            vm_begin();
            uint64_t old = page_at(HEAP_PAGES + 424), none = page_at(HEAP_PAGES + 2000), address = 0;
            int error = 0;

            CHECK_EQUAL(vm_map(&vm, &old, 600 * ARCH_PAGE, both, VM_FIXED, ""), 0);
            model_map(index_of(old), 600, both, 0);
            CHECK_EQUAL(vm_map(&vm, &none, 30 * ARCH_PAGE, 0, VM_FIXED, ""), 0);
            model_map(index_of(none), 30, 0, 0);
            leave_only(left * ARCH_PAGE);
            switch (operation) {
            case 0:
                error = vm_map(&vm, &address, 20 * ARCH_PAGE, both, 0, "");
                break;
            case 1: /* replaces something of its own memory, and more */
                address = old + 590 * ARCH_PAGE;
                error = vm_map(&vm, &address, 30 * ARCH_PAGE, RIGHT_READ, VM_FIXED, names[1]);
                break;
            case 2:
                error = vm_protect(&vm, none + ARCH_PAGE, 20 * ARCH_PAGE, both);
                break;
            case 3:
                address = old + 100 * ARCH_PAGE;
                error = vm_remap(&vm, &address, 300 * ARCH_PAGE, 320 * ARCH_PAGE, VM_MAY_MOVE, 0);
                break;
            case 4: /* needs a table for the first part of what moves */
                address = old + 20 * ARCH_PAGE;
                error = vm_remap(&vm, &address, 550 * ARCH_PAGE, 580 * ARCH_PAGE, VM_MAY_MOVE, 0);
                break;
            case 5:
                error = vm_unmap(&vm, old + 3 * ARCH_PAGE, ARCH_PAGE);
                break;
            case 6: /* replaces, with what it replaces and what moves both larger than the free memory */
                address = old;
                error = vm_remap(&vm, &address, 20 * ARCH_PAGE, 25 * ARCH_PAGE, VM_MAY_MOVE | VM_FIXED,
                                 old + 560 * ARCH_PAGE);
                break;
            }
            CHECK_EQUAL(slice.reserved_bytes, 0);
            rival_free();
            done = error == 0;
            if (!done) {
                CHECK_EQUAL(error, -ENOMEM);
                check_all();
            }
            CHECK(left < 60);
            attached_pages = 0;
            for (uint64_t index = 0; index < WINDOW_PAGES; index++)
                attached_pages += space_look(&vm.space, page_at(index)).attached;
            CHECK_EQUAL(attached_pages, (uint64_t)(600 + (done ? growth[operation] : 0)));
            check_account();
        }
    }
}

TEST(whatever_lacks_memory_changes_nothing)
{
    lack_of_memory_try();
}

TEST(another_cpu_cannot_take_what_an_operation_has_reserved)
{
    rival_active = true;
    lack_of_memory_try();
    rival_active = false;
}

static void vm_promises_run(void)
{
    RUN(random_operations_leave_every_page_as_the_model_says);
    RUN(unmapping_everything_gives_everything_back);
    RUN(address_space_without_rights_costs_nothing);
    RUN(memory_keeps_its_contents_while_nobody_may_touch_it);
    RUN(nonsense_is_refused);
    RUN(whatever_lacks_memory_changes_nothing);
    RUN(another_cpu_cannot_take_what_an_operation_has_reserved);
}

#endif
