/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_area.c: the tree of areas of an address space: what the program has mapped. With the address space's
 * lock (vm_internal.h). To find or change one area takes time logarithmic in the number of areas.
 *
 * Descriptors stand in pages of the slice, without holes: when one is freed, the last one moves into its
 * place. So a program that once had very many areas does not pay for them for ever.
 */
#include "lib/errno.h"
#include "mm/vm_internal.h"

#define AREAS_PER_PAGE ((ARCH_PAGE - 3 * sizeof(uint64_t)) / sizeof(struct vm_area))
#define SPARE_MAX      (AREAS_PER_PAGE + AREAS_PER_PAGE / 2)

/* All pages before the one in which the next descriptor is allocated are full, all after it are empty. */
struct area_page {
    struct area_page *before, *after;
    uint64_t used;
    struct vm_area areas[AREAS_PER_PAGE];
};

/* ---- Summaries ---- */

static const uint64_t alignments[VM_GAPS] = { ARCH_PAGE, ARCH_LARGE_PAGE, ARCH_HUGE_PAGE };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns how many bytes of [start, end) lie from its first aligned address on. */
static uint64_t gap_bytes(uint64_t start, uint64_t end, uint64_t alignment)
{
    uint64_t aligned = align_up(start, alignment);

    return aligned < end ? end - aligned : 0;
}

static bool area_summarise(struct avl_node *node)
{
    struct vm_area *area = (struct vm_area *)node;
    const struct vm_area *lower = (struct vm_area *)node->child[0], *upper = (struct vm_area *)node->child[1];
    uint64_t lowest = lower ? lower->lowest : area->start, highest = upper ? upper->highest : area->end;
    bool changed = lowest != area->lowest || highest != area->highest;

    area->lowest = lowest;
    area->highest = highest;
    for (unsigned i = 0; i < VM_GAPS; i++) {
        uint64_t gap = 0;

        if (lower && (i == 0 || area->gaps[0] >= alignments[i]))
            gap = larger(lower->gaps[i], gap_bytes(lower->highest, area->start, alignments[i]));
        if (upper && (i == 0 || area->gaps[0] >= alignments[i]))
            gap = larger(gap, larger(upper->gaps[i], gap_bytes(area->end, upper->lowest, alignments[i])));
        changed |= gap != area->gaps[i];
        area->gaps[i] = gap;
    }
    return changed;
}

/* ---- Descriptors ---- */

int areas_reserve(struct vm *vm, unsigned count)
{
    while (vm->spare_areas < count) {
        uint64_t physical = page_pool_allocate(vm->pages, ARCH_PAGE, ARCH_PAGE);
        if (physical == PAGE_POOL_NONE)
            return -ENOMEM;

        struct area_page *page = arch_physical(physical), *before = vm->area_page;
        page->before = before;
        page->after = before ? before->after : NULL;
        page->used = 0;
        if (page->after)
            page->after->before = page;
        *(before ? &before->after : &vm->area_page) = page;
        vm->area_page_count++;
        vm->spare_areas += AREAS_PER_PAGE;
    }
    return 0;
}

static struct vm_area *descriptor_allocate(struct vm *vm)
{
    if (vm->area_page->used == AREAS_PER_PAGE)
        vm->area_page = vm->area_page->after;
    vm->spare_areas--;
    return &vm->area_page->areas[vm->area_page->used++];
}

static void descriptor_free(struct vm *vm, struct vm_area *area)
{
    if (vm->area_page->used == 0)
        vm->area_page = vm->area_page->before;

    struct vm_area *last = &vm->area_page->areas[--vm->area_page->used];
    vm->spare_areas++;
    if (last == area)
        return;
    *area = *last;
    avl_replace(&vm->areas, &last->node, &area->node, area_summarise);
}

void areas_compact(struct vm *vm)
{
    while (vm->spare_areas >= SPARE_MAX) {
        struct area_page *page = vm->area_page->after;

        vm->area_page->after = page->after;
        if (page->after)
            page->after->before = vm->area_page;
        vm->area_page_count--;
        vm->spare_areas -= (unsigned)AREAS_PER_PAGE;
        page_pool_free(vm->pages, arch_physical_of(page), ARCH_PAGE);
    }
}

/* Takes an area out of the tree and frees it. */
static void area_remove(struct vm *vm, struct vm_area *area)
{
    avl_remove(&vm->areas, &area->node, area_summarise);
    if (area->object)
        shared_memory_map_put(area->object);
    descriptor_free(vm, area);
}

/* ---- Changes ---- */

