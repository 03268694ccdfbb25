/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_memory.c: see shared_memory.h.
 *
 * Memory is allocated, zeroed and freed without the object's lock; what was decided before is checked again
 * under it. An object that grows is in use, so that its new memory is not freed. Memory that others may see
 * is copied or zeroed under the lock, in pieces of at most SHARED_MEMORY_PIECE: so ranks that share an object
 * wait no longer than for one piece. Runs in system calls on any CPU.
 */
#include "mm/shared_memory.h"
#include "arch.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "mm/page_pool.h"
#include "mm/user_bytes.h"
#include "smp/per_cpu.h"

struct run {
    struct avl_node node; /* key: its offset */
    uint64_t bytes, physical;
    struct page_pool *owner;
};

/* An object's first one follows its struct shared_memory in the same page; each further one is a page
 * from the pool of its first run. Runs are added and removed at the end. */
struct run_page {
    struct run_page *before;
    unsigned count, capacity;
    struct run runs[];
};

#define RUNS_IN(bytes) ((unsigned)(((bytes) - sizeof(struct run_page)) / sizeof(struct run)))

/* Objects of which something may have to be freed, each in at most one list. Only its own CPU, and so only
 * one rank, uses a list: no other rank frees what this rank has put. */
PER_CPU static struct shared_memory *idle;

/* ---- Life ---- */

struct shared_memory *shared_memory_create(struct page_pool *owner)
{
    uint64_t page = page_pool_allocate(owner, ARCH_PAGE, ARCH_PAGE);

    if (page == PAGE_POOL_NONE)
        return NULL;

    struct shared_memory *object = arch_physical(page);
    struct run_page *runs = (struct run_page *)(object + 1);
    *object = (struct shared_memory){ .references = 1, .owner = owner, .last = runs };
    *runs = (struct run_page){ .capacity = RUNS_IN(ARCH_PAGE - sizeof(*object)) };
    return object;
}

void shared_memory_drop(void)
{
    *PER_CPU_HERE(idle) = NULL;
}

/* Returns how many bytes stay backed while the object is not in use. */
static uint64_t kept_bytes(const struct shared_memory *object)
{
    if (object->references == 0)
        return 0;
    return page_up(object->bytes > object->reserved ? object->bytes : object->reserved);
}

/* Changes the counts. Lists the object for shared_memory_reclaim if something may have to be freed. */
static void counts_add(struct shared_memory *object, int references, int uses)
{
    SPIN_GUARD(&object->lock);
    object->references += (unsigned)references;
    object->uses += (unsigned)uses;
    if (object->is_idle || object->uses > 0 ||
        (object->references > 0 && object->capacity == kept_bytes(object)))
        return;
    object->is_idle = true;
    object->next_idle = *PER_CPU_HERE(idle);
    *PER_CPU_HERE(idle) = object;
}

void shared_memory_put(struct shared_memory *object)
{
    counts_add(object, -1, 0);
}

bool shared_memory_get(struct shared_memory *object)
{
    SPIN_GUARD(&object->lock);
    object->references += object->references > 0;
    return object->references > 0;
}

void shared_memory_map_put(struct shared_memory *object)
{
    counts_add(object, -1, -1);
}

void shared_memory_map_get(struct shared_memory *object)
{
    SPIN_GUARD(&object->lock);
    object->references++;
    object->uses++;
    object->tail_dirty = true;
}

static void use_begin(struct shared_memory *object)
{
    counts_add(object, 0, 1);
}

static void use_end(struct shared_memory *object)
{
    counts_add(object, 0, -1);
    shared_memory_reclaim();
}

/* ---- Runs; with the object's lock ---- */

uint64_t shared_memory_at(const struct shared_memory *object, uint64_t offset, uint64_t bytes,
                          uint64_t *physical)
{
    if (offset >= object->capacity)
        return 0;

    const struct run *run = avl_below(object->runs, offset + 1);
    uint64_t into = offset - run->node.key;
    *physical = run->physical + into;
    return smaller(bytes, run->bytes - into);
}

/* Appends memory. `spare` is a page for more runs or NULL. Returns whether it was used. */
static bool run_append(struct shared_memory *object, struct page_pool *owner, uint64_t physical,
                       uint64_t bytes, struct run_page *spare)
{
    struct run_page *page = object->last;
    struct run *last = page->count ? &page->runs[page->count - 1] : NULL;
    uint64_t offset = object->capacity;
    bool used = false;

    object->capacity += bytes;
    if (last && last->owner == owner && last->physical + last->bytes == physical) {
        last->bytes += bytes;
        return false;
    }
    if (page->count == page->capacity) {
        *spare = (struct run_page){ .before = page, .capacity = RUNS_IN(ARCH_PAGE) };
        object->last = page = spare;
        used = true;
    }
    last = &page->runs[page->count++];
    *last = (struct run){ { .key = offset }, bytes, physical, owner };
    avl_insert(&object->runs, &last->node, NULL);
    return used;
}

