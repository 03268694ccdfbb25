/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm.c: the operations of vm.h except mremap (vm_remap.c). The tree of areas (vm_area.c) is what the program
 * has mapped; the architecture's tables say which memory backs it (vm_backing.c).
 */
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/vm_internal.h"

int vm_create(struct vm *vm, struct page_pool *pages, const struct cpu_mask *cpus)
{
    *vm = (struct vm){ .pages = pages, .cpus = cpus, .limit_bytes = UINT64_MAX };
    return arch_space_create(&vm->space, pages);
}

void vm_unlock(struct vm *vm)
{
    areas_compact(vm);
    if (vm->pages->reserved_bytes)
        page_pool_unreserve(vm->pages);
    spin_unlock_own(&vm->lock);
    shared_memory_reclaim();
}

/* ---- Ranges ---- */

/* Gives the area around `address` tables of its own. One that begins there is not concerned. */
static void view_leave_at(struct vm *vm, uint64_t address)
{
    struct vm_area *area = area_find(vm, address);

    if (area && area->start < address)
        view_leave(vm, area);
}

int range_isolate(struct vm *vm, uint64_t start, uint64_t end)
{
    int error = areas_reserve(vm, 2);

    view_leave_at(vm, start);
    view_leave_at(vm, end);
    if (!error)
        error = arch_split(&vm->space, start);
    if (!error)
        error = arch_split(&vm->space, end);
    if (error)
        return error;
    areas_split(vm, start);
    areas_split(vm, end);
    return 0;
}

/* Unmaps an isolated range. Consecutive areas of one kind are unmapped together, for one TLB shootdown. What
 * is unmapped already is part of the hole around what comes next. */
static void range_unmap(struct vm *vm, uint64_t start, uint64_t end)
{
    struct arch_hole hole = range_hole(vm, start, end);
    const uint64_t high = hole.high;

    if (vm->views)
        AREAS_EACH(area, vm, start, end)
            shared_view_unlink(vm, area);
    for (const struct vm_area *area = area_above(vm, start), *next; area && area->start < end; area = next) {
        const struct vm_area *last = area;

        while ((next = area_next(vm, last)) && next->start < end && area_is_own(next) == area_is_own(area))
            last = next;
        hole.high = next && next->start < end ? next->start : high;
        arch_unmap(&vm->space, area->start, last->end - area->start, hole,
                   area_is_own(area) ? vm->pages : NULL);
    }
    areas_remove(vm, start, end);
}

/* Returns whether all of a range, of any address and size, is mapped. */
static bool range_mapped(const struct vm *vm, uint64_t address, uint64_t bytes)
{
    return bytes <= ARCH_USER_LIMIT && range_valid(address, page_up(bytes)) &&
           range_covered(vm, address, address + page_up(bytes));
}

/* Checks a range as mprotect and madvise do: an empty one need not be mapped. */
static int range_check(const struct vm *vm, uint64_t address, uint64_t bytes)
{
    if (address % ARCH_PAGE)
        return -EINVAL;
    return bytes == 0 || range_mapped(vm, address, bytes) ? 0 : -ENOMEM;
}

/* ---- Map ---- */

int range_replace(struct vm *vm, uint64_t start, uint64_t end, uint64_t needed)
{
    int error = range_isolate(vm, start, end);

    if (!error && !page_pool_reserve(vm->pages, needed, range_own_bytes(vm, start, end)))
        error = -ENOMEM;
    if (error) {
        areas_coalesce(vm, start, end);
        return error;
    }
    range_unmap(vm, start, end);
    return 0;
}

/* Sets *address to the place of a mapping: *address itself if VM_FIXED or free, else a gap with room. */
static int place_choose(const struct vm *vm, uint64_t *address, uint64_t bytes, unsigned flags)
{
    if (flags & VM_FIXED) {
        if (!range_valid(*address, bytes))
            return *address % ARCH_PAGE ? -EINVAL : -ENOMEM;
        return (flags & VM_NO_REPLACE) && !range_free(vm, *address, *address + bytes) ? -EEXIST : 0;
    }
    *address = page_down(*address);
    if (!range_valid(*address, bytes) || !range_free(vm, *address, *address + bytes))
        *address = gap_find(vm, ARCH_MMAP_BASE, bytes);
    return *address ? 0 : -ENOMEM;
}

