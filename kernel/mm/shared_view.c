/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_view.c: see shared_view.h. Runs in system calls, and faults, on any CPU.
 */
#include "mm/shared_view.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include "mm/shared_memory.h"
#include "mm/vm.h"

#define VIEW_HIDDEN_PIECE (64ULL << 20)

/* Returns what address 0 of the tree shows. */
static uint64_t view_base(const struct shared_view *view)
{
    return align_down(view->offset, ARCH_HUGE_PAGE);
}

/* ---- Steps; with the object's lock ---- */

/* Removes the last entries above `goal`, of one piece; without a TLB shootdown (shared_views_flush). If there
 * is no memory to split a large page, they stay: the mappings see zeroes there. */
static bool view_hide(struct shared_view *view, uint64_t goal)
{
    const uint64_t piece = align_down(view->shown - 1, VIEW_HIDDEN_PIECE), from = goal > piece ? goal : piece;

    struct arch_space quiet = { .root = view->tree.root,
                                .pages = view->tree.pages }; /* no CPU to interrupt */

    if (arch_split(&quiet, from - view_base(view)))
        return false;
    arch_unmap(&quiet, from - view_base(view), view->shown - from, (struct arch_hole){ 0, 0 }, NULL);
    view->shown = from;
    return true;
}

/* Adds entries, up to the next large page. */
static bool view_show(struct shared_memory *object, struct shared_view *view, uint64_t goal)
{
    uint64_t physical, at = view->shown, left = smaller(goal - at, ARCH_LARGE_PAGE - at % ARCH_LARGE_PAGE);
    uint64_t bytes = shared_memory_at(object, at, left, &physical);

    if (arch_map(&view->tree, at - view_base(view), physical, bytes, view->rights))
        return false;
    view->shown += bytes;
    return true;
}

bool shared_views_step(struct shared_memory *object, uint64_t bytes)
{
    bool more = false;

    for (unsigned i = 0; i < SHARED_VIEWS_MAX; i++) {
        struct shared_view *view = &object->views[i];
        const uint64_t end = smaller(page_up(bytes), view->end),
                       goal = end < view->offset ? view->offset : end;

        if (view->links > 0 && view->shown != goal)
            more |= view->shown < goal ? view_show(object, view, goal) : view_hide(view, goal);
    }
    return more;
}

void shared_views_update(struct shared_memory *object)
{
    for (bool more = true; more; crosscall_serve()) {
        SPIN_GUARD(&object->lock);
        more = shared_views_step(object, object->bytes);
    }
}

void shared_views_flush(struct shared_memory *object)
{
    struct arch_space all = { .is_linked = true };

    spin_lock(&object->lock);
    for (unsigned i = 0; i < SHARED_VIEWS_MAX; i++)
        if (object->views[i].links > 0)
            CPU_MASK_EACH(cpu, &object->views[i].tree.cpus)
                cpu_mask_set(&all.cpus, (unsigned)cpu);
    spin_unlock(&object->lock);
    arch_flush(&all);
}

/* ---- Links ---- */

/* Finds the area's view, or makes it of memory of `pages`, and counts a link; NULL if there is no memory, or
 * no free slot. With the object's lock. */
static struct shared_view *view_get(const struct vm_area *area, struct page_pool *pages)
{
    const uint64_t end = area->offset + (area->end - area->start);
    struct shared_view *free = NULL;

    for (struct shared_view *view = area->object->views; view < area->object->views + SHARED_VIEWS_MAX;
         view++) {
        if (view->links == 0)
            free = view;
        else if (view->offset == area->offset && view->end == end && view->rights == area->rights)
            return view->links++, view;
    }
    if (!free || arch_space_create(&free->tree, pages))
        return NULL;
    free->tree.is_linked = true;
    free->links = 1;
    free->rights = area->rights;
    free->offset = free->shown = area->offset;
    free->end = end;
    return free;
}

static void view_put(struct shared_memory *object, struct shared_view *view)
{
    struct arch_space dead = { .pages = NULL };
    const uint64_t bytes = view->end - view_base(view);

    spin_lock(&object->lock);
    if (--view->links == 0)
        dead = (struct arch_space){ .root = view->tree.root, .pages = view->tree.pages };
    spin_unlock(&object->lock);
    if (!dead.pages)
        return;
    arch_unmap(&dead, 0, bytes, (struct arch_hole){ 0, UINT64_MAX }, NULL);
    page_pool_free(dead.pages, dead.root, ARCH_PAGE);
}

void shared_view_link(struct vm *vm, struct vm_area *area)
{
    const uint64_t start = shared_view_start(area);
    struct shared_memory *object = area->object;

    spin_lock(&object->lock);
    struct shared_view *view = view_get(area, vm->pages);
    if (view && arch_link(&vm->space, start, &view->tree, area->end - start) == 0) {
        CPU_MASK_EACH(cpu, vm->cpus)
            cpu_mask_set(&view->tree.cpus, (unsigned)cpu);
        area->view = view;
        vm->views++;
    }
    spin_unlock(&object->lock);
    if (area->view)
        shared_views_update(object);
    else if (view)
        view_put(object, view);
}

void shared_view_unlink(struct vm *vm, struct vm_area *area)
{
    const uint64_t start = shared_view_start(area);

    if (!area->view)
        return;
    arch_unlink(&vm->space, start, area->end - start);
    view_put(area->object, area->view);
    area->view = NULL;
    vm->views--;
}
