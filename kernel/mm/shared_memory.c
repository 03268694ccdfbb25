/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_memory.c: see shared_memory.h.
 *
 * Memory is taken from slices and given back with no lock held; what was found out before is looked at again
 * under the lock. While an object grows it is in use, so that nobody takes away what it has got already. Runs
 * in system calls on any CPU.
 */
#include "mm/shared_memory.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "mm/user_bytes.h"
#include "mm/vm.h"

struct run {
    uint64_t offset, bytes, physical;
    struct vm *owner;
};

/* The first one of an object stands behind its struct shared_memory in the same page. */
struct run_page {
    struct run_page *next;
    struct vm *owner; /* whose page this is */
    unsigned count, most;
    struct run runs[];
};

#define RUNS_IN(bytes) ((unsigned)(((bytes) - sizeof(struct run_page)) / sizeof(struct run)))

/* Objects of which something may go back; each is there once at the most. */
static struct {
    struct spinlock lock;
    struct shared_memory *first;
} idle;

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- Life ---- */

struct shared_memory *shared_memory_create(struct vm *owner)
{
    uint64_t page = vm_pages_allocate(owner, ARCH_PAGE, ARCH_PAGE);

    if (page == PAGE_POOL_NONE)
        return NULL;

    struct shared_memory *object = arch_physical(page);
    struct run_page *runs = (struct run_page *)(object + 1);
    *object = (struct shared_memory){ .references = 1, .owner = owner, .first = runs, .last = runs };
    *runs = (struct run_page){ .owner = owner, .most = RUNS_IN(ARCH_PAGE - sizeof(*object)) };
    return object;
}

/* What stays backed while nobody uses the object. */
static uint64_t kept_bytes(const struct shared_memory *object)
{
    return page_up(object->bytes > object->reserved ? object->bytes : object->reserved);
}

/* With the object's lock: notes that something may have to go back. */
static void idle_note(struct shared_memory *object)
{
    if (object->is_idle || object->uses > 0 ||
        (object->references > 0 && object->capacity == kept_bytes(object)))
        return;
    object->is_idle = true;
    spin_lock(&idle.lock);
    object->next_idle = idle.first;
    __atomic_store_n(&idle.first, object, __ATOMIC_RELAXED);
    spin_unlock(&idle.lock);
}

void shared_memory_get(struct shared_memory *object)
{
    spin_lock(&object->lock);
    object->references++;
    spin_unlock(&object->lock);
}

void shared_memory_put(struct shared_memory *object)
{
    spin_lock(&object->lock);
    object->references--;
    idle_note(object);
    spin_unlock(&object->lock);
}

static void use_begin(struct shared_memory *object)
{
    spin_lock(&object->lock);
    object->uses++;
    spin_unlock(&object->lock);
}

void shared_memory_map_put(struct shared_memory *object)
{
    spin_lock(&object->lock);
    object->uses--;
    idle_note(object);
    spin_unlock(&object->lock);
}

void shared_memory_map_get(struct shared_memory *object)
{
    spin_lock(&object->lock);
    object->uses++;
    object->tail_dirty = true;
    spin_unlock(&object->lock);
}

static void use_end(struct shared_memory *object)
{
    shared_memory_map_put(object);
    shared_memory_reclaim();
}

/* ---- Runs; with the object's lock ---- */

/* The run that holds `offset`, or NULL. */
static const struct run *run_find(const struct shared_memory *object, uint64_t offset)
{
    for (const struct run_page *page = object->first; page; page = page->next) {
        const struct run *last = page->count ? &page->runs[page->count - 1] : NULL;
        unsigned low = 0, high = page->count;

        if (!last || offset >= last->offset + last->bytes)
            continue;
        while (high - low > 1) {
            unsigned middle = low + (high - low) / 2;

            if (page->runs[middle].offset <= offset)
                low = middle;
            else
                high = middle;
        }
        return &page->runs[low];
    }
    return NULL;
}

/* Puts memory behind the last run. `spare` is a page for more runs or NULL; answers whether it was used. */
static bool run_append(struct shared_memory *object, struct vm *owner, uint64_t physical, uint64_t bytes,
                       struct run_page *spare)
{
    struct run_page *page = object->last;
    struct run *last = page->count ? &page->runs[page->count - 1] : NULL;
    struct run run = { object->capacity, bytes, physical, owner };
    bool used = false;