int map_locked(struct vm *vm, uint64_t *address, uint64_t bytes, const struct vm_area *model, unsigned flags)
{
    struct vm_area area = *model;
    int error;

    if (bytes == 0 || bytes > ARCH_USER_LIMIT)
        return bytes ? -ENOMEM : -EINVAL;
    bytes = page_up(bytes);
    area.start = *address;
    const bool links = area.object && area.rights && !area.start && !(flags & VM_FIXED) &&
                       (area.start = view_place(vm, area.offset, bytes)) != 0;
    error = place_choose(vm, &area.start, bytes, flags);
    if (error)
        return error;
    area.end = area.start + bytes;
    uint64_t own_bytes = area.rights && !area.object ? bytes : 0;

    if (!limit_allows(vm, own_bytes))
        return -ENOMEM;
    views_leave_around(vm, area.start, area.end);
    error = areas_reserve(vm, 3);
    if (!error && (flags & VM_FIXED) && !range_free(vm, area.start, area.end))
        error = range_replace(vm, area.start, area.end,
                              own_bytes + (area.rights ? tables_bytes_max(area.start, area.end) : 0));
    if (!error && own_bytes > page_pool_free_bytes(vm->pages))
        error = -ENOMEM;
    if (error)
        return error;
    areas_insert(vm, &area); /* first, because a mapped object keeps its memory in place */
    struct vm_area *inserted = links ? area_find(vm, area.start) : &area;
    if (links)
        shared_view_link(vm, inserted);
    if (area.rights && !inserted->view &&
        (error = range_back(vm, area.start, area.end, &area, area.rights))) {
        range_unmap(vm, area.start, area.end);
        return error;
    }
    areas_coalesce(vm, area.start, area.end);
    *address = area.start;
    return 0;
}

/* Returns whether W^X forbids these rights. */
static bool rights_exclude(const struct vm_area *area, unsigned rights)
{
    return (rights & RIGHT_WRITE) && (rights & RIGHT_EXECUTE) && !area->stack;
}

int vm_map(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
           const char *name)
{
    const struct vm_area model = { .rights = rights,
                                   .read_only = flags & VM_READ_ONLY,
                                   .of_file = flags & VM_OF_FILE,
                                   .stack = (flags & VM_STACK) && vm->executable_stacks,
                                   .name = name };

    if (rights_exclude(&model, rights))
        return -EACCES;
    VM_GUARD(vm);
    return map_locked(vm, address, bytes, &model, flags);
}

int vm_map_shared(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
                  struct shared_memory *object, uint64_t offset, const char *name)
{
    const struct vm_area model = {
        .rights = rights, .read_only = flags & VM_READ_ONLY, .object = object, .offset = offset, .name = name
    };

    if (offset % ARCH_PAGE)
        return -EINVAL;
    if (bytes > UINT64_MAX - offset)
        return -EOVERFLOW;
    VM_GUARD(vm);
    return map_locked(vm, address, bytes, &model, flags);
}

int vm_map_kernel(struct vm *vm, uint64_t address, const void *memory, uint64_t bytes, unsigned rights,
                  const char *name)
{
    const struct vm_area area = {
        .start = address, .end = address + bytes, .rights = rights, .foreign = true, .name = name
    };

    VM_GUARD(vm);
    int error = areas_reserve(vm, 1);
    if (!error && !range_free(vm, area.start, area.end))
        error = -EEXIST;
    if (error)
        return error;
    areas_insert(vm, &area);
    error = arch_map(&vm->space, address, arch_physical_of(memory), bytes, rights);
    if (error)
        range_unmap(vm, area.start, area.end);
    return error;
}

