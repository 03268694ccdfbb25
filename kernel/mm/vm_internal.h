/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_internal.h: what the files of an address space share; no other file includes it. Calls run one way:
 * vm_remap.c uses vm.c, vm.c uses vm_backing.c, and all of them use vm_area.c.
 *
 * The address space's lock is held in all of them. A range is "isolated" after range_isolate: no area and no
 * page crosses its bounds.
 */
#ifndef TACET_VM_INTERNAL_H
#define TACET_VM_INTERNAL_H

#include "mm/page.h"
#include "mm/shared_memory.h"
#include "mm/vm.h"

/* Returns whether the slice's own pages back the area. */
static inline bool area_is_own(const struct vm_area *area)
{
    return !area->foreign && !area->object;
}

/* ---- vm_area.c: the tree of areas ---- */

/* Makes sure that `count` descriptors are spare, so that what follows cannot fail half-way. */
int areas_reserve(struct vm *vm, unsigned count);

/* Splits the area around `address`, so that an area begins there. Takes at most one descriptor. */
void areas_split(struct vm *vm, uint64_t address);

/* Inserts a copy of `model`, with a reference to its object; takes one descriptor. */
void areas_insert(struct vm *vm, const struct vm_area *model);

/* Removes the areas that begin in [start, end). Descriptors may move. */
void areas_remove(struct vm *vm, uint64_t start, uint64_t end);

/* Coalesces areas that are alike and adjacent in [start, end]. Descriptors may move. */
void areas_coalesce(struct vm *vm, uint64_t start, uint64_t end);

/* Frees pages of descriptors that are not needed. */
void areas_compact(struct vm *vm);

/* Returns the lowest area that ends above `address`, or NULL; area_find: the one that holds it, or NULL. */
struct vm_area *area_above(const struct vm *vm, uint64_t address);
struct vm_area *area_find(const struct vm *vm, uint64_t address);

/* Returns the next area, or NULL. Serves crosscalls, because there may be any number of areas. */
static inline struct vm_area *area_next(const struct vm *vm, const struct vm_area *area)
{
    crosscall_serve();
    return avl_above(vm->areas, area->end);
}

/* For each area that reaches into [start, end). The loop must not move descriptors. */
#define AREAS_EACH(area, vm, from, to)                                                \
    for (struct vm_area *area = area_above((vm), (from)); area && area->start < (to); \
         area = area_next((vm), area))

bool range_free(const struct vm *vm, uint64_t start, uint64_t end);
bool range_covered(const struct vm *vm, uint64_t start, uint64_t end);
bool range_valid(uint64_t address, uint64_t bytes);

/* Returns the free address space around [start, end), which may be mapped itself. */
struct arch_hole range_hole(const struct vm *vm, uint64_t start, uint64_t end);

/* Finds the lowest gap of `bytes` at or above `from`, aligned so that large pages fit. Returns 0 if there is
 * none. */
uint64_t gap_find(const struct vm *vm, uint64_t from, uint64_t bytes);

/* Finds a gap for a range that moves from `start`, congruent to it modulo the largest page that fits, so that
 * its pages stay as large as they are. Returns 0 if there is none. */
uint64_t gap_find_congruent(const struct vm *vm, uint64_t start, uint64_t bytes);

/* ---- vm_backing.c: the memory that backs areas ---- */

/* Backs what is not yet backed in [start, end): by zeroed pages of the slice, or, if `model` has an object,
 * by the object's as far as it reaches. After -ENOMEM a part may be backed. */
int range_back(struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model, unsigned rights);

/* Returns how many bytes of the slice range_back may take, tables included. */
uint64_t range_back_bytes(const struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model);

/* Returns how many bytes of the slice back the range, which is isolated. */
uint64_t range_own_bytes(const struct vm *vm, uint64_t start, uint64_t end);

/* Returns the most that tables cost for a range mapped in small pages, if none of them exists yet: bytes. */
uint64_t tables_bytes_max(uint64_t start, uint64_t end);

/* Returns a place, in the upper half of what mmap uses, for a mapping that links a view; 0: none. Nothing
 * else is mapped up to the next multiples of arch_link_span. */
uint64_t view_place(const struct vm *vm, uint64_t offset, uint64_t bytes);

/* Gives an area that may link a view tables of its own, as far as there is memory. views_leave_around: those
 * next to a range, if their views' spans reach into it, so that it can be mapped. Before memory is reserved.
 */
void view_leave(struct vm *vm, struct vm_area *area);
void views_leave_around(struct vm *vm, uint64_t start, uint64_t end);

/* Returns where the object ends that the area maps, or the area, if that ends first. */
uint64_t area_object_end(const struct vm_area *area);

/* Backs a page that is touched, if the area's object reaches it by now: tries a view's tables again, or maps
 * with tables of its own all up to what is backed. */
void area_follow(struct vm *vm, struct vm_area *area, uint64_t page);

/* ---- vm.c ---- */

/* Returns whether the program may take another `bytes` of its slice. */
static inline bool limit_allows(const struct vm *vm, uint64_t bytes)
{
    const uint64_t used = vm->pages->total_bytes - page_pool_free_bytes(vm->pages);

    return bytes == 0 || (bytes <= vm->limit_bytes && used <= vm->limit_bytes - bytes);
}

/* Splits areas and pages at both ends of a range, so that operations on it touch nothing else and need no
 * memory to split a page. */
int range_isolate(struct vm *vm, uint64_t start, uint64_t end);

/* Reserves `needed` bytes for a new mapping, then unmaps what it replaces. -ENOMEM: nothing is unmapped. */
int range_replace(struct vm *vm, uint64_t start, uint64_t end, uint64_t needed);

/* Does the work of vm_map, vm_unmap. Ignores start and end of `model`. */
int map_locked(struct vm *vm, uint64_t *address, uint64_t bytes, const struct vm_area *model, unsigned flags);
int unmap_locked(struct vm *vm, uint64_t address, uint64_t bytes);

/* Ends an operation: frees what it reserved and did not use, and objects that are no longer in use. */
void vm_unlock(struct vm *vm);

static inline __attribute__((always_inline)) void vm_guard_end(struct vm *const *vm)
{
    vm_unlock(*vm);
}

/* Holds the address space's lock for an operation, until the enclosing function returns. */
#define VM_GUARD(vm)                                                         \
    struct vm *const vm_guard __attribute__((cleanup(vm_guard_end))) = (vm); \
    spin_lock_own(&vm_guard->lock)

#endif
