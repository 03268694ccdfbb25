/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_view.h: page tables that belong to a shared object: what mappings of it show follows its size, in
 * both directions, without a fault and without a look at the mappings.
 *
 * A view is the tables of one part of the object, with one set of rights. The mappings of just that part with
 * these rights link them (arch_link). A rank that changes the size changes the entries of each view, in a
 * time that depends on the change alone: an object has at most SHARED_VIEWS_MAX views, whatever the number
 * and the length of its mappings. Where there is no object yet there are no tables.
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
 * those of VIEW_HIDDEN_PIECE bytes.
 */
#ifndef TACET_SHARED_VIEW_H
#define TACET_SHARED_VIEW_H

#include "arch.h"

#define SHARED_VIEWS_MAX 8

struct shared_memory;
struct vm;
struct vm_area;

struct shared_view {
    unsigned links;  /* mappings that link the tables */
    unsigned rights; /* bits of enum memory_rights, not 0 */
    uint64_t offset, end, shown;
    struct arch_space tree; /* address 0 is `offset` rounded down to a huge page */
};

/* Links the view of the area, which view_place (vm_internal.h) has placed; makes it, of the vm's memory, if
 * no mapping has linked it. The area has no view if there is no memory for that, or the object has
 * SHARED_VIEWS_MAX others. shared_view_unlink, of an area with or without: removes the link, and the view
 * with the last one. With the vm's lock. */
void shared_view_link(struct vm *vm, struct vm_area *area);
void shared_view_unlink(struct vm *vm, struct vm_area *area);

/* Takes one step in each view towards a size of `bytes`, with the object's lock. Returns whether further
 * steps are possible. */
bool shared_views_step(struct shared_memory *object, uint64_t bytes);

/* Takes all steps towards the object's size that are possible. shared_views_flush: has the CPUs of all ranks
 * with a view drop what they have cached, after a cut: what they see until then is the memory that was cut
 * off, which is freed only after the last mapping. Without the object's lock. */
void shared_views_update(struct shared_memory *object);
void shared_views_flush(struct shared_memory *object);

#endif
