/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vm.h: the address space of a process: which ranges it has, with which rights, and the memory that backs
 * them.
 *
 * There is no demand paging (DESIGN: silence). A range with rights is backed by zeroed memory from the
 * process's slice before the call that makes it returns, with the largest pages that fit; a range without
 * rights is address space only and costs nothing until mprotect gives it some. Taking the rights away later
 * keeps the memory and its contents, as Linux does. What is unmapped is freed at once, with the page tables
 * that led to nothing else.
 *
 * Every operation succeeds or changes nothing. All of them may run on several CPUs at once: `lock` guards the
 * areas and the page tables, and is held while memory is zeroed, in pieces that serve crosscalls, and while
 * other CPUs are interrupted for TLB shootdowns; so only this process's own threads may take it. Under it
 * only a shared object's lock and the pool's are taken. Every operation ends with shared_memory_reclaim, so
 * callers hold no lock of an object.
 */
#ifndef TACET_VM_H
#define TACET_VM_H

#include "arch.h"
#include "lib/avl.h"
#include "lib/elf_image.h"
#include "mm/page_pool.h"
#include "smp/spinlock.h"
#include <stdbool.h>

struct shared_memory;

/* Number of alignments for which an area knows the gaps: a page, a large and a huge page. */
#define VM_GAPS 3

struct vm_area {
    union {
        struct avl_node node;
        uint64_t start; /* its key */
    };
    uint64_t end;     /* both page-aligned, start < end */
    unsigned rights;  /* bits of enum memory_rights */
    bool of_file;     /* began as a copy of a file: MADV_DONTNEED cannot restore it */
    bool read_only;   /* may never be given the right to write */
    bool stack;       /* may be writable and executable at once */
    bool foreign;     /* maps the kernel's pages (counters): never freed to the slice */
    const char *name; /* "" for anonymous memory; "[heap]", "[stack]", the program's path */
    struct shared_memory
        *object;     /* the object whose pages it maps, with a reference; NULL: it maps pages of the slice */
    uint64_t offset; /* offset of `start` in the object */
    struct shared_view *view; /* the object's tables that it links; NULL: it has its own, as all others */
    uint64_t lowest, highest; /* where its subtree begins and ends */
    uint64_t gaps[VM_GAPS];   /* the largest gap in its subtree, from an aligned address on */
};

/* Returns where the tree of an area's view begins in the address space; the area begins above it. */
static inline uint64_t shared_view_start(const struct vm_area *area)
{
    return area->start - area->offset % ARCH_HUGE_PAGE;
}

struct vm {
    struct spinlock lock;
    struct arch_space space;
    struct page_pool *pages;
    const struct cpu_mask *cpus;           /* the rank's */
    struct avl_node *areas;                /* disjoint; adjacent ones that are alike are coalesced */
    struct area_page *area_page;           /* the page in which the next descriptor is allocated */
    unsigned area_page_count, spare_areas; /* pages of descriptors; unused ones in them */
    uint64_t heap_start, heap_end;         /* as the program set it; backed up to the next large page */
    uint64_t zeroed_bytes;
    uint64_t limit_bytes; /* most that the slice may have allocated when memory is to be backed: RLIMIT_AS */
    unsigned views;       /* areas that link one */
    bool executable_stacks; /* the program's file asks for them, or does not say */
};

enum vm_map_flags {
    VM_FIXED = 1,      /* at this address; replaces what is there */
    VM_NO_REPLACE = 2, /* with VM_FIXED: -EEXIST if something is there */
    VM_OF_FILE = 4,    /* to be filled from a file */
    VM_MAY_MOVE = 8,   /* vm_remap */
    VM_READ_ONLY = 16, /* mprotect cannot give the right to write */
    VM_STACK = 32,     /* vm_map: may be writable and executable, if the vm has executable_stacks */
};

int vm_create(struct vm *vm, struct page_pool *pages, const struct cpu_mask *cpus);

/* Unmaps shared objects, whose memory may be another rank's, at the end of a process, on the last of its
 * CPUs. The process's own memory stays where it is, because no other process gets its slice. */
