/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm.c: see vm.h. The list of areas says what the program asked for; the architecture's tables say what is
 * behind it.
 */
#include "vm.h"
#include "errno.h"
#include "kstring.h"

static uint64_t page_up(uint64_t value)
{
    return (value + ARCH_PAGE - 1) & ~(ARCH_PAGE - 1);
}

int vm_create(struct vm *vm, struct page_pool *pages)
{
    *vm = (struct vm){ .pages = pages };
    return arch_space_create(&vm->space, pages);
}

/* ---- Area descriptors ---- */

/* Makes sure that `count` descriptors are spare, so that what follows cannot fail half-way. */
static int descriptors_reserve(struct vm *vm, unsigned count)
{
    for (struct vm_area *area = vm->spare; area && count > 0; area = area->next)
        count--;
    if (count == 0)
        return 0;

    uint64_t page = page_pool_take(vm->pages, ARCH_PAGE, ARCH_PAGE);
    if (page == PAGE_POOL_NONE)
        return -ENOMEM;

    struct vm_area *areas = arch_physical(page);
    for (unsigned i = 0; i < ARCH_PAGE / sizeof(struct vm_area); i++) {
        areas[i].next = vm->spare;
        vm->spare = &areas[i];
    }
    return 0;
}

static struct vm_area *descriptor_take(struct vm *vm)
{
    struct vm_area *area = vm->spare;

    vm->spare = area->next;
    return area;
}

static void descriptor_give(struct vm *vm, struct vm_area *area)
{
    area->next = vm->spare;
    vm->spare = area;
}

/* Cuts the area around `address` in two there, so that one begins at it. Takes at most one descriptor. */
static void areas_cut(struct vm *vm, uint64_t address)
{
    for (struct vm_area *area = vm->areas; area && area->start < address; area = area->next) {
        if (area->end <= address)
            continue;

        struct vm_area *upper = descriptor_take(vm);
        *upper = *area;
        upper->start = address;
        area->end = address;
        area->next = upper;
        return;
    }
}

static void areas_insert(struct vm *vm, const struct vm_area *model)
{
    struct vm_area **link = &vm->areas;
    struct vm_area *area = descriptor_take(vm);

    while (*link && (*link)->start < model->start)
        link = &(*link)->next;
    *area = *model;
    area->next = *link;
    *link = area;
}

static void areas_remove(struct vm *vm, uint64_t start, uint64_t end)
{
    struct vm_area **link = &vm->areas;

    while (*link && (*link)->start < end) {
        struct vm_area *area = *link;

        if (area->start < start) {
            link = &area->next;
            continue;
        }
        *link = area->next;
        descriptor_give(vm, area);
    }
}

static void areas_join(struct vm *vm)
{
    for (struct vm_area *area = vm->areas; area && area->next;) {
        struct vm_area *next = area->next;

        if (area->end == next->start && area->rights == next->rights && area->foreign == next->foreign &&
            area->of_file == next->of_file && area->name == next->name) {
            area->end = next->end;
            area->next = next->next;
            descriptor_give(vm, next);
        } else {
            area = next;
        }
    }
}

const struct vm_area *vm_find(const struct vm *vm, uint64_t address)
{
    for (const struct vm_area *area = vm->areas; area && area->start <= address; area = area->next)
        if (address < area->end)
            return area;
    return NULL;
}

static bool range_free(const struct vm *vm, uint64_t start, uint64_t end)
{
    for (const struct vm_area *area = vm->areas; area && area->start < end; area = area->next)
        if (area->end > start)
            return false;
    return true;
}

static bool range_covered(const struct vm *vm, uint64_t start, uint64_t end)
{
    for (const struct vm_area *area = vm->areas; area && start < end; area = area->next) {
        if (area->end <= start)
            continue;
        if (area->start > start)
            return false;
        start = area->end;
    }
    return start >= end;
}

