/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_remap.c: mremap: an area grows or shrinks, in place or elsewhere. The pages move; their contents are not
 * copied. With the address space's lock (vm_internal.h).
 */
#include "lib/errno.h"
#include "mm/vm_internal.h"

/* Returns a model of the area from `address` on, which need not be in it. The end is not set. */
static struct vm_area model_at(const struct vm_area *area, uint64_t address)
{
    struct vm_area model = *area;

    model.offset += address - area->start;
    model.start = address;
    model.view = NULL;
    return model;
}

/* Moves [from, from + old_bytes) to `to`, where `new_bytes`, at least as many, are free. The new part is
 * mapped first, above the place of the old part, because that may fail. */
static int move_to(struct vm *vm, uint64_t from, uint64_t to, uint64_t old_bytes, uint64_t new_bytes,
                   const struct vm_area *model)
{
    uint64_t tail = to + old_bytes, more = new_bytes - old_bytes;
    struct vm_area moved = *model, grown = model_at(model, model->start + old_bytes);
    int error;

    /* 2 to isolate, 1 for the tail, 2 to unmap that again, 1 for the range at its new place. */
    error = areas_reserve(vm, 6);
    if (!error)
        error = range_isolate(vm, from, from + old_bytes);
    if (!error && more)
        error = map_locked(vm, &tail, more, &grown, VM_FIXED | VM_NO_REPLACE);
    if (!error && !page_pool_reserve(vm->pages, tables_bytes_max(to, tail), 0)) {
        if (more)
            unmap_locked(vm, tail, more);
        error = -ENOMEM;
    }
    if (error) {
        areas_coalesce(vm, from, from + old_bytes);
        return error;
    }
    range_isolate(vm, from, from + old_bytes); /* again, for map_locked coalesces; this cannot fail now */
    arch_move(&vm->space, from, to, old_bytes, model->rights);
    moved.start = to;
    moved.end = tail;
    areas_insert(vm, &moved);
    areas_remove(vm, from, from + old_bytes);
    arch_unmap(&vm->space, from, old_bytes, range_hole(vm, from, from + old_bytes), NULL); /* tables */
    areas_coalesce(vm, to, tail);
    return 0;
}

/* Moves an area for MREMAP_FIXED. Replaces what is mapped at the target once nothing can fail any more. */
static int move_to_target(struct vm *vm, uint64_t from, uint64_t to, uint64_t old_bytes, uint64_t new_bytes,
                          const struct vm_area *model)
{
    uint64_t end = to + new_bytes, keep = smaller(old_bytes, new_bytes), needed;
    int error;

    if (!range_valid(to, new_bytes) || (to < from + old_bytes && from < end))
        return -EINVAL;
    if (model->rights && !model->object && !limit_allows(vm, new_bytes - keep))
        return -ENOMEM;
    /* move_to counts the tables around the end of the moved part twice: one a level. */
    needed = tables_bytes_max(to, end) + 4 * ARCH_PAGE;
    needed += model->rights && !model->object ? new_bytes - keep : 0;
    views_leave_around(vm, to, end);
    error = areas_reserve(vm, 12);
    if (!error)
        error = range_isolate(vm, from, from + old_bytes);
    if (!error)
        error = range_isolate(vm, from, from + keep);
    if (!error)
        error = range_replace(vm, to, end, needed);
    if (error) {
        areas_coalesce(vm, from, from + old_bytes);
        return error;
    }
    error = move_to(vm, from, to, keep, new_bytes, model);
    if (!error && keep < old_bytes)
        error = unmap_locked(vm, from + keep, old_bytes - keep);
    return error;
}

/* Maps what an area that links a view maps, and more, elsewhere: by a view of the longer part. */
static int map_anew(struct vm *vm, uint64_t *address, uint64_t old_bytes, uint64_t new_bytes,
                    const struct vm_area *model)
{
    uint64_t to = 0;
    int error = areas_reserve(vm, 6); /* so that to unmap the old part cannot fail */

    if (!error)
        error = map_locked(vm, &to, new_bytes, model, 0);
    if (error)
        return error;
    error = unmap_locked(vm, *address, old_bytes);
    *address = to;
    return error;
}

int vm_remap(struct vm *vm, uint64_t *address, uint64_t old_bytes, uint64_t new_bytes, unsigned flags,
             uint64_t target)
{
    uint64_t start = *address;

    VM_GUARD(vm);
    if (page_up(old_bytes) == 0 && page_up(new_bytes) && !area_find(vm, start))
        return -EFAULT;
    if (old_bytes == 0 || old_bytes > ARCH_USER_LIMIT || page_up(new_bytes) == 0 ||
        !range_valid(start, page_up(old_bytes)))
        return -EINVAL;
    old_bytes = page_up(old_bytes);
    new_bytes = page_up(new_bytes);

    struct vm_area *area = area_find(vm, start);
    if (!area || area->foreign || area->end - start < old_bytes)
        return -EFAULT;
    if (new_bytes > ARCH_USER_LIMIT)
        return flags & VM_FIXED ? -EINVAL : -ENOMEM;

    struct vm_area model = model_at(area, start);
    if (area->view && flags == VM_MAY_MOVE && new_bytes > old_bytes && area->end == start + old_bytes &&
        area->start == start)
        return map_anew(vm, address, old_bytes, new_bytes, &model);
    view_leave(vm, area);
    if (flags & VM_FIXED) {
        int error = move_to_target(vm, start, target, old_bytes, new_bytes, &model);
        *address = error ? start : target;
        return error;
    }
    if (new_bytes <= old_bytes)
        return new_bytes < old_bytes ? unmap_locked(vm, start + new_bytes, old_bytes - new_bytes) : 0;

    uint64_t more = start + old_bytes;
    if (range_valid(start, new_bytes) && range_free(vm, more, start + new_bytes)) {
        struct vm_area grown = model_at(&model, more);

        return map_locked(vm, &more, new_bytes - old_bytes, &grown, VM_FIXED | VM_NO_REPLACE);
    }

    uint64_t to = flags & VM_MAY_MOVE ? gap_find_congruent(vm, start, new_bytes) : 0;
    if (!to)
        return -ENOMEM;
    views_leave_around(vm, to, to + new_bytes);
    int error = move_to(vm, start, to, old_bytes, new_bytes, &model);
    *address = error ? start : to;
    return error;
}
