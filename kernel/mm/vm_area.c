/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_area.c: the list of areas of an address space: what the program has mapped. With the address space's
 * lock (vm_internal.h).
 *
 * Descriptors stand in pages of the slice. A page of them is freed once the others have room for what it
 * holds, so that a program which once had very many areas does not pay for them for ever.
 */
#include "lib/errno.h"
#include "mm/vm_internal.h"

#define AREAS_PER_PAGE ((ARCH_PAGE - 3 * sizeof(uint64_t)) / sizeof(struct vm_area))
#define SPARE_MAX      (AREAS_PER_PAGE + AREAS_PER_PAGE / 2)

struct area_page {
    struct area_page *next;
    struct vm_area *spare;
    uint64_t used;
    struct vm_area areas[AREAS_PER_PAGE];
};

/* ---- Descriptors ---- */

int areas_reserve(struct vm *vm, unsigned count)
{
    while (vm->spare_areas < count) {
        uint64_t physical = page_pool_allocate(vm->pages, ARCH_PAGE, ARCH_PAGE);
        if (physical == PAGE_POOL_NONE)
            return -ENOMEM;

        struct area_page *page = arch_physical(physical);
        page->spare = NULL;
        page->used = 0;
        for (unsigned i = 0; i < AREAS_PER_PAGE; i++) {
            page->areas[i].next = page->spare;
            page->spare = &page->areas[i];
        }
        page->next = vm->area_pages;
        vm->area_pages = page;
        vm->area_page_count++;
        vm->spare_areas += AREAS_PER_PAGE;
    }
    return 0;
}

static struct area_page *page_of(const struct vm_area *area)
{
    return (struct area_page *)((uintptr_t)area & ~(uintptr_t)(ARCH_PAGE - 1));
}

static struct vm_area *descriptor_allocate(struct vm *vm)
{
    struct area_page *page = vm->area_pages;

    while (!page->spare)
        page = page->next;

    struct vm_area *area = page->spare;
    page->spare = area->next;
    page->used++;
    vm->spare_areas--;
    return area;
}

static void descriptor_free(struct vm *vm, struct vm_area *area)
{
    struct area_page *page = page_of(area);

    area->next = page->spare;
    page->spare = area;
    page->used--;
    vm->spare_areas++;
}

static void object_get(const struct vm_area *area)
{
    if (!area->object)
        return;
    shared_memory_get(area->object);
    shared_memory_map_get(area->object);
}

/* Frees an area that is no longer in the list. */
static void area_free(struct vm *vm, struct vm_area *area)
{
    if (area->object) {
        shared_memory_map_put(area->object);
        shared_memory_put(area->object);
    }
    descriptor_free(vm, area);
}

/* Moves the areas of the emptiest page to the others, which have room, and frees it. */
static void page_empty(struct vm *vm)
{
    struct area_page **emptiest = &vm->area_pages;

    for (struct area_page **link = &vm->area_pages; *link; link = &(*link)->next)
        if ((*link)->used < (*emptiest)->used)
            emptiest = link;

    struct area_page *page = *emptiest;
    *emptiest = page->next;
    vm->area_page_count--;
    vm->spare_areas -= (unsigned)(AREAS_PER_PAGE - page->used);
    for (struct vm_area **link = &vm->areas; *link; link = &(*link)->next) {
        if (page_of(*link) != page)
            continue;

        struct vm_area *area = descriptor_allocate(vm);
        *area = **link;
        *link = area;
    }
    page_pool_free(vm->pages, arch_physical_of(page), ARCH_PAGE);
}

void areas_compact(struct vm *vm)
{
    if (vm->spare_areas < SPARE_MAX)
        return;
    do {
        page_empty(vm);
    } while (vm->spare_areas >= SPARE_MAX);
}

/* ---- The list ---- */

void areas_split(struct vm *vm, uint64_t address)
{
    struct vm_area *area = area_above(vm, address);

    if (!area || area->start >= address)
        return;

    struct vm_area *upper = descriptor_allocate(vm);
    *upper = *area;
    upper->offset += upper->object ? address - area->start : 0;
    upper->start = address;
    area->end = address;
    area->next = upper;
    object_get(upper);
}