/* The lowest gap of `bytes` at or above `from`, aligned so that large pages fit. 0 where there is none. */
static uint64_t gap_find(const struct vm *vm, uint64_t from, uint64_t bytes)
{
    uint64_t alignment = bytes >= ARCH_HUGE_PAGE && arch_huge_pages() ? ARCH_HUGE_PAGE
                         : bytes >= ARCH_LARGE_PAGE                   ? ARCH_LARGE_PAGE
                                                                      : ARCH_PAGE;
    uint64_t start = (from + alignment - 1) & ~(alignment - 1);

    for (const struct vm_area *area = vm->areas; area; area = area->next) {
        if (area->end <= start)
            continue;
        if (area->start >= start && area->start - start >= bytes)
            break;
        start = (area->end + alignment - 1) & ~(alignment - 1);
    }
    return start >= from && start < ARCH_USER_LIMIT && bytes <= ARCH_USER_LIMIT - start ? start : 0;
}

/* ---- The memory behind ---- */

static void memory_release(void *context, uint64_t physical, uint64_t bytes)
{
    struct vm *vm = context;

    page_pool_give(vm->pages, physical, bytes);
}

/* One physical run for [address, …), at most `bytes`: a huge or large page where the address allows and the
 * slice has one. */
static uint64_t run_take(struct vm *vm, uint64_t address, uint64_t bytes, uint64_t *got)
{
    static const uint64_t sizes[] = { ARCH_HUGE_PAGE, ARCH_LARGE_PAGE };

    for (unsigned i = arch_huge_pages() ? 0 : 1; i < 2; i++) {
        if ((address & (sizes[i] - 1)) || bytes < sizes[i])
            continue;

        uint64_t physical = page_pool_take(vm->pages, sizes[i], sizes[i]);
        if (physical != PAGE_POOL_NONE) {
            *got = sizes[i];
            return physical;
        }
    }

    uint64_t to_large = ARCH_LARGE_PAGE - (address & (ARCH_LARGE_PAGE - 1));
    return page_pool_take_some(vm->pages, bytes < to_large ? bytes : to_large, got);
}

/* Backs what is not yet backed in the range with zeroed memory. On -ENOMEM the caller takes back what was
 * attached. */
static int range_back(struct vm *vm, uint64_t start, uint64_t end, unsigned rights)
{
    while (start < end) {
        bool attached = false;
        uint64_t run = arch_attached_run(&vm->space, start, end - start, &attached);
        uint64_t physical, got;
        int error;

        if (attached) {
            start += run;
            continue;
        }
        physical = run_take(vm, start, run, &got);
        if (physical == PAGE_POOL_NONE)
            return -ENOMEM;
        arch_zero(arch_physical(physical), got);
        vm->zeroed_bytes += got;
        error = arch_map(&vm->space, start, physical, got, rights);
        if (error) {
            page_pool_give(vm->pages, physical, got);
            return error;
        }
        start += got;
    }
    return 0;
}

/* Tables that a range could need that is mapped in small pages, where none of its tables is there yet: one
 * for each large page, for each huge page, and so on up to the root, that the range touches. */
static uint64_t tables_bytes_max(uint64_t start, uint64_t end)
{
    uint64_t tables = 0;

    for (uint64_t span = ARCH_LARGE_PAGE; span < ARCH_USER_LIMIT; span *= ARCH_HUGE_PAGE / ARCH_LARGE_PAGE)
        tables += (end - 1) / span - start / span + 1;
    return tables * ARCH_PAGE;
}

/* Bytes in the range that are attached or are not. */
static uint64_t range_bytes(const struct vm *vm, uint64_t start, uint64_t end, bool wanted)
{
    uint64_t bytes = 0;

    while (start < end) {
        bool attached = false;
        uint64_t run = arch_attached_run(&vm->space, start, end - start, &attached);

        bytes += attached == wanted ? run : 0;
        start += run;
    }
    return bytes;
}

/* Whether there is memory for `more` bytes in the range, and for tables, so that range_back cannot fail;
 * `coming` bytes will be given back before. */
static bool range_affordable(const struct vm *vm, uint64_t start, uint64_t end, uint64_t more,
                             uint64_t coming)
{
    return more == 0 || more + tables_bytes_max(start, end) <= vm->pages->free_bytes + coming;
}

