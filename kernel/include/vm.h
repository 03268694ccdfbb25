/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm.h: the address space of a process: which ranges it has, with which rights, and the memory behind them.
 *
 * There is no demand paging (DESIGN: silence). A range with rights is backed by zeroed memory from the
 * process's slice before the call that makes it returns, with the largest pages that fit; a range without
 * rights is address space only and costs nothing until mprotect gives it some. Taking the rights away later
 * keeps the memory and its contents, as Linux does.
 *
 * Every operation succeeds or changes nothing. Runs in the process's own system calls, on its CPU; not
 * locked.
 */
#ifndef TACET_VM_H
#define TACET_VM_H

#include "arch.h"
#include <stdbool.h>

struct vm_area {
    uint64_t start, end; /* page-aligned, start < end */
    unsigned rights;     /* of enum memory_rights */
    bool of_file;        /* began as a copy of a file: has no zeroes to go back to */
    bool foreign;        /* shows the kernel's pages (counters): never given to the slice */
    const char *name;    /* "" for anonymous memory; "[heap]", "[stack]", the program's path */
    struct vm_area *next;
};

struct vm {
    struct arch_space space;
    struct page_pool *pages;
    struct vm_area *areas; /* ascending, disjoint; neighbours that are alike are joined */
    struct vm_area *spare; /* descriptors not in use */
    uint64_t heap_start,
        heap_end; /* the brk area: what the program asked for; backed up to the next large page */
    uint64_t zeroed_bytes;
};

enum vm_map_flags {
    VM_FIXED = 1,      /* at this address; replaces what is there */
    VM_OF_FILE = 4,    /* to be filled from a file */
    VM_NO_REPLACE = 2, /* with VM_FIXED: -EEXIST where something is */
};

int vm_create(struct vm *vm, struct page_pool *pages);

/* Maps `bytes` (rounded up to pages) at *address, or where there is room at or above it. -ENOMEM, -EINVAL,
 * -EEXIST. */
int vm_map(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
           const char *name);

/* Shows kernel memory at a fixed address; never with RIGHT_WRITE. */
int vm_map_kernel(struct vm *vm, uint64_t address, const void *memory, uint64_t bytes, unsigned rights,
                  const char *name);

int vm_unmap(struct vm *vm, uint64_t address, uint64_t bytes);

/* -ENOMEM where part of the range is not mapped; -EACCES for more than reading kernel pages. */
int vm_protect(struct vm *vm, uint64_t address, uint64_t bytes, unsigned rights);

/* Linux's mremap of one area; the memory moves, its contents are not copied. */
int vm_remap(struct vm *vm, uint64_t *address, uint64_t old_bytes, uint64_t new_bytes, bool may_move);

/* Whether all of the range is mapped. */
bool vm_covered(const struct vm *vm, uint64_t address, uint64_t bytes);

/* Zeroes what is backed in the range (madvise MADV_DONTNEED). -ENOMEM where part of it is not mapped, -EINVAL
 * where part of it began as a copy of a file. */
int vm_clear(struct vm *vm, uint64_t address, uint64_t bytes);

/* Sets the end of the heap; returns the end that holds afterwards, as Linux's brk. */
uint64_t vm_brk(struct vm *vm, uint64_t end);

/* The area that holds `address`, or NULL. */
const struct vm_area *vm_find(const struct vm *vm, uint64_t address);

#endif