    object->capacity += bytes;
    if (last && last->owner == owner && last->physical + last->bytes == physical) {
        last->bytes += bytes;
        return false;
    }
    if (page->count == page->most) {
        *spare = (struct run_page){ .owner = owner, .most = RUNS_IN(ARCH_PAGE) };
        page->next = spare;
        object->last = page = spare;
        used = true;
    }
    page->runs[page->count++] = run;
    return used;
}

/* Takes a piece of what lies behind `end`, a multiple of the page, off the last run. False where there is
 * nothing. */
static bool run_cut(struct shared_memory *object, uint64_t end, struct run *cut, struct run_page **emptied)
{
    struct run_page *page = object->last;

    *emptied = NULL;
    if (object->capacity <= end)
        return false;

    struct run *last = &page->runs[page->count - 1];
    uint64_t kept = last->offset < end ? end - last->offset : 0;
    *cut = (struct run){ last->offset + kept, last->bytes - kept, last->physical + kept, last->owner };
    object->capacity -= cut->bytes;
    last->bytes = kept;
    if (kept > 0 || --page->count > 0 || page == object->first)
        return true;

    struct run_page *before = object->first;
    while (before->next != page)
        before = before->next;
    before->next = NULL;
    object->last = before;
    *emptied = page;
    return true;
}

/* Zeroes [start, end) as far as it is backed. */
static void range_zero(struct shared_memory *object, uint64_t start, uint64_t end)
{
    end = smaller(end, object->capacity);
    while (start < end) {
        const struct run *run = run_find(object, start);
        uint64_t inside = start - run->offset, part = smaller(run->bytes - inside, end - start);

        arch_zero(arch_physical(run->physical + inside), part);
        start += part;
    }
}

uint64_t shared_memory_run(struct shared_memory *object, uint64_t offset, uint64_t bytes, uint64_t *physical)
{
    uint64_t found = 0;

    spin_lock(&object->lock);
    const struct run *run = run_find(object, offset);
    if (run) {
        uint64_t inside = offset - run->offset;

        *physical = run->physical + inside;
        found = smaller(page_up(bytes), run->bytes - inside);
    }
    spin_unlock(&object->lock);
    return found;
}

/* ---- Giving back; with no lock ---- */

/* Gives all memory behind `end` back, in pieces, for as long as nobody has come to use the object. */
static void memory_trim(struct shared_memory *object, bool all)
{
    for (;;) {
        struct run_page *emptied = NULL;
        struct run cut;
        bool found;

        spin_lock(&object->lock);
        found = object->uses == 0 && run_cut(object, all ? 0 : kept_bytes(object), &cut, &emptied);
        spin_unlock(&object->lock);
        if (!found)
            return;
        vm_pages_free(cut.owner, cut.physical, cut.bytes);
        if (emptied)
            vm_pages_free(emptied->owner, arch_physical_of(emptied), ARCH_PAGE);
    }
}

static struct shared_memory *idle_take(void)
{
    spin_lock(&idle.lock);
    struct shared_memory *object = idle.first;
    if (object)
        idle.first = object->next_idle;
    spin_unlock(&idle.lock);
    return object;
}

void shared_memory_reclaim(void)
{
    while (__atomic_load_n(&idle.first, __ATOMIC_RELAXED)) {
        struct shared_memory *object = idle_take();

        if (!object)
            return;
        spin_lock(&object->lock);
        bool dead = object->references == 0 && object->uses == 0;
        bool alive = object->references > 0;
        /* One that is dead stays marked, so that nobody puts it on the list again. One with a use but no
         * reference left comes back when the use ends. */
        object->is_idle = dead;
        object->references += alive; /* so that it does not go while we look after it */
        spin_unlock(&object->lock);
        if (dead || alive)
            memory_trim(object, dead);
        if (dead)
            vm_pages_free(object->owner, arch_physical_of(object), ARCH_PAGE);
        if (alive)
            shared_memory_put(object);
    }
}

/* ---- Growing; with no lock, the object in use ---- */

/* One physical run for what begins at `offset`: large pages where the offset allows and the slice has them.
 */