/* What unmapping the range, which is isolated, gives back. */
static uint64_t range_own_bytes(const struct vm *vm, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;

    for (const struct vm_area *area = vm->areas; area && area->start < end; area = area->next)
        if (area->start >= start && !area->foreign)
            bytes += range_bytes(vm, area->start, area->end, true);
    return bytes;
}

/* Cuts areas and pages at both ends of a range, so that what happens to it touches nothing else and needs no
 * more memory. */
static int range_isolate(struct vm *vm, uint64_t start, uint64_t end)
{
    int error = descriptors_reserve(vm, 2);

    if (!error)
        error = arch_split(&vm->space, start);
    if (!error)
        error = arch_split(&vm->space, end);
    if (error)
        return error;
    areas_cut(vm, start);
    areas_cut(vm, end);
    return 0;
}

/* Takes an isolated range away. */
static void range_unmap(struct vm *vm, uint64_t start, uint64_t end)
{
    for (struct vm_area *area = vm->areas; area && area->start < end; area = area->next)
        if (area->start >= start)
            arch_unmap(&vm->space, area->start, area->end - area->start,
                       area->foreign ? NULL : memory_release, vm);
    areas_remove(vm, start, end);
}

/* ---- Operations ---- */

static bool range_valid(uint64_t address, uint64_t bytes)
{
    return address % ARCH_PAGE == 0 && address >= ARCH_PAGE && bytes > 0 && address < ARCH_USER_LIMIT &&
           bytes <= ARCH_USER_LIMIT - address;
}

/* Unmaps what is in the way of a new mapping, once it is certain that there will be memory for that one. */
static int range_clear_way(struct vm *vm, uint64_t start, uint64_t end, unsigned rights)
{
    int error = range_isolate(vm, start, end);

    if (!error && rights && !range_affordable(vm, start, end, end - start, range_own_bytes(vm, start, end)))
        error = -ENOMEM;
    if (error) {
        areas_join(vm);
        return error;
    }
    range_unmap(vm, start, end);
    return 0;
}

int vm_map(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
           const char *name)
{
    uint64_t start = *address;
    int error;

    if (bytes == 0 || bytes > ARCH_USER_LIMIT)
        return bytes ? -ENOMEM : -EINVAL;
    bytes = page_up(bytes);
    if (flags & VM_FIXED) {
        if (!range_valid(start, bytes))
            return start % ARCH_PAGE ? -EINVAL : -ENOMEM;
        if ((flags & VM_NO_REPLACE) && !range_free(vm, start, start + bytes))
            return -EEXIST;
    } else {
        start &= ~(ARCH_PAGE - 1);
        if (!range_valid(start, bytes) || !range_free(vm, start, start + bytes))
            start = gap_find(vm, ARCH_MMAP_BASE, bytes);
        if (!start)
            return -ENOMEM;
    }
    error = descriptors_reserve(vm, 3);
    if (!error && !range_free(vm, start, start + bytes))
        error = range_clear_way(vm, start, start + bytes, rights);
    if (!error && rights && bytes > vm->pages->free_bytes)
        error = -ENOMEM;
    if (error)
        return error;

    if (rights && (error = range_back(vm, start, start + bytes, rights))) {
        arch_unmap(&vm->space, start, bytes, memory_release, vm);
        return error;
    }
    areas_insert(vm, &(struct vm_area){ .start = start,
                                        .end = start + bytes,
                                        .rights = rights,
                                        .of_file = flags & VM_OF_FILE,
                                        .name = name });
    areas_join(vm);
    *address = start;
    return 0;
}

int vm_map_kernel(struct vm *vm, uint64_t address, const void *memory, uint64_t bytes, unsigned rights,
                  const char *name)
{
    int error = descriptors_reserve(vm, 1);

    if (!error)
        error = arch_map(&vm->space, address, arch_physical_of(memory), bytes, rights);
    if (error)
        return error;
    areas_insert(
        vm,
        &(struct vm_area){
            .start = address, .end = address + bytes, .rights = rights, .foreign = true, .name = name });
    return 0;
}