/* Cuts from the last run what lies above `end`, a multiple of the page. *emptied is the page of runs that is
 * empty after that, or NULL. Returns false if nothing lies above `end`. */
static bool run_cut(struct shared_memory *object, uint64_t end, struct run *cut, struct run_page **emptied)
{
    struct run_page *page = object->last;

    *emptied = NULL;
    if (object->capacity <= end)
        return false;

    struct run *last = &page->runs[page->count - 1];
    uint64_t kept = last->node.key < end ? end - last->node.key : 0;
    *cut = (struct run){ last->node, last->bytes - kept, last->physical + kept, last->owner };
    object->capacity -= cut->bytes;
    last->bytes = kept;
    if (kept > 0)
        return true;
    avl_remove(&object->runs, &last->node, NULL);
    if (--page->count == 0 && page->before) {
        object->last = page->before;
        *emptied = page;
    }
    return true;
}

/* Zeroes [start, end) as far as it is backed. */
static void range_zero(struct shared_memory *object, uint64_t start, uint64_t end)
{
    uint64_t physical;

    for (uint64_t part; start < end && (part = shared_memory_at(object, start, end - start, &physical)) > 0;
         start += part) {
        lock_work_step();
        arch_zero(arch_physical(physical), part);
    }
}

uint64_t shared_memory_run(struct shared_memory *object, uint64_t offset, uint64_t bytes, uint64_t *physical)
{
    SPIN_GUARD(&object->lock);
    return shared_memory_at(object, offset, page_up(bytes), physical);
}

/* ---- Reclaim; with no lock ---- */

/* Frees what lies above the bytes that stay backed, run by run, until the object is used again. */
static void memory_trim(struct shared_memory *object)
{
    for (;;) {
        struct run_page *emptied = NULL;
        struct run cut;
        bool found;

        spin_lock(&object->lock);
        found = object->uses == 0 && run_cut(object, kept_bytes(object), &cut, &emptied);
        spin_unlock(&object->lock);
        if (!found)
            return;
        page_pool_free(cut.owner, cut.physical, cut.bytes);
        if (emptied)
            page_pool_free(cut.owner, arch_physical_of(emptied), ARCH_PAGE);
        crosscall_serve();
    }
}

void shared_memory_reclaim(void)
{
    struct shared_memory **first = PER_CPU_HERE(idle);

    for (struct shared_memory *object; (object = *first) != NULL;) {
        *first = object->next_idle;
        spin_lock(&object->lock);
        bool dead = object->references == 0 && object->uses == 0;
        object->is_idle = dead;      /* a dead object stays marked, so that it is not listed again */
        object->references += !dead; /* keeps it alive while its memory is trimmed */
        spin_unlock(&object->lock);
        memory_trim(object);
        if (!dead) {
            shared_memory_put(object); /* if nothing else keeps it, it is listed again, and freed later */
            continue;
        }
        if (object->ended)
            object->ended(object);
        page_pool_free(object->owner, arch_physical_of(object), ARCH_PAGE);
    }
}

/* ---- Growth; with no lock, the object in use ---- */

/* Returns whether there could be memory for everything below `end`. If there cannot, no memory is allocated,
 * zeroed and freed again, which the payer's other threads would lack meanwhile. */
static bool capacity_is_possible(const struct shared_memory *object, const struct page_pool *payer,
                                 uint64_t end)
{
    uint64_t capacity = __atomic_load_n(&object->capacity, __ATOMIC_RELAXED);

    return end <= capacity || end - capacity <= page_pool_free_bytes(payer);
}

/* Backs everything below `end`. What was backed before -ENOSPC is freed by shared_memory_reclaim when the use
 * ends. */
