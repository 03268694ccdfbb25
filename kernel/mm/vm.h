/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm.h: the address space of a process: which ranges it has, with which rights, and the memory behind them.
 *
 * There is no demand paging (DESIGN: silence). A range with rights is backed by zeroed memory from the
 * process's slice before the call that makes it returns, with the largest pages that fit; a range without
 * rights is address space only and costs nothing until mprotect gives it some. Taking the rights away later
 * keeps the memory and its contents, as Linux does. What is unmapped goes back to the slice at once, with
 * the page tables that led to it alone.
 *
 * Every operation succeeds or changes nothing. All of them may run on several CPUs at once: `lock` guards the
 * areas, the page tables and the pool of the slice. Under it only a shared object's lock is taken, and CPUs
 * that know pages which go away are told by crosscall. Objects that nobody uses any more are given back after
 * it (shared_memory_reclaim), to slices that may be others'; so no vm's lock may be held by a caller.
 */
#ifndef TACET_VM_H
#define TACET_VM_H

#include "arch.h"
#include "lib/elf_image.h"
#include "mm/page_pool.h"
#include "smp/spinlock.h"
#include <stdbool.h>

struct shared_memory;

struct vm_area {
    uint64_t start, end;          /* page-aligned, start < end */
    unsigned rights;              /* of enum memory_rights */
    bool of_file;                 /* began as a copy of a file: has no zeroes to go back to */
    bool read_only;               /* may never be given the right to write */
    bool foreign;                 /* shows the kernel's pages (counters): never given to the slice */
    const char *name;             /* "" for anonymous memory; "[heap]", "[stack]", the program's path */
    struct shared_memory *object; /* whose pages it shows, instead of the slice's; held; or NULL */
    uint64_t offset;              /* in the object, of `start` */
    struct vm_area *next;
};

struct vm {
    struct spinlock lock;
    struct arch_space space;
    struct page_pool *pages;
    struct vm_area *areas; /* ascending, disjoint; neighbours that are alike are joined */
    struct area_page *area_pages;
    unsigned area_page_count, spare_areas; /* pages of descriptors; those in them that are not in use */
    uint64_t heap_start, heap_end; /* the brk area as the program asked; backed up to the next large page */
    uint64_t zeroed_bytes;
};

enum vm_map_flags {
    VM_FIXED = 1,      /* at this address; replaces what is there */
    VM_NO_REPLACE = 2, /* with VM_FIXED: -EEXIST where something is */
    VM_OF_FILE = 4,    /* to be filled from a file */
    VM_MAY_MOVE = 8,   /* vm_remap */
    VM_READ_ONLY = 16, /* the right to write cannot be given later */
};

int vm_create(struct vm *vm, struct page_pool *pages);

/* At the end of a process, on the last of its CPUs: lets go of what it shows of objects, whose memory may be
 * another rank's. Its own stays where it is: nobody else gets its slice. */
void vm_end(struct vm *vm);

/* Pages of the slice for others than the program: as page_pool_allocate and page_pool_free. */
uint64_t vm_pages_allocate(struct vm *vm, uint64_t bytes, uint64_t alignment);
void vm_pages_free(struct vm *vm, uint64_t physical, uint64_t bytes);

/* Maps `bytes` (rounded up to pages) at *address, or where there is room at or above it. -ENOMEM, -EINVAL,
 * -EEXIST. */
int vm_map(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
           const char *name);

/* The same, showing the object's memory from `offset`, a multiple of the page, on; takes a hold of the object
 * for as long as any of it is mapped. Address space beyond the object's end has nothing behind it: touching
 * it is SIGBUS, also after the object has grown, until it is mapped, remapped or given rights anew. */
int vm_map_shared(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
                  struct shared_memory *object, uint64_t offset, const char *name);

/* Shows kernel memory at a fixed address; never with RIGHT_WRITE. */
int vm_map_kernel(struct vm *vm, uint64_t address, const void *memory, uint64_t bytes, unsigned rights,
                  const char *name);

int vm_unmap(struct vm *vm, uint64_t address, uint64_t bytes);

/* -ENOMEM where part of the range is not mapped; -EACCES for writing to what is read-only for good. */
int vm_protect(struct vm *vm, uint64_t address, uint64_t bytes, unsigned rights);

/* Linux's mremap of one area; the memory moves, its contents are not copied. VM_MAY_MOVE: where it cannot
 * grow in place; with VM_FIXED it goes to `target` and replaces what is there. */
int vm_remap(struct vm *vm, uint64_t *address, uint64_t old_bytes, uint64_t new_bytes, unsigned flags,
             uint64_t target);

/* Whether all of the range is mapped. */
bool vm_covered(struct vm *vm, uint64_t address, uint64_t bytes);

/* Zeroes what is backed in the range: the program's own memory (madvise MADV_DONTNEED), shared memory left
 * alone; -EINVAL where part of it began as a copy of a file. -ENOMEM where part of it is not mapped. */
int vm_clear(struct vm *vm, uint64_t address, uint64_t bytes);

/* Zeroes shared memory (MADV_REMOVE); -EINVAL where part of the range is not shared, -EACCES where it may not
 * be written, -ENOMEM where part of it is not mapped. */
int vm_clear_shared(struct vm *vm, uint64_t address, uint64_t bytes);

/* For each of `pages` pages from `address` on, whether there is memory behind it. */
void vm_resident(struct vm *vm, uint64_t address, uint64_t pages, uint8_t *resident);

/* Sets the end of the heap; returns the end that holds afterwards, as Linux's brk. */
uint64_t vm_brk(struct vm *vm, uint64_t end);

/* Copies the description of the area that holds `address`; its `object` is not held for the caller. */
bool vm_find(struct vm *vm, uint64_t address, struct vm_area *copy);

/* The same for the lowest area that ends above `address`. What of it lies below is left away. Whoever goes
 * through all of them so, from the end of one to the next, sees each as it is at that moment, and may take
 * memory in between. */
bool vm_next(struct vm *vm, uint64_t address, struct vm_area *copy);

/* How much there is of what. */
struct vm_sums {
    uint64_t all, backed, code, data; /* bytes */
};
struct vm_sums vm_sum(struct vm *vm);

/* Whether nothing is behind `address` because the file that is mapped there ends before it: SIGBUS. */
bool vm_beyond_object(struct vm *vm, uint64_t address);

/* After a fault: whether the program may do what it tried. It was too early or too late then, for another CPU
 * was changing the address space, or this one knew old rights; it may try again. No locks held. */
bool vm_fault_is_spurious(struct vm *vm, uint64_t address, unsigned rights);

#endif