int vm_unmap(struct vm *vm, uint64_t address, uint64_t bytes)
{
    uint64_t end;
    int error;

    if (bytes > ARCH_USER_LIMIT)
        return -EINVAL;
    bytes = page_up(bytes);
    if (!range_valid(address, bytes))
        return -EINVAL;
    end = address + bytes;
    error = range_isolate(vm, address, end);
    if (error)
        return error;
    range_unmap(vm, address, end);
    return 0;
}

int vm_protect(struct vm *vm, uint64_t address, uint64_t bytes, unsigned rights)
{
    uint64_t end;
    int error;

    if (address % ARCH_PAGE)
        return -EINVAL;
    if (bytes == 0)
        return 0;
    if (bytes > ARCH_USER_LIMIT)
        return -ENOMEM;
    bytes = page_up(bytes);
    if (!range_valid(address, bytes) || !range_covered(vm, address, address + bytes))
        return -ENOMEM;
    end = address + bytes;
    for (const struct vm_area *area = vm->areas; area && area->start < end; area = area->next)
        if (area->end > address && area->foreign && (rights & ~(unsigned)RIGHT_READ))
            return -EACCES;
    error = range_isolate(vm, address, end);
    if (!error && rights && !range_affordable(vm, address, end, range_bytes(vm, address, end, false), 0))
        error = -ENOMEM;
    if (!error && rights)
        error = range_back(vm, address, end, rights);
    if (!error) {
        arch_protect(&vm->space, address, bytes, rights);
        for (struct vm_area *area = vm->areas; area && area->start < end; area = area->next)
            if (area->start >= address)
                area->rights = rights;
    }
    areas_join(vm);
    return error;
}

struct move {
    struct vm *vm;
    uint64_t to;
    unsigned rights;
};

static void move_run(void *context, uint64_t physical, uint64_t bytes)
{
    struct move *move = context;

    /* Cannot fail: vm_remap has made sure of the memory for tables. */
    if (arch_map(&move->vm->space, move->to, physical, bytes, move->rights))
        page_pool_give(move->vm->pages, physical, bytes);
    move->to += bytes;
}

/* Moves what is behind [from, from + bytes), an isolated range, to `to`. */
static void memory_move(struct vm *vm, uint64_t from, uint64_t to, uint64_t bytes, unsigned rights)
{
    for (uint64_t done = 0; done < bytes;) {
        bool attached = false;
        uint64_t run = arch_attached_run(&vm->space, from + done, bytes - done, &attached);
        struct move move = { vm, to + done, rights };

        if (attached)
            arch_unmap(&vm->space, from + done, run, move_run, &move);
        done += run;
    }
}

/* A gap for a range that moves from `start`, at the same distance from a large or huge page's bound, so that
 * its pages stay as large as they are. */
static uint64_t gap_find_alike(const struct vm *vm, uint64_t start, uint64_t bytes)
{
    uint64_t unit = bytes >= ARCH_HUGE_PAGE && arch_huge_pages() ? ARCH_HUGE_PAGE
                    : bytes >= ARCH_LARGE_PAGE                   ? ARCH_LARGE_PAGE
                                                                 : ARCH_PAGE;
    uint64_t offset = start & (unit - 1);
    uint64_t gap = gap_find(vm, ARCH_MMAP_BASE, bytes + offset);

    return gap ? gap + offset : 0;
}