static int capacity_reserve(struct shared_memory *object, struct page_pool *payer, uint64_t end)
{
    for (;;) {
        uint64_t got = 0, page = PAGE_POOL_NONE;

        spin_lock(&object->lock);
        uint64_t capacity = object->capacity;
        bool needs_page = object->last->count == object->last->capacity;
        spin_unlock(&object->lock);
        if (capacity >= end)
            return 0;

        uint64_t physical = page_pool_allocate_run(payer, capacity, page_up(end) - capacity, &got);
        if (physical == PAGE_POOL_NONE)
            return -ENOSPC;
        arch_zero(arch_physical(physical), got);
        if (needs_page) {
            page = page_pool_allocate(payer, ARCH_PAGE, ARCH_PAGE);
            if (page == PAGE_POOL_NONE) {
                page_pool_free(payer, physical, got);
                return -ENOSPC;
            }
        }

        spin_lock(&object->lock);
        bool alone = object->capacity == capacity;
        bool page_used =
            alone && run_append(object, payer, physical, got, needs_page ? arch_physical(page) : NULL);
        spin_unlock(&object->lock);
        if (!alone) /* another thread has made it grow meanwhile */
            page_pool_free(payer, physical, got);
        if (needs_page && !page_used)
            page_pool_free(payer, page, ARCH_PAGE);
    }
}

/* Sets the size, after what its mappings show. With the object's lock. A growth of a piece, which may cross a
 * large page's bound, takes two steps. */
static void bytes_set(struct shared_memory *object, uint64_t bytes)
{
    if (shared_views_step(object, bytes))
        shared_views_step(object, bytes);
    object->bytes = bytes;
}

/* Makes the object larger; all of it is backed already. Grows in pieces if old bytes may be in the new part.
 * If another thread cuts it meanwhile, stops, as if the cut came after. */
static void size_raise(struct shared_memory *object, uint64_t bytes)
{
    for (uint64_t reached = 0; reached < bytes; crosscall_serve()) {
        SPIN_GUARD(&object->lock);
        uint64_t size = object->bytes;

        if (size >= bytes || size < reached)
            return;
        reached = object->tail_dirty ? smaller(bytes, size + SHARED_MEMORY_PIECE) : bytes;
        if (object->tail_dirty)
            range_zero(object, size, reached);
        bytes_set(object, reached);
    }
}

/* Zeroes [start, end), piece by piece: only what lies above the size, or (else) below it. */
static void pieces_zero(struct shared_memory *object, uint64_t start, uint64_t end, bool above)
{
    for (uint64_t at = start; at < end; at += SHARED_MEMORY_PIECE, crosscall_serve()) {
        SPIN_GUARD(&object->lock);
        uint64_t to = smaller(at + SHARED_MEMORY_PIECE, end), size = object->bytes;

        if (above)
            range_zero(object, at > size ? at : size, to);
        else
            range_zero(object, at, smaller(to, size));
    }
}

/* Makes the object smaller. If others may see what is cut off, zeroes it afterwards, except what has become
 * part of the object again. Else growth zeroes what is not freed now. */
static void size_cut(struct shared_memory *object, uint64_t bytes)
{
    spin_lock(&object->lock);
    uint64_t old = object->bytes, end = object->uses > 1 ? old : 0;
    if (bytes < old) {
        range_zero(object, bytes, smaller(page_up(bytes), old));
        object->tail_dirty = true;
        bytes_set(object, bytes);
    }
    spin_unlock(&object->lock);
    shared_views_update(object);
    if (bytes < old)
        shared_views_flush(object);
    pieces_zero(object, bytes, end, true);
}

int shared_memory_size(struct shared_memory *object, struct page_pool *payer, uint64_t bytes,
                       enum size_change change)
{
    use_begin(object);

    int error = capacity_is_possible(object, payer, bytes) ? capacity_reserve(object, payer, bytes) : -ENOSPC;
    if (!error && change == SIZE_RESIZE)
        size_cut(object, bytes);
    if (!error && change != SIZE_RESERVE)
        size_raise(object, bytes);
    if (!error) {
        SPIN_GUARD(&object->lock);
        if (change == SIZE_RESIZE || (change == SIZE_RESERVE && bytes > object->reserved))
            object->reserved = change == SIZE_RESIZE ? 0 : bytes;
    }
    use_end(object);
    return error;
}

void shared_memory_clear(struct shared_memory *object, uint64_t offset, uint64_t bytes)
{
    use_begin(object);
    pieces_zero(object, offset, smaller(offset + bytes, __atomic_load_n(&object->bytes, __ATOMIC_RELAXED)),
                false);
    use_end(object);
}

/* ---- Copying ---- */

int64_t shared_memory_read(struct shared_memory *object, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t done = 0, part = 0, physical;
    int64_t got = 0;

    use_begin(object); /* so that copying needs no lock, and ranks read in parallel */
    for (; done < bytes && (uint64_t)got == part; done += got > 0 ? (uint64_t)got : 0) {
        uint64_t at = offset + done;

        if (done > 0)
            crosscall_serve();
        spin_lock(&object->lock);
        uint64_t size = object->bytes;
        part = at < size ? shared_memory_at(object, at, smaller(bytes - done, size - at), &physical) : 0;
        spin_unlock(&object->lock);
        if (part == 0)
            break;
        got = user_write_partial(buffer + done, arch_physical(physical), part);
    }
    use_end(object);
    return got < 0 && done == 0 ? got : (int64_t)done;
}

