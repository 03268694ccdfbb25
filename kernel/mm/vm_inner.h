/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm_inner.h: what vm.c, vm_area.c, vm_memory.c and vm_remap.c tell each other; nobody else includes it. The
 * address space's lock is held in all of them.
 */
#ifndef TACET_VM_INNER_H
#define TACET_VM_INNER_H

#include "mm/page.h"
#include "mm/shared_memory.h"
#include "mm/vm.h"

/* ---- vm_area.c: the list of areas ---- */

/* Makes sure that `count` descriptors are spare, so that what follows cannot fail half-way. */
int areas_reserve(struct vm *vm, unsigned count);

/* Cuts the area around `address` in two there, so that one begins at it. Takes at most one descriptor. */
void areas_cut(struct vm *vm, uint64_t address);

/* Enters a copy of `model`, with a hold of its object; takes one descriptor. */
void areas_insert(struct vm *vm, const struct vm_area *model);

/* Takes out the areas that begin in [start, end). */
void areas_remove(struct vm *vm, uint64_t start, uint64_t end);

/* Joins areas that are alike and meet in [start, end]. */
void areas_join(struct vm *vm, uint64_t start, uint64_t end);

/* Gives pages of descriptors that are not needed back to the slice. Areas may move. */
void areas_settle(struct vm *vm);

struct vm_area *area_find(const struct vm *vm, uint64_t address);
bool range_free(const struct vm *vm, uint64_t start, uint64_t end);
bool range_covered(const struct vm *vm, uint64_t start, uint64_t end);
bool range_valid(uint64_t address, uint64_t bytes);

/* The free address space around [start, end), which may be mapped itself. */
struct arch_hole range_hole(const struct vm *vm, uint64_t start, uint64_t end);

/* The lowest gap of `bytes` at or above `from`, aligned so that large pages fit. 0 where there is none. */
uint64_t gap_find(const struct vm *vm, uint64_t from, uint64_t bytes);

/* A gap for a range that moves from `start`, at the same distance from a large or huge page's bound, so that
 * its pages stay as large as they are. */
uint64_t gap_find_alike(const struct vm *vm, uint64_t start, uint64_t bytes);

/* ---- vm_memory.c: the memory behind ---- */

/* Puts memory behind what has none yet in [start, end): zeroed pages of the slice, or the object's as far as
 * it reaches, if `model` has one. On -ENOMEM the caller takes back what was attached. */
int range_back(struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model, unsigned rights);

/* Cuts areas and pages at both ends of a range, so that what happens to it touches nothing else and needs no
 * more memory. */
int range_isolate(struct vm *vm, uint64_t start, uint64_t end);

/* Takes an isolated range away. */
void range_unmap(struct vm *vm, uint64_t start, uint64_t end);

/* Bytes of the slice that mapping `model`'s kind of memory in the range takes, where it has none. */
uint64_t range_wants(const struct vm *vm, uint64_t start, uint64_t end, const struct vm_area *model);

/* What unmapping the range, which is isolated, gives back of the slice. */
uint64_t range_own_bytes(const struct vm *vm, uint64_t start, uint64_t end);

/* Tables that a range could need that is mapped in small pages, where none of its tables is there yet. */
uint64_t tables_bytes_max(uint64_t start, uint64_t end);

/* ---- vm.c: operations, lock held ---- */

/* Maps model's kind of memory: its rights, object, … count; start and end do not. */
int map_locked(struct vm *vm, uint64_t *address, uint64_t bytes, const struct vm_area *model, unsigned flags);

/* Unmaps what is in the way of a new mapping, once it is certain that there will be `wanted` bytes for that
 * one. */
int range_clear_way(struct vm *vm, uint64_t start, uint64_t end, uint64_t wanted);

int unmap_locked(struct vm *vm, uint64_t address, uint64_t bytes);

static inline void vm_lock(struct vm *vm)
{
    spin_lock(&vm->lock);
}

static inline void vm_unlock(struct vm *vm)
{
    areas_settle(vm);
    spin_unlock(&vm->lock);
    shared_memory_reclaim();
}

#endif