static uint64_t run_take(struct vm *payer, uint64_t offset, uint64_t bytes, uint64_t *got)
{
    static const uint64_t sizes[] = { ARCH_HUGE_PAGE, ARCH_LARGE_PAGE, ARCH_PAGE };
    uint64_t physical = PAGE_POOL_NONE;

    for (unsigned i = 0; i < 3 && physical == PAGE_POOL_NONE; i++) {
        uint64_t part = bytes & ~(sizes[i] - 1);
        uint64_t to_large = ARCH_LARGE_PAGE - (offset & (ARCH_LARGE_PAGE - 1));

        if (offset & (sizes[i] - 1))
            continue;
        if (sizes[i] == ARCH_PAGE && bytes > to_large)
            part = to_large; /* what comes behind that may become large pages again */
        for (; part >= sizes[i] && physical == PAGE_POOL_NONE; part = part / 2 & ~(sizes[i] - 1)) {
            physical = vm_pages_allocate(payer, part, sizes[i]);
            *got = part;
        }
    }
    return physical;
}

/* Whether there could be memory for everything below `wanted`. Where there cannot, none is taken, zeroed and
 * given back, of which the payer's threads would see the lack meanwhile. */
static bool slice_may_do(const struct shared_memory *object, const struct vm *payer, uint64_t wanted)
{
    uint64_t capacity = __atomic_load_n(&object->capacity, __ATOMIC_RELAXED);

    return wanted <= capacity ||
           wanted - capacity <= __atomic_load_n(&payer->pages->free_bytes, __ATOMIC_RELAXED);
}

/* Backs everything below `wanted`. What was backed before -ENOSPC stays: shared_memory_reclaim takes it back
 * when the use ends. */
static int capacity_reserve(struct shared_memory *object, struct vm *payer, uint64_t wanted)
{
    for (;;) {
        uint64_t got = 0, page = PAGE_POOL_NONE;

        spin_lock(&object->lock);
        uint64_t capacity = object->capacity;
        bool needs_page = object->last->count == object->last->most;
        spin_unlock(&object->lock);
        if (capacity >= wanted)
            return 0;

        uint64_t physical = run_take(payer, capacity, page_up(wanted) - capacity, &got);
        if (physical == PAGE_POOL_NONE)
            return -ENOSPC;
        arch_zero(arch_physical(physical), got);
        if (needs_page) {
            page = vm_pages_allocate(payer, ARCH_PAGE, ARCH_PAGE);
            if (page == PAGE_POOL_NONE) {
                vm_pages_free(payer, physical, got);
                return -ENOSPC;
            }
        }

        spin_lock(&object->lock);
        bool alone = object->capacity == capacity;
        bool page_used =
            alone && run_append(object, payer, physical, got, needs_page ? arch_physical(page) : NULL);
        spin_unlock(&object->lock);
        if (!alone) /* somebody else made it grow meanwhile */
            vm_pages_free(payer, physical, got);
        if (needs_page && !page_used)
            vm_pages_free(payer, page, ARCH_PAGE);
    }
}

/* With the object's lock, all of it backed. */
static void size_set(struct shared_memory *object, uint64_t bytes)
{
    uint64_t old = object->bytes;

    if (bytes > old && object->tail_dirty)
        range_zero(object, old, bytes);
    if (bytes < old) {
        /* Where somebody else looks on, all of the tail; else what does not go back now is zeroed by growth.
         */
        range_zero(object, bytes, object->uses > 1 ? old : smaller(page_up(bytes), old));
        object->tail_dirty = true;
    }
    object->bytes = bytes;
}

static int resize(struct shared_memory *object, struct vm *payer, uint64_t bytes, bool may_shrink)
{
    use_begin(object);

    int error = slice_may_do(object, payer, bytes) ? capacity_reserve(object, payer, bytes) : -ENOSPC;
    if (!error) {
        spin_lock(&object->lock);
        if (bytes > object->bytes || may_shrink)
            size_set(object, bytes);
        if (may_shrink)
            object->reserved = 0;
        spin_unlock(&object->lock);
    }
    use_end(object);
    return error;
}

int shared_memory_resize(struct shared_memory *object, struct vm *payer, uint64_t bytes)
{
    return resize(object, payer, bytes, true);
}

int shared_memory_grow(struct shared_memory *object, struct vm *payer, uint64_t bytes)
{
    return resize(object, payer, bytes, false);
}

int shared_memory_reserve(struct shared_memory *object, struct vm *payer, uint64_t bytes)
{
    use_begin(object);

    int error = slice_may_do(object, payer, bytes) ? capacity_reserve(object, payer, bytes) : -ENOSPC;
    spin_lock(&object->lock);
    if (!error && bytes > object->reserved)
        object->reserved = bytes;
    spin_unlock(&object->lock);
    use_end(object);
    return error;
}

