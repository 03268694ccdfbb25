/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_memory.c: the memory behind the areas: zeroed pages of the slice, or pages of a shared object. See
 * vm_inner.h. The architecture's tables are the only record of which page is where.
 */
#include "lib/errno.h"
#include "mm/vm_inner.h"

static void memory_release(void *context, uint64_t physical, uint64_t bytes)
{
    struct vm *vm = context;

    page_pool_free(vm->pages, physical, bytes);
}

/* One physical run for [address, …), at most `bytes`: a huge or large page where the address allows and the
 * slice has one. */
static uint64_t run_take(struct vm *vm, uint64_t address, uint64_t bytes, uint64_t *got)
{
    static const uint64_t sizes[] = { ARCH_HUGE_PAGE, ARCH_LARGE_PAGE };

    for (unsigned i = arch_huge_pages() ? 0 : 1; i < 2; i++) {
        if ((address & (sizes[i] - 1)) || bytes < sizes[i])
            continue;

        uint64_t physical = page_pool_allocate(vm->pages, sizes[i], sizes[i]);
        if (physical != PAGE_POOL_NONE) {
            *got = sizes[i];
            return physical;
        }
    }

    uint64_t to_large = ARCH_LARGE_PAGE - (address & (ARCH_LARGE_PAGE - 1));
    return page_pool_allocate_partial(vm->pages, bytes < to_large ? bytes : to_large, got);
}

/* Backs a part of [address, address + bytes), none of which is attached; *got tells how much. */
static int run_back_own(struct vm *vm, uint64_t address, uint64_t bytes, unsigned rights, uint64_t *got)
{
    uint64_t physical = run_take(vm, address, bytes, got);

    if (physical == PAGE_POOL_NONE)
        return -ENOMEM;
    arch_zero(arch_physical(physical), *got);
    vm->zeroed_bytes += *got;

    int error = arch_map(&vm->space, address, physical, *got, rights);
    if (error)
        page_pool_free(vm->pages, physical, *got);
    return error;
}

static int run_back_shared(struct vm *vm, uint64_t address, uint64_t bytes, const struct vm_area *model,
                           unsigned rights, uint64_t *got)
{
    uint64_t physical;

    *got = shared_memory_run(model->object, model->offset + (address - model->start), bytes, &physical);
    if (*got == 0) {
        *got = bytes; /* the object ends here: nothing stands behind the rest */
        return 0;
    }
    return arch_map(&vm->space, address, physical, *got, rights);
}

int range_back(struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model, unsigned rights)
{
    while (start < end) {
        bool attached = false;
        uint64_t behind = start + arch_attached_run(&vm->space, start, end - start, &attached), got;

        for (; !attached && start < behind; start += got) {
            int error = model->object ? run_back_shared(vm, start, behind - start, model, rights, &got)
                                      : run_back_own(vm, start, behind - start, rights, &got);
            if (error)
                return error;
        }
        start = behind;
    }
    return 0;
}

/* One for each large page, for each huge page, and so on up to the root, that the range touches. */
uint64_t tables_bytes_max(uint64_t start, uint64_t end)
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

uint64_t range_wants(const struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model)
{
    uint64_t missing = range_bytes(vm, start, end, false);

    return missing == 0 ? 0 : (model->object ? 0 : missing) + tables_bytes_max(start, end);
}

static bool area_is_own(const struct vm_area *area)
{
    return !area->foreign && !area->object;
}

uint64_t range_own_bytes(const struct vm *vm, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;

    for (const struct vm_area *area = vm->areas; area && area->start < end; area = area->next)
        if (area->start >= start && area_is_own(area))
            bytes += range_bytes(vm, area->start, area->end, true);
    return bytes;
}

int range_isolate(struct vm *vm, uint64_t start, uint64_t end)
{
    int error = areas_reserve(vm, 2);

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

/* Areas of one kind that follow each other go in one go, so that other CPUs are told once. What is unmapped
 * already is a part of the hole for what comes next. */
void range_unmap(struct vm *vm, uint64_t start, uint64_t end)
{
    struct arch_hole hole = range_hole(vm, start, end);
    uint64_t behind = hole.high;

    for (const struct vm_area *area = vm->areas; area && area->start < end;) {
        const struct vm_area *last = area;

        if (area->start < start) {
            area = area->next;
            continue;
        }
        while (last->next && last->next->start < end && area_is_own(last->next) == area_is_own(area))
            last = last->next;
        hole.high = last->next && last->next->start < end ? last->next->start : behind;
        arch_unmap(&vm->space, area->start, last->end - area->start, hole,
                   area_is_own(area) ? memory_release : NULL, vm);
        area = last->next;
    }
    areas_remove(vm, start, end);
}