static void area_set_end(struct vm *vm, struct vm_area *area, uint64_t end)
{
    area->end = end;
    avl_replace(&vm->areas, &area->node, &area->node, area_summarise);
}

void areas_insert(struct vm *vm, const struct vm_area *model)
{
    struct vm_area *area = descriptor_allocate(vm);

    *area = *model;
    avl_insert(&vm->areas, &area->node, area_summarise);
    if (area->object)
        shared_memory_map_get(area->object);
}

void areas_split(struct vm *vm, uint64_t address)
{
    struct vm_area *area = area_above(vm, address);

    if (!area || area->start >= address)
        return;

    struct vm_area upper = *area;
    upper.offset += upper.object ? address - area->start : 0;
    upper.start = address;
    areas_insert(vm, &upper); /* first, so that the ends of the subtrees do not change */
    area_set_end(vm, area, address);
}

void areas_remove(struct vm *vm, uint64_t start, uint64_t end)
{
    for (struct vm_area *area; (area = avl_above(vm->areas, start)) != NULL && area->start < end;) {
        area_remove(vm, area);
        crosscall_serve();
    }
}

static bool areas_alike(const struct vm_area *lower, const struct vm_area *upper)
{
    return lower->rights == upper->rights && lower->foreign == upper->foreign &&
           lower->stack == upper->stack && lower->of_file == upper->of_file &&
           lower->read_only == upper->read_only && lower->name == upper->name &&
           lower->object == upper->object && lower->view == upper->view &&
           (!lower->object || lower->offset + (lower->end - lower->start) == upper->offset);
}

void areas_coalesce(struct vm *vm, uint64_t start, uint64_t end)
{
    struct vm_area *area = avl_below(vm->areas, start), *next;

    if (!area)
        area = avl_above(vm->areas, start);
    for (; area && area->start <= end && (next = area_next(vm, area)) != NULL;) {
        if (area->end != next->start || !areas_alike(area, next)) {
            area = next;
            continue;
        }
        uint64_t at = area->start;
        area_set_end(vm, area, next->end); /* first, as in areas_split */
        area_remove(vm, next);
        area = avl_above(vm->areas, at);
    }
}

/* ---- Questions ---- */

struct vm_area *area_above(const struct vm *vm, uint64_t address)
{
    struct vm_area *below, *above;

    avl_neighbours(vm->areas, address, &below, &above);
    return below && below->end > address ? below : above;
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
         area = area_next(vm, area))
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
    const struct vm_area *below = avl_below(vm->areas, start), *above = avl_above(vm->areas, end);

    return (struct arch_hole){ below ? below->end : 0, above ? above->start : UINT64_MAX };
}

/* Returns the index in `alignments` of the largest page that fits. */
static unsigned alignment_for(uint64_t bytes)
{
    if (bytes >= ARCH_HUGE_PAGE && arch_huge_pages())
        return 2;
    return bytes >= ARCH_LARGE_PAGE ? 1 : 0;
}

/* Looks in a subtree for a gap at or above *start, which lies below or in the subtree. Returns true with
 * *start where the gap begins, or false with *start where the subtree ends. */
static bool gap_below(const struct avl_node *node, uint64_t *start, uint64_t bytes, unsigned alignment)
{
    const struct vm_area *area = (const struct vm_area *)node;

    if (!area || area->highest <= *start)
        return false;
    if (area->lowest >= *start && gap_bytes(*start, area->lowest, alignments[alignment]) >= bytes)
        return true;
    if (area->lowest >= *start && area->gaps[alignment] < bytes) {
        *start = area->highest;
        return false;
    }
    if (gap_below(node->child[0], start, bytes, alignment) ||
        (area->start >= *start && gap_bytes(*start, area->start, alignments[alignment]) >= bytes))
        return true;
    *start = larger(*start, area->end);
    return gap_below(node->child[1], start, bytes, alignment);
}

uint64_t gap_find(const struct vm *vm, uint64_t from, uint64_t bytes)
{
    unsigned alignment = alignment_for(bytes);
    uint64_t start = from;

    gap_below(vm->areas, &start, bytes, alignment);
    start = align_up(start, alignments[alignment]);
    return start >= from && start < ARCH_USER_LIMIT && bytes <= ARCH_USER_LIMIT - start ? start : 0;
}

uint64_t gap_find_congruent(const struct vm *vm, uint64_t start, uint64_t bytes)
{
    uint64_t offset = start & (alignments[alignment_for(bytes)] - 1);
    uint64_t gap = gap_find(vm, ARCH_MMAP_BASE, bytes + offset);

    return gap ? gap + offset : 0;
}