void vm_end(struct vm *vm);

/* Maps `bytes` (rounded up to pages) at *address, or, if that is not free and not VM_FIXED, in a gap at or
 * above ARCH_MMAP_BASE. -ENOMEM, -EINVAL, -EEXIST; -EACCES for the rights to write and to execute, but for a
 * stack. */
int vm_map(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
           const char *name);

/* Maps the object's memory from `offset`, a multiple of the page, on, as vm_map; holds a reference to the
 * object while any of it is mapped. Without VM_FIXED it chooses a place where the mapping can link a view
 * (shared_view.h), and shows what the object reaches, whichever rank changes its size; touching what lies
 * above its end is SIGBUS. In a mapping elsewhere, of which a part is changed, or whose rights are changed,
 * what the object has grown by since is mapped when it is touched, and what it is cut by stays mapped. */
int vm_map_shared(struct vm *vm, uint64_t *address, uint64_t bytes, unsigned rights, unsigned flags,
                  struct shared_memory *object, uint64_t offset, const char *name);

/* Maps kernel memory at a fixed address; never with RIGHT_WRITE. */
int vm_map_kernel(struct vm *vm, uint64_t address, const void *memory, uint64_t bytes, unsigned rights,
                  const char *name);

int vm_unmap(struct vm *vm, uint64_t address, uint64_t bytes);

/* Changes the rights of a range. Returns -ENOMEM if part of it is not mapped; -EACCES for RIGHT_WRITE to what
 * was mapped VM_READ_ONLY, or with RIGHT_EXECUTE to what is no stack. */
int vm_protect(struct vm *vm, uint64_t address, uint64_t bytes, unsigned rights);

/* Resizes or moves one area as Linux's mremap; the memory moves, its contents are not copied. VM_MAY_MOVE:
 * moves it if it cannot grow in place; with VM_FIXED it goes to `target` and replaces what is there. */
int vm_remap(struct vm *vm, uint64_t *address, uint64_t old_bytes, uint64_t new_bytes, unsigned flags,
             uint64_t target);

/* Returns whether all of the range is mapped. */
bool vm_covered(struct vm *vm, uint64_t address, uint64_t bytes);

/* Zeroes the program's own memory in the range (MADV_DONTNEED), and leaves shared memory as it is: -EINVAL
 * if part of the range began as a copy of a file. `shared`: zeroes shared memory (MADV_REMOVE): -EINVAL if
 * part of the range is not shared, -EACCES if it may not be written. Returns -ENOMEM if part of it is not
 * mapped. */
int vm_clear(struct vm *vm, uint64_t address, uint64_t bytes, bool shared);

/* Sets, for each of `pages` pages from `address` on, whether memory backs it. */
void vm_resident(struct vm *vm, uint64_t address, uint64_t pages, uint8_t *resident);

/* Sets the end of the heap. Returns the end that it then has, as Linux's brk. */
uint64_t vm_brk(struct vm *vm, uint64_t end);

/* Copies the description of the area that holds `address`, without a reference to its object. */
bool vm_find(struct vm *vm, uint64_t address, struct vm_area *copy);

/* Copies the lowest area that ends above `address`, without the part of it below. A caller that goes from
 * the end of one area to the next sees each as it is at that moment, and may allocate in between. */
bool vm_next(struct vm *vm, uint64_t address, struct vm_area *copy);

/* Sums over all areas. */
struct vm_sums {
    uint64_t all, backed, code, data; /* bytes */
};
struct vm_sums vm_sum(struct vm *vm);

/* Returns why nothing backs `address` although an object is mapped there: SIGBUS; 0 else. */
enum vm_beyond { VM_BEYOND_END = 1, VM_BEYOND_TABLES /* it reaches there; there is no memory for tables */ };
unsigned vm_beyond_object(struct vm *vm, uint64_t address);

/* Returns whether a fault was spurious: the program may do now what it tried, because another CPU was
 * changing the address space, this CPU's TLB held old rights, or an object that is mapped there has grown.
 * No locks held. */
bool vm_fault_is_spurious(struct vm *vm, uint64_t address, unsigned rights);

#endif
