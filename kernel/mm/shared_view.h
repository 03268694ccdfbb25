/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_view.h: page tables that belong to a shared object: what mappings of it show follows its size, in
 * both directions, without a fault and without a look at the mappings.
 *
 * A view is the tables of one part of the object, with one set of rights. The mappings of just that part with
 * these rights link them (arch_link). Whoever changes the size changes the entries of each view, in a time
 * that depends on the change alone: an object has at most SHARED_VIEWS_MAX views, whatever the number and the
 * length of its mappings. Where there is no object yet there are no tables.
 *
 * The tables are of the slice of the rank that made the view. If that has no memory for them when the object
 * grows, the object grows nevertheless; the view is late, and is tried again at each change of the size and
 * when a mapping of it is touched there; if it stays late, that mapping gets tables of its own rank (vm.c).
 *
 *     free (links == 0) --shared_view_link--> linked --the last shared_view_unlink--> free
 *     linked: entries are present in [offset, shown); shown is where the size's last page ends, between
 *             `offset` and `end`: or below that, if tables could not be had; or above, if it could not be
 *             split from a large page
 *
 * The object's lock guards all of this, tables included, and may be taken under a vm's. Under it are done at
 * most SHARED_VIEWS_MAX steps: each allocates a few tables, and sets the entries of a large page, or removes
 * those of VIEW_HIDDEN_PIECE bytes, with a TLB shootdown on the CPUs of all ranks that have linked the view.
 */
#ifndef TACET_SHARED_VIEW_H
#define TACET_SHARED_VIEW_H

#include "arch.h"

#define SHARED_VIEWS_MAX 8

struct shared_memory;

struct shared_view {
    unsigned links;  /* mappings that link the tables */
    unsigned rights; /* bits of enum memory_rights, not 0 */
    uint64_t offset, end, shown;
    struct arch_space tree; /* address 0 is `offset` rounded down to a huge page */
};

/* Links the tables of [offset, end) with these rights at `address`, where tree's address 0 is to be: for a
 * mapping, which has a reference to the object already, of a rank with these CPUs. Makes them, from `pages`,
 * if no mapping has linked such a view. Returns NULL if there is no memory for them, or the object has too
 * many other views. A vm's lock is held. */
struct shared_view *shared_view_link(struct shared_memory *object, uint64_t offset, uint64_t end,
                                     unsigned rights, struct page_pool *pages, const struct cpu_mask *cpus,
                                     struct arch_space *space, uint64_t address);

/* Removes the link, whose place is as it was given, and the view with the last one. */
void shared_view_unlink(struct shared_memory *object, struct shared_view *view, struct arch_space *space,
                        uint64_t address);

/* Takes one step in each view towards a size of `bytes`, with the object's lock. Returns whether further
 * steps are possible. */
bool shared_views_step(struct shared_memory *object, uint64_t bytes);

/* Takes all steps towards the object's size that are possible. Without the object's lock. */
void shared_views_update(struct shared_memory *object);

#endif
