/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_memory.h: bytes that several ranks may read, write and map: the contents of a writable file.
 *
 * An object is a row of physical runs (of whole pages, large ones if the size allows) from the slices of
 * the ranks that made it grow: each run records the pool that it came from and is freed to it. There is no
 * demand paging: every byte below the size is backed. `capacity`, a multiple of the page, is what is backed;
 * it is larger than the size only by the rest of the last page, by what was reserved, or for as long as
 * memory above the end of a file that has shrunk is in use. The rest of the size's last page is zero, unless
 * a mapping wrote there. What mappings show ends with the size's last page, too (shared_view.h).
 *
 * References (put) keep an object alive: those of a name, of an open file, of an area that maps it. Uses
 * keep its memory in place: mappings (map_get, map_put) and copies in progress. No memory of an object in use
 * is freed, and an object grows at its end only; so a run stays valid for as long as it is used.
 *
 * Locks: an object's own may be taken under a vm's; under it, only a page pool's. Nothing but page tables is
 * allocated under it, and no more than SHARED_MEMORY_PIECE bytes are zeroed or copied. shared_memory_reclaim
 * frees what this CPU's last put left. Call it once no lock is held, and before waiting for anything. It,
 * create, size, clear, read, write and claims are called with no lock held.
 */
#ifndef TACET_SHARED_MEMORY_H
#define TACET_SHARED_MEMORY_H

#include "lib/avl.h"
#include "mm/shared_view.h"
#include "smp/spinlock.h"
#include <stdbool.h>
#include <stdint.h>

struct page_pool;

struct shared_memory {
    struct spinlock lock;
    unsigned references;
    unsigned uses;           /* mappings, and copies in progress */
    bool tail_dirty;         /* what is backed above the size's page may hold old bytes: growth zeroes it */
    bool is_idle;            /* on the list of shared_memory_reclaim, or being freed by it */
    uint64_t bytes;          /* the size; any number */
    uint64_t claimed;        /* where the last claim ends, while there are any */
    unsigned claims;         /* how many have not ended */
    uint64_t capacity;       /* bytes of all runs */
    uint64_t reserved;       /* backed from the start up to here, whatever the size */
    struct page_pool *owner; /* the pool that this structure itself is from */
    struct avl_node *runs;   /* by offset */
    struct run_page *last;   /* last of the pages that hold the runs */
    struct shared_memory *next_idle;
    struct shared_view views[SHARED_VIEWS_MAX];
    void (*ended)(struct shared_memory *object); /* or NULL; called without locks before it is freed */
    void *context;                               /* for `ended` */
};

/* Creates an empty object with one reference; its own memory comes from `owner`. Returns NULL if that has
 * none left. */
struct shared_memory *shared_memory_create(struct page_pool *owner);

void shared_memory_put(struct shared_memory *object);

/* Adds a reference, unless the last one was dropped already: false. The caller has seen to it that `ended`
 * has not returned yet. */
bool shared_memory_get(struct shared_memory *object);

/* Counts a mapping and its reference, or (put) takes them back. While there is one, runs stay as they are,
 * also above the size. */
void shared_memory_map_get(struct shared_memory *object);
void shared_memory_map_put(struct shared_memory *object);

/* Finds the physical memory at `offset`, a multiple of the page: returns how many bytes of it are contiguous,
 * at most `bytes` rounded up to pages, and sets *physical; 0 at or above the capacity. */
uint64_t shared_memory_run(struct shared_memory *object, uint64_t offset, uint64_t bytes, uint64_t *physical);

/* Does the same, with the object's lock, for any `offset` and `bytes`; *physical is set unless it returns 0.
 */
uint64_t shared_memory_at(const struct shared_memory *object, uint64_t offset, uint64_t bytes,
                          uint64_t *physical);

/* Sets the size. Growth is backed by zeroed memory of `payer` before this returns; what is cut off is zeroed,
 * and freed unless it is in use. -ENOSPC if `payer` has too little memory; nothing is changed then. */
enum size_change {
    SIZE_RESIZE,
    SIZE_GROW,    /* never makes it smaller */
    SIZE_RESERVE, /* backs everything below `bytes` and keeps it backed until the next SIZE_RESIZE */
};
int shared_memory_size(struct shared_memory *object, struct page_pool *payer, uint64_t bytes,
                       enum size_change change);

/* Zeroes a range, as far as the size reaches; its memory stays. */
void shared_memory_clear(struct shared_memory *object, uint64_t offset, uint64_t bytes);

/* Copies to the program's memory. Returns how many bytes: fewer than `bytes` if the file, or the memory that
 * can be accessed, ends; -EFAULT if none can be. */
int64_t shared_memory_read(struct shared_memory *object, uint64_t buffer, uint64_t bytes, uint64_t offset);

/* Copies from the program's memory; the object grows as needed. If memory ends, returns fewer bytes, or
 * -ENOSPC for none; -EFAULT as shared_memory_read. Pieces of SHARED_MEMORY_PIECE are copied under the
 * object's lock. */
#define SHARED_MEMORY_PIECE (64 * 1024ULL)
int64_t shared_memory_write(struct shared_memory *object, struct page_pool *payer, uint64_t buffer,
                            uint64_t bytes, uint64_t offset);

/* Claims a place at the end, after those of all claims that have not ended, and backs it: sets *offset, and
 * returns how many bytes it has, fewer than `bytes` if memory ends, or -ENOSPC for none. The size changes
 * when the caller writes there, before it ends its claim. If a claim ends without a write, and a later one
 * was written, zeroes remain in its place. */
int64_t shared_memory_claim(struct shared_memory *object, struct page_pool *payer, uint64_t bytes,
                            uint64_t *offset);
void shared_memory_claim_end(struct shared_memory *object);

/* Empties this CPU's list of objects to free, because the memory of all objects is about to be reused. */
void shared_memory_drop(void);

/* Frees what has no reference, or no use, any more since this CPU's last put. Cheap if there is nothing. */
void shared_memory_reclaim(void);

#endif