void areas_insert(struct vm *vm, const struct vm_area *model)
{
    struct vm_area **link = &vm->areas;
    struct vm_area *area = descriptor_allocate(vm);

    while (*link && (*link)->start < model->start)
        link = &(*link)->next;
    *area = *model;
    area->next = *link;
    *link = area;
    object_get(area);
}

void areas_remove(struct vm *vm, uint64_t start, uint64_t end)
{
    struct vm_area **link = &vm->areas;

    while (*link && (*link)->start < end) {
        struct vm_area *area = *link;

        if (area->start < start) {
            link = &area->next;
            continue;
        }
        *link = area->next;
        area_free(vm, area);
    }
}

static bool areas_alike(const struct vm_area *lower, const struct vm_area *upper)
{
    return lower->rights == upper->rights && lower->foreign == upper->foreign &&
           lower->of_file == upper->of_file && lower->read_only == upper->read_only &&
           lower->name == upper->name && lower->object == upper->object &&
           (!lower->object || lower->offset + (lower->end - lower->start) == upper->offset);
}

void areas_coalesce(struct vm *vm, uint64_t start, uint64_t end)
{
    for (struct vm_area *area = vm->areas; area && area->next && area->start <= end;) {
        struct vm_area *next = area->next;

        if (area->end >= start && area->end == next->start && areas_alike(area, next)) {
            area->end = next->end;
            area->next = next->next;
            area_free(vm, next);
        } else {
            area = next;
        }
    }
}

/* ---- Questions ---- */

struct vm_area *area_above(const struct vm *vm, uint64_t address)
{
    struct vm_area *area = vm->areas;

    while (area && area->end <= address)
        area = area->next;
    return area;
}

struct vm_area *area_find(const struct vm *vm, uint64_t address)
{
    struct vm_area *area = area_above(vm, address);

    return area && area->start <= address ? area : NULL;
}

bool range_free(const struct vm *vm, uint64_t start, uint64_t end)
{
    const struct vm_area *area = area_above(vm, start);

    return !area || area->start >= end;
}

bool range_covered(const struct vm *vm, uint64_t start, uint64_t end)
{
    for (const struct vm_area *area = area_above(vm, start); area && area->start <= start && start < end;
         area = area->next)
        start = area->end;
    return start >= end;
}

bool range_valid(uint64_t address, uint64_t bytes)
{
    return address % ARCH_PAGE == 0 && address >= ARCH_PAGE && bytes > 0 && address < ARCH_USER_LIMIT &&
           bytes <= ARCH_USER_LIMIT - address;
}

struct arch_hole range_hole(const struct vm *vm, uint64_t start, uint64_t end)
{
    struct arch_hole hole = { 0, UINT64_MAX };

    for (const struct vm_area *area = vm->areas; area; area = area->next) {
        if (area->end <= start)
            hole.low = area->end;
        if (area->start >= end) {
            hole.high = area->start;
            break;
        }
    }
    return hole;
}

static uint64_t page_size_for(uint64_t bytes)
{
    return bytes >= ARCH_HUGE_PAGE && arch_huge_pages() ? ARCH_HUGE_PAGE
           : bytes >= ARCH_LARGE_PAGE                   ? ARCH_LARGE_PAGE
                                                        : ARCH_PAGE;
}

uint64_t gap_find(const struct vm *vm, uint64_t from, uint64_t bytes)
{
    uint64_t alignment = page_size_for(bytes);
    uint64_t start = align_up(from, alignment);

    for (const struct vm_area *area = vm->areas; area; area = area->next) {
        if (area->end <= start)
            continue;
        if (area->start >= start && area->start - start >= bytes)
            break;
        start = align_up(area->end, alignment);
    }
    return start >= from && start < ARCH_USER_LIMIT && bytes <= ARCH_USER_LIMIT - start ? start : 0;
}

uint64_t gap_find_congruent(const struct vm *vm, uint64_t start, uint64_t bytes)
{
    uint64_t offset = start & (page_size_for(bytes) - 1);
    uint64_t gap = gap_find(vm, ARCH_MMAP_BASE, bytes + offset);

    return gap ? gap + offset : 0;
}
