/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_backing.c: the memory that backs areas: zeroed pages of the slice, or pages of a shared object. The
 * architecture's tables are the only record of which page is where. With the address space's lock
 * (vm_internal.h).
 */
#include "lib/errno.h"
#include "mm/vm_internal.h"

/* Backs the beginning of [address, address + bytes), none of which is backed; *got is how many bytes. */
static int run_back_own(struct vm *vm, uint64_t address, uint64_t bytes, unsigned rights, uint64_t *got)
{
    uint64_t physical = page_pool_allocate_run(vm->pages, address, bytes, got);

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
        *got = bytes; /* the object ends here: nothing backs the rest */
        return 0;
    }
    return arch_map(&vm->space, address, physical, *got, rights);
}

int range_back(struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model, unsigned rights)
{
    while (start < end) {
        bool attached = false;
        uint64_t run_end = start + arch_attached_run(&vm->space, start, end - start, &attached), got;

        for (; !attached && start < run_end; start += got) {
            int error = model->object ? run_back_shared(vm, start, run_end - start, model, rights, &got)
                                      : run_back_own(vm, start, run_end - start, rights, &got);
            if (error)
                return error;
            crosscall_serve();
        }
        start = run_end;
    }
    return 0;
}

/* Counts one table for each large page, for each huge page, and so on up to the root, that the range
 * touches. */
uint64_t tables_bytes_max(uint64_t start, uint64_t end)
{
    uint64_t tables = 0;

    for (uint64_t span = ARCH_LARGE_PAGE; span < ARCH_USER_LIMIT; span *= ARCH_HUGE_PAGE / ARCH_LARGE_PAGE)
        tables += (end - 1) / span - start / span + 1;
    return tables * ARCH_PAGE;
}

/* Returns how many bytes of the range are backed. */
static uint64_t backed_bytes(const struct vm *vm, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;

    while (start < end) {
        bool attached = false;
        uint64_t run = arch_attached_run(&vm->space, start, end - start, &attached);

        bytes += attached ? run : 0;
        start += run;
    }
    return bytes;
}

uint64_t range_back_bytes(const struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model)
{
    uint64_t missing = end - start - backed_bytes(vm, start, end);

    if (missing == 0)
        return 0;
    return (model->object ? 0 : missing) + tables_bytes_max(start, end);
}

uint64_t range_own_bytes(const struct vm *vm, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;

    AREAS_EACH(area, vm, start, end)
        bytes += area_is_own(area) ? backed_bytes(vm, area->start, area->end) : 0;
    return bytes;
}

/* ---- Views ---- */

#define VIEWS_BASE align_down((ARCH_MMAP_BASE + ARCH_USER_LIMIT) / 2, ARCH_HUGE_PAGE)

uint64_t view_place(const struct vm *vm, uint64_t offset, uint64_t bytes)
{
    const uint64_t into = offset % ARCH_HUGE_PAGE, span = arch_link_span(into + bytes);
    const uint64_t gap = into + bytes <= span ? gap_find(vm, VIEWS_BASE, 2 * span) : 0;

    return gap ? align_up(gap, span) + into : 0;
}

uint64_t area_object_end(const struct vm_area *area)
{
    const uint64_t size = page_up(__atomic_load_n(&area->object->bytes, __ATOMIC_RELAXED));

    return area->start + smaller(area->end - area->start, size > area->offset ? size - area->offset : 0);
}

void view_leave(struct vm *vm, struct vm_area *area)
{
    if (!area->view)
        return;
    shared_view_unlink(vm, area);
    (void)range_back(vm, area->start, area_object_end(area), area, area->rights); /* or area_follow does it */
}

void views_leave_around(struct vm *vm, uint64_t start, uint64_t end)
{
    if (vm->views == 0)
        return;

    struct vm_area *const areas[] = { avl_below(vm->areas, start), avl_above(vm->areas, end) };
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t from = areas[i] ? shared_view_start(areas[i]) : end;

        if (from < end && from + arch_link_span(areas[i]->end - from) > start)
            view_leave(vm, areas[i]);
    }
}

void area_follow(struct vm *vm, struct vm_area *area, uint64_t page)
{
    const uint64_t end = area_object_end(area);
    bool attached = false;

    if (page >= end)
        return;
    if (area->view)
        shared_views_update(area->object);
    if (!arch_space_allows(&vm->space, page, RIGHT_READ))
        view_leave(vm, area);
    const uint64_t run = arch_attached_run(&vm->space, page, end - page, &attached);
    if (!attached)
        (void)range_back(vm, page, page + run, area, area->rights); /* the caller looks whether it is there */
}