void shared_memory_clear(struct shared_memory *object, uint64_t offset, uint64_t bytes)
{
    use_begin(object);
    for (uint64_t at = offset, end = offset + bytes; at < end; at += SHARED_MEMORY_PIECE) {
        spin_lock(&object->lock);
        uint64_t size = object->bytes;
        range_zero(object, at, smaller(smaller(end, size), at + SHARED_MEMORY_PIECE));
        spin_unlock(&object->lock);
        if (at >= size)
            break;
    }
    use_end(object);
}

/* ---- Copying ---- */

int64_t shared_memory_read(struct shared_memory *object, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t done = 0, part = 0;
    int64_t got = 0;

    use_begin(object); /* so that copying needs no lock: ranks read side by side */
    for (; done < bytes && (uint64_t)got == part; done += got > 0 ? (uint64_t)got : 0) {
        struct run run = { 0 };
        uint64_t at = offset + done;

        spin_lock(&object->lock);
        uint64_t size = object->bytes;
        if (at < size)
            run = *run_find(object, at);
        spin_unlock(&object->lock);
        if (at >= size)
            break;
        part = smaller(smaller(bytes - done, size - at), run.bytes - (at - run.offset));
        got = user_write_partial(buffer + done, arch_physical(run.physical + (at - run.offset)), part);
    }
    use_end(object);
    return got < 0 && done == 0 ? got : (int64_t)done;
}

/* Copies a piece to `at`, all of it backed, with the object's lock; the size follows. Answers its bytes,
 * fewer where the program's memory ends. */
static int64_t piece_write(struct shared_memory *object, uint64_t buffer, uint64_t bytes, uint64_t at)
{
    uint64_t size = object->bytes, done = 0, part = 0;
    int64_t got = 0;

    if (at > size && object->tail_dirty)
        range_zero(object, size, at);
    for (; done < bytes && (uint64_t)got == part; done += got > 0 ? (uint64_t)got : 0) {
        const struct run *run = run_find(object, at + done);
        uint64_t inside = at + done - run->offset;

        part = smaller(bytes - done, run->bytes - inside);
        got = user_read_partial(arch_physical(run->physical + inside), buffer + done, part);
    }
    if (done > 0 && at + done > size)
        object->bytes = size = at + done;
    if (done < bytes) /* what has come of a part that failed must not be seen when the file grows */
        range_zero(object, at + done > size ? at + done : size, at + bytes);
    return got < 0 && done == 0 ? got : (int64_t)done;
}

/* One piece of a write; answers its bytes, fewer where memory ends. */
static int64_t piece_place(struct shared_memory *object, struct vm *payer, uint64_t buffer, uint64_t bytes,
                           uint64_t *at, bool append)
{
    for (bool full = false;;) {
        spin_lock(&object->lock);
        if (append)
            *at = object->bytes;
        uint64_t room = object->capacity > *at ? object->capacity - *at : 0;
        uint64_t part = smaller(bytes, room);

        if (part == bytes || (full && part > 0)) {
            int64_t written = piece_write(object, buffer, part, *at);

            spin_unlock(&object->lock);
            return written;
        }
        spin_unlock(&object->lock);
        if (full)
            return -ENOSPC;
        full = capacity_reserve(object, payer, *at + bytes) != 0;
    }
}

int64_t shared_memory_write(struct shared_memory *object, struct vm *payer, uint64_t buffer, uint64_t bytes,
                            uint64_t *offset, bool append)
{
    uint64_t done = 0, at = *offset;
    int64_t placed = 0;

    if (!append && !slice_may_do(object, payer, at))
        return -ENOSPC;
    use_begin(object);
    if (bytes > SHARED_MEMORY_PIECE) /* in runs as long as possible; that it may not be enough shows later */
        (void)capacity_reserve(object, payer, (append ? object->bytes : at) + bytes);
    while (done < bytes) {
        uint64_t piece = smaller(bytes - done, SHARED_MEMORY_PIECE);

        placed = piece_place(object, payer, buffer + done, piece, &at, append);
        if (placed < 0)
            break;
        done += (uint64_t)placed;
        at += (uint64_t)placed;
        if ((uint64_t)placed < piece)
            break;
    }
    use_end(object);
    *offset = at - done;
    return placed < 0 && done == 0 ? placed : (int64_t)done;
}