/* ---- Unmap, protect ---- */

int unmap_locked(struct vm *vm, uint64_t address, uint64_t bytes)
{
    int error;

    if (bytes > ARCH_USER_LIMIT)
        return -EINVAL;
    bytes = page_up(bytes);
    if (!range_valid(address, bytes))
        return -EINVAL;
    error = range_isolate(vm, address, address + bytes);
    if (!error)
        range_unmap(vm, address, address + bytes);
    return error;
}

int vm_unmap(struct vm *vm, uint64_t address, uint64_t bytes)
{
    VM_GUARD(vm);
    return unmap_locked(vm, address, bytes);
}

/* Returns 0 if the range, which is mapped, may have these rights, else -EACCES. */
static int rights_check(const struct vm *vm, uint64_t start, uint64_t end, unsigned rights)
{
    AREAS_EACH(area, vm, start, end)
        if (rights_exclude(area, rights) || (area->read_only && (rights & RIGHT_WRITE)) ||
            (area->foreign && (rights & ~(unsigned)RIGHT_READ)))
            return -EACCES;
    return 0;
}

/* Backs all of the isolated range, or nothing of it. */
static int range_back_all(struct vm *vm, uint64_t start, uint64_t end, unsigned rights)
{
    uint64_t needed = 0;
    int error = 0;

    AREAS_EACH(area, vm, start, end)
        needed += range_back_bytes(vm, area->start, area->end, area);
    if (!limit_allows(vm, needed) || !page_pool_reserve(vm->pages, needed, 0))
        return -ENOMEM;
    AREAS_EACH(area, vm, start, end)
        if ((error = range_back(vm, area->start, area->end, area, rights)))
            return error;
    return 0;
}

int vm_protect(struct vm *vm, uint64_t address, uint64_t bytes, unsigned rights)
{
    const uint64_t end = address + page_up(bytes);

    VM_GUARD(vm);
    int error = range_check(vm, address, bytes);
    if (error || bytes == 0)
        return error;
    error = rights_check(vm, address, end, rights);
    if (error)
        return error;
    error = range_isolate(vm, address, end);
    if (vm->views)
        AREAS_EACH(area, vm, address, end)
            view_leave(vm, area);
    if (!error && rights)
        error = range_back_all(vm, address, end, rights);
    if (!error) {
        arch_protect(&vm->space, address, end - address, rights);
        AREAS_EACH(area, vm, address, end)
            area->rights = rights;
    }
    areas_coalesce(vm, address, end);
    return error;
}

/* ---- Zero ---- */

/* Returns 0 if an area may be zeroed as memory of that kind, else -EINVAL or -EACCES. */
static int clear_check(const struct vm_area *area, bool shared)
{
    if (!shared)
        return area->of_file ? -EINVAL : 0;
    if (!area->object)
        return -EINVAL;
    return area->rights & RIGHT_WRITE ? 0 : -EACCES;
}

/* Zeroes the memory of the range that backs areas of that kind. */
static void range_zero(struct vm *vm, uint64_t start, uint64_t end, bool shared)
{
    AREAS_EACH(area, vm, start, end) {
        uint64_t from = area->start > start ? area->start : start;
        uint64_t to = smaller(area->end, end);

        if (!area->foreign && (area->object != NULL) == shared)
            arch_attached_zero(&vm->space, from, to - from);
    }
}

int vm_clear(struct vm *vm, uint64_t address, uint64_t bytes, bool shared)
{
    const uint64_t end = address + page_up(bytes);

    VM_GUARD(vm);
    int error = range_check(vm, address, bytes);
    if (error || bytes == 0)
        return error;
    AREAS_EACH(area, vm, address, end)
        if ((error = clear_check(area, shared)))
            return error;
    range_zero(vm, address, end, shared);
    return 0;
}

