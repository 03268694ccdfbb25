/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_view.c: see shared_view.h. Runs in system calls, and faults, on any CPU.
 */
#include "mm/shared_view.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include "mm/shared_memory.h"

#define VIEW_HIDDEN_PIECE (64ULL << 20)

static uint64_t view_base(const struct shared_view *view)
{
    return align_down(view->offset, ARCH_HUGE_PAGE);
}

/* Returns where a view's entries end if the object's size is `bytes`. */
static uint64_t view_goal(const struct shared_view *view, uint64_t bytes)
{
    return page_up(bytes) < view->offset ? view->offset : smaller(page_up(bytes), view->end);
}

/* ---- Steps; with the object's lock ---- */

/* Removes the last entries above `goal`, of one piece. If there is no memory to split a large page, they
 * stay: the mappings see zeroes there. */
static bool view_hide(struct shared_view *view, uint64_t goal)
{
    const uint64_t base = view_base(view), piece = align_down(view->shown - 1, VIEW_HIDDEN_PIECE);
    const uint64_t from = goal > piece ? goal : piece;

    if (arch_split(&view->tree, from - base))
        return false;
    arch_unmap(&view->tree, from - base, view->shown - from, (struct arch_hole){ 0, 0 }, NULL, NULL);
    view->shown = from;
    return true;
}

/* Adds entries of a huge page, where one fits, or up to the next large page. */
static bool view_show(struct shared_memory *object, struct shared_view *view, uint64_t goal)
{
    const uint64_t base = view_base(view), at = view->shown;
    uint64_t physical, bytes = shared_memory_at(object, at, smaller(goal - at, ARCH_HUGE_PAGE), &physical);

    if (bytes < ARCH_HUGE_PAGE || (at | physical) % ARCH_HUGE_PAGE ||
        arch_link_span(view->end - base) == ARCH_HUGE_PAGE)
        bytes = smaller(bytes, ARCH_LARGE_PAGE - at % ARCH_LARGE_PAGE);
    if (bytes == 0 || arch_map(&view->tree, at - base, physical, bytes, view->rights))
        return false;
    view->shown += bytes;
    return true;
}

bool shared_views_step(struct shared_memory *object, uint64_t bytes)
{
    bool more = false;

    for (unsigned i = 0; i < SHARED_VIEWS_MAX; i++) {
        struct shared_view *view = &object->views[i];
        const uint64_t goal = view_goal(view, bytes);

        if (view->links == 0 || view->shown == goal)
            continue;
        if (view->shown < goal ? view_show(object, view, goal) : view_hide(view, goal))
            more |= view->shown != goal;
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

/* ---- Links; without the object's lock ---- */

/* Finds the view, or a free slot for it; NULL. With the object's lock. */
static struct shared_view *view_find(struct shared_memory *object, uint64_t offset, uint64_t end,
                                     unsigned rights)
{
    struct shared_view *found = NULL;

    for (unsigned i = 0; i < SHARED_VIEWS_MAX; i++) {
        struct shared_view *view = &object->views[i];

        if (view->links == 0)
            found = view;
        else if (view->offset == offset && view->end == end && view->rights == rights)
            return view;
    }
    return found;
}

/* Counts a link, of a rank with these CPUs. Takes `tree` for a new view. */
static struct shared_view *view_get(struct shared_memory *object, uint64_t offset, uint64_t end,
                                    unsigned rights, struct arch_space *tree, const struct cpu_mask *cpus)
{
    SPIN_GUARD(&object->lock);
    struct shared_view *view = view_find(object, offset, end, rights);
    if (!view)
        return NULL;
    if (view->links++ == 0) {
        *view = (struct shared_view){ 1, rights, offset, end, offset, *tree };
        tree->pages = NULL;
    }
    CPU_MASK_EACH(cpu, cpus)
        cpu_mask_set(&view->tree.cpus, (unsigned)cpu);
    return view;
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
    arch_unmap(&dead, 0, bytes, (struct arch_hole){ 0, UINT64_MAX }, NULL, NULL);
    page_pool_free(dead.pages, dead.root, ARCH_PAGE);
}

/* Links the tables if they show all that they are to show. */
static bool view_link(struct shared_memory *object, struct shared_view *view, struct arch_space *space,
                      uint64_t address)
{
    SPIN_GUARD(&object->lock);
    return view->shown >= view_goal(view, object->bytes) &&
           arch_link(space, address, &view->tree, view->end - view_base(view)) == 0;
}

struct shared_view *shared_view_link(struct shared_memory *object, uint64_t offset, uint64_t end,
                                     unsigned rights, struct page_pool *pages, const struct cpu_mask *cpus,
                                     struct arch_space *space, uint64_t address)
{
    struct arch_space tree = { .is_linked = true };

    if (arch_space_create(&tree, pages))
        return NULL;
    struct shared_view *view = view_get(object, offset, end, rights, &tree, cpus);
    if (tree.pages)
        page_pool_free(pages, tree.root, ARCH_PAGE);
    if (!view)
        return NULL;
    shared_views_update(object);
    if (view_link(object, view, space, address))
        return view;
    view_put(object, view);
    return NULL;
}

void shared_view_unlink(struct shared_memory *object, struct shared_view *view, struct arch_space *space,
                        uint64_t address)
{
    arch_unlink(space, address, view->end - view_base(view));
    view_put(object, view);
}
