/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_memory.h: bytes that several ranks may read, write and map: the contents of a writable file.
 *
 * An object is a row of physical runs (page granules, large pages where the size allows) from the slices of
 * the ranks that made it grow: each run remembers whose it is and goes back there. There is no demand paging:
 * every byte below the size is backed. `capacity`, a multiple of the page, is what is backed; it is larger
 * than the size only by the rest of the last page, by what was reserved, or for as long as somebody still
 * uses memory that a shrinking file left. The rest of the size's last page is zero, unless a mapping wrote
 * there.
 *
 * References (get, put) keep an object alive: those of a name, of an open file, of an area that maps it. Uses
 * keep its memory in place: mappings (map_get, map_put) and copies in progress. No memory of an object in use
 * is freed, and an object grows at its end only; so a run stays valid for as long as it is used.
 *
 * Locks: an object's own may be taken under a vm's. Under it only the lock of the list of idle objects is
 * taken. Memory is allocated, zeroed and freed under neither. shared_memory_reclaim frees what the last put
 * left, and is called once the caller holds no lock; it, create, resize, grow, reserve, clear, read and write
 * are called with none.
 */
#ifndef TACET_SHARED_MEMORY_H
#define TACET_SHARED_MEMORY_H

#include "smp/spinlock.h"
#include <stdbool.h>
#include <stdint.h>

struct page_pool;

struct shared_memory {
    struct spinlock lock;
    unsigned references;
    unsigned uses;           /* mappings, and copies under way */
    bool tail_dirty;         /* what lies behind the size's page need not be zero: growth zeroes it */
    bool is_idle;            /* on the list that shared_memory_reclaim works off */
    uint64_t bytes;          /* the size; any number */
    uint64_t capacity;       /* bytes of all runs */
    uint64_t reserved;       /* backed from the start up to here, whatever the size */
    struct page_pool *owner; /* whose memory this structure itself is */
    struct run_page *first;  /* pages full of runs, in ascending order of offsets */
    struct run_page *last;
    struct shared_memory *next_idle;
};

/* An empty object with one reference; its own memory is `owner`'s. NULL where there is none. */
struct shared_memory *shared_memory_create(struct page_pool *owner);

void shared_memory_get(struct shared_memory *object);
void shared_memory_put(struct shared_memory *object);

/* Counts a mapping: for as long as there is one, runs stay what they are, also behind the size. Neither takes
 * or gives a reference. */
void shared_memory_map_get(struct shared_memory *object);
void shared_memory_map_put(struct shared_memory *object);

/* The physical memory at `offset`, a multiple of the page: answers how many bytes of it follow each other, at
 * most `bytes` rounded up to pages, and where they begin; 0 at or behind the capacity. */
uint64_t shared_memory_run(struct shared_memory *object, uint64_t offset, uint64_t bytes, uint64_t *physical);

/* Sets the size. Growth is zeroed memory of `payer`, there before this returns; what is cut off is zeroed,
 * and goes back unless it is in use. -ENOSPC where `payer` has no more; nothing is changed then. */
int shared_memory_resize(struct shared_memory *object, struct page_pool *payer, uint64_t bytes);

/* As shared_memory_resize, but never makes it smaller. */
int shared_memory_grow(struct shared_memory *object, struct page_pool *payer, uint64_t bytes);

/* Backs all below `bytes` and keeps it so until the next shared_memory_resize, whatever the size. -ENOSPC. */
int shared_memory_reserve(struct shared_memory *object, struct page_pool *payer, uint64_t bytes);

/* Zeroes a range, as far as the size goes; its memory stays. */
void shared_memory_clear(struct shared_memory *object, uint64_t offset, uint64_t bytes);

/* Copies from and to the program's memory; as many bytes as can be touched there, -EFAULT where it is none.
 */
int64_t shared_memory_read(struct shared_memory *object, uint64_t buffer, uint64_t bytes, uint64_t offset);

/* Grows as needed. With `append`, *offset is where the bytes went; up to SHARED_MEMORY_PIECE bytes go there
 * in one piece, whoever else appends. Fewer bytes than asked for, or -ENOSPC where it is none, when memory
 * ends. */
#define SHARED_MEMORY_PIECE (64 * 1024ULL)
int64_t shared_memory_write(struct shared_memory *object, struct page_pool *payer, uint64_t buffer,
                            uint64_t bytes, uint64_t *offset, bool append);

/* Gives memory back that nobody uses or refers to any more. Cheap where there is none. */
void shared_memory_reclaim(void);

#endif