void vm_end(struct vm *vm)
{
    VM_GUARD(vm);
    uint64_t start, end = 0;
    for (const struct vm_area *area; (area = area_above(vm, end)) != NULL;) {
        start = area->start;
        end = area->end;
        if (area->object)
            range_unmap(vm, start, end);
    }
}

/* ---- The heap ---- */

uint64_t vm_brk(struct vm *vm, uint64_t end)
{
    const struct vm_area heap = { .rights = RIGHT_READ | RIGHT_WRITE, .name = "[heap]" };
    uint64_t old_top = align_up(vm->heap_end, ARCH_LARGE_PAGE);
    uint64_t new_top = align_up(end, ARCH_LARGE_PAGE);

    VM_GUARD(vm);
    if (end < vm->heap_start || new_top > ARCH_MMAP_BASE || new_top < end)
        return vm->heap_end;
    if (new_top > old_top) {
        uint64_t at = old_top;

        if (map_locked(vm, &at, new_top - old_top, &heap, VM_FIXED | VM_NO_REPLACE))
            return vm->heap_end;
    } else if (new_top < old_top && unmap_locked(vm, new_top, old_top - new_top)) {
        return vm->heap_end;
    }
    /* What a shrinking heap leaves in its last page is zero when the heap grows again. */
    if (end < vm->heap_end && end < new_top)
        range_zero(vm, end, smaller(vm->heap_end, new_top), false);
    vm->heap_end = end;
    return end;
}

/* ---- Questions ---- */

bool vm_covered(struct vm *vm, uint64_t address, uint64_t bytes)
{
    VM_GUARD(vm);
    return range_mapped(vm, address, bytes);
}

void vm_resident(struct vm *vm, uint64_t address, uint64_t pages, uint8_t *resident)
{
    VM_GUARD(vm);
    for (uint64_t done = 0; done < pages;) {
        bool attached = false;
        uint64_t run =
            arch_attached_run(&vm->space, address + done * ARCH_PAGE, (pages - done) * ARCH_PAGE, &attached);

        memset(resident + done, attached, run / ARCH_PAGE);
        done += run / ARCH_PAGE;
    }
}

bool vm_find(struct vm *vm, uint64_t address, struct vm_area *copy)
{
    VM_GUARD(vm);
    const struct vm_area *area = area_find(vm, address);
    if (area)
        *copy = *area;
    return area != NULL;
}

bool vm_next(struct vm *vm, uint64_t address, struct vm_area *copy)
{
    VM_GUARD(vm);
    const struct vm_area *area = area_above(vm, address);
    if (area)
        *copy = *area;
    if (area && copy->start < address) { /* it was coalesced with areas already seen */
        copy->offset += address - copy->start;
        copy->start = address;
    }
    return area != NULL;
}

struct vm_sums vm_sum(struct vm *vm)
{
    struct vm_sums sums = { 0 };

    VM_GUARD(vm);
    AREAS_EACH(area, vm, 0, UINT64_MAX) {
        uint64_t bytes = area->end - area->start;

        sums.all += bytes;
        if (area->foreign || !area->rights)
            continue;
        sums.backed += bytes;
        *(area->rights & RIGHT_EXECUTE ? &sums.code : &sums.data) += bytes;
    }
    return sums;
}

unsigned vm_beyond_object(struct vm *vm, uint64_t address)
{
    VM_GUARD(vm);
    const struct vm_area *area = area_find(vm, address);
    if (!area || !area->object || !area->rights || arch_space_allows(&vm->space, address, RIGHT_READ))
        return 0;
    return address < area_object_end(area) ? VM_BEYOND_TABLES : VM_BEYOND_END;
}

bool vm_fault_is_spurious(struct vm *vm, uint64_t address, unsigned rights)
{
    VM_GUARD(vm);
    struct vm_area *area = area_find(vm, address);
    if (area && area->object && (area->rights & rights) == rights &&
        !arch_space_allows(&vm->space, address, rights))
        area_follow(vm, area, page_down(address));
    return arch_space_allows(&vm->space, address, rights);
}