/* Copies a piece to `at`, all of it backed; the size grows with it. The caller holds the object's lock.
 * Returns how many bytes, fewer if the program's memory ends. */
static int64_t piece_write(struct shared_memory *object, uint64_t buffer, uint64_t bytes, uint64_t at)
{
    uint64_t size = object->bytes, done = 0, part = 0, physical;
    int64_t got = 0;

    if (at > size && object->tail_dirty)
        range_zero(object, size, at);
    for (; done < bytes && (uint64_t)got == part; done += got > 0 ? (uint64_t)got : 0) {
        part = shared_memory_at(object, at + done, bytes - done, &physical);
        got = user_read_partial(arch_physical(physical), buffer + done, part);
    }
    if (done > 0 && at + done > size)
        bytes_set(object, size = at + done);
    if (done < bytes) /* a failed part may have been copied in part: growth must not show it */
        range_zero(object, at + done > size ? at + done : size, at + bytes);
    return got < 0 && done == 0 ? got : (int64_t)done;
}

/* Writes one piece. Returns how many bytes, fewer if memory ends. */
static int64_t piece_place(struct shared_memory *object, struct page_pool *payer, uint64_t buffer,
                           uint64_t bytes, uint64_t at)
{
    for (bool full = false;;) {
        spin_lock(&object->lock);
        uint64_t part = smaller(bytes, object->capacity > at ? object->capacity - at : 0);
        bool fits = part == bytes || (full && part > 0);
        /* The gap is too long to be zeroed here, as the write after it counts to the same piece. */
        bool gap =
            object->tail_dirty && at > object->bytes && at + part > object->bytes + SHARED_MEMORY_PIECE;

        if (fits && !gap) {
            int64_t written = piece_write(object, buffer, part, at);

            spin_unlock(&object->lock);
            return written;
        }
        spin_unlock(&object->lock);
        if (fits) {
            char first;

            if (user_read(&first, buffer, 1)) /* a write that fails must not make the object larger */
                return -EFAULT;
            size_raise(object, at);
            continue;
        }
        if (full)
            return -ENOSPC;
        full = capacity_reserve(object, payer, at + bytes) != 0;
    }
}

int64_t shared_memory_write(struct shared_memory *object, struct page_pool *payer, uint64_t buffer,
                            uint64_t bytes, uint64_t offset)
{
    uint64_t done = 0;
    int64_t placed = 0;

    if (!capacity_is_possible(object, payer, offset))
        return -ENOSPC;
    use_begin(object);
    if (bytes > SHARED_MEMORY_PIECE) /* for long runs; the loop finds where memory ends */
        (void)capacity_reserve(object, payer, offset + bytes);
    while (done < bytes) {
        uint64_t piece = smaller(bytes - done, SHARED_MEMORY_PIECE);

        placed = piece_place(object, payer, buffer + done, piece, offset + done);
        if (placed < 0)
            break;
        done += (uint64_t)placed;
        if ((uint64_t)placed < piece)
            break;
        crosscall_serve();
    }
    use_end(object);
    return placed < 0 && done == 0 ? placed : (int64_t)done;
}

/* ---- Appending ---- */

/* Claims as much of `bytes` as is backed, or, if `all`, only all of them. Returns how many; 0: too few are
 * backed. */
static uint64_t place_claim(struct shared_memory *object, uint64_t bytes, bool all, uint64_t *offset)
{
    SPIN_GUARD(&object->lock);
    *offset = object->claims > 0 && object->claimed > object->bytes ? object->claimed : object->bytes;
    uint64_t part = smaller(bytes, object->capacity > *offset ? object->capacity - *offset : 0);
    if (part < bytes && all)
        return 0;
    object->claims += part > 0;
    object->claimed = *offset + part;
    return part;
}

int64_t shared_memory_claim(struct shared_memory *object, struct page_pool *payer, uint64_t bytes,
                            uint64_t *offset)
{
    uint64_t claimed;
    bool full = false;

    use_begin(object); /* for as long as the claim lasts */
    while ((claimed = place_claim(object, bytes, !full, offset)) == 0 && !full)
        full = capacity_reserve(object, payer, *offset + bytes) != 0;
    if (claimed > 0)
        return (int64_t)claimed;
    use_end(object);
    return -ENOSPC;
}

void shared_memory_claim_end(struct shared_memory *object)
{
    spin_lock(&object->lock);
    object->claims--;
    spin_unlock(&object->lock);
    use_end(object);
}