int vm_remap(struct vm *vm, uint64_t *address, uint64_t old_bytes, uint64_t new_bytes, bool may_move)
{
    uint64_t start = *address;
    int error;

    old_bytes = page_up(old_bytes);
    if (new_bytes == 0 || new_bytes > ARCH_USER_LIMIT || !range_valid(start, old_bytes))
        return -EINVAL;
    new_bytes = page_up(new_bytes);

    const struct vm_area *area = vm_find(vm, start);
    if (!area || area->foreign || area->end - start < old_bytes)
        return -EFAULT;
    if (new_bytes <= old_bytes)
        return new_bytes < old_bytes ? vm_unmap(vm, start + new_bytes, old_bytes - new_bytes) : 0;

    unsigned rights = area->rights;
    const char *name = area->name;
    bool of_file = area->of_file;
    unsigned flags = VM_FIXED | VM_NO_REPLACE | (of_file ? VM_OF_FILE : 0);
    uint64_t more = start + old_bytes;

    if (range_valid(start, new_bytes) && range_free(vm, more, start + new_bytes))
        return vm_map(vm, &more, new_bytes - old_bytes, rights, flags, name);
    if (!may_move)
        return -ENOMEM;

    uint64_t to = gap_find_alike(vm, start, new_bytes);
    uint64_t tail = to + old_bytes;
    if (!to)
        return -ENOMEM;
    /* 2 to isolate, 1 for the tail, 2 to unmap that again, 1 for the range at its new place. */
    error = descriptors_reserve(vm, 6);
    if (!error)
        error = range_isolate(vm, start, more);
    if (!error)
        error = vm_map(vm, &tail, new_bytes - old_bytes, rights, flags, name);
    if (!error && vm->pages->free_bytes < tables_bytes_max(to, tail)) {
        vm_unmap(vm, tail, new_bytes - old_bytes);
        error = -ENOMEM;
    }
    if (error) {
        areas_join(vm);
        return error;
    }
    range_isolate(vm, start, more); /* again, for vm_map has joined areas; nothing is missing for it now */
    memory_move(vm, start, to, old_bytes, rights);
    areas_remove(vm, start, start + old_bytes);
    areas_insert(
        vm, &(struct vm_area){
                .start = to, .end = to + old_bytes, .rights = rights, .of_file = of_file, .name = name });
    areas_join(vm);
    *address = to;
    return 0;
}

bool vm_covered(const struct vm *vm, uint64_t address, uint64_t bytes)
{
    return bytes <= ARCH_USER_LIMIT && range_valid(address, page_up(bytes)) &&
           range_covered(vm, address, address + page_up(bytes));
}

int vm_clear(struct vm *vm, uint64_t address, uint64_t bytes)
{
    if (address % ARCH_PAGE)
        return -EINVAL;
    if (bytes == 0)
        return 0;
    if (bytes > ARCH_USER_LIMIT)
        return -ENOMEM;
    bytes = page_up(bytes);
    if (!range_valid(address, bytes) || !range_covered(vm, address, address + bytes))
        return -ENOMEM;
    for (const struct vm_area *area = vm->areas; area && area->start < address + bytes; area = area->next)
        if (area->end > address && area->of_file)
            return -EINVAL;
    for (const struct vm_area *area = vm->areas; area && area->start < address + bytes; area = area->next) {
        uint64_t from = area->start > address ? area->start : address;
        uint64_t to = area->end < address + bytes ? area->end : address + bytes;

        if (from < to && !area->foreign)
            arch_attached_zero(&vm->space, from, to - from);
    }
    return 0;
}

uint64_t vm_brk(struct vm *vm, uint64_t end)
{
    uint64_t backed = (vm->heap_end + ARCH_LARGE_PAGE - 1) & ~(ARCH_LARGE_PAGE - 1);
    uint64_t wanted = (end + ARCH_LARGE_PAGE - 1) & ~(ARCH_LARGE_PAGE - 1);

    if (end < vm->heap_start || wanted > ARCH_MMAP_BASE || wanted < end)
        return vm->heap_end;
    if (wanted > backed) {
        uint64_t at = backed;

        if (vm_map(vm, &at, wanted - backed, RIGHT_READ | RIGHT_WRITE, VM_FIXED | VM_NO_REPLACE, "[heap]"))
            return vm->heap_end;
    } else if (wanted < backed && vm_unmap(vm, wanted, backed - wanted)) {
        return vm->heap_end;
    }
    /* What a shrinking heap leaves in its last page is zero when the heap grows again. */
    if (end < vm->heap_end && end < wanted)
        arch_attached_zero(&vm->space, end, (vm->heap_end < wanted ? vm->heap_end : wanted) - end);
    vm->heap_end = end;
    return end;
}
