/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_epoll.c: sets of files that the kernel keeps for a program: epoll(7). A set is a table in its process's
 * memory with a row for each descriptor, which grows by a page of rows at a time. A row belongs to the file
 * that its descriptor meant when it was added: after the descriptor is closed, or means another file, the row
 * is void. The wait itself is in sys_poll.c.
 *
 * An edge-triggered row reports what is ready when that is new, or when the file has been active since the
 * row's last report.
 *
 * A set may be in another one. Each knows at most how many are above it, so that adding one in a circle, or
 * below too many, is refused, and a scan goes down no further than that. The row is added first, then the way
 * down from it is searched: of two threads that close one circle at the same time at least one finds it.
 *
 * Source: man 7 epoll, man 2 epoll_ctl, epoll_wait (facts of the interface).
 */
#include "arch.h"
#include "fs/file.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"
#include "smp/crosscall.h"
#include "syscall/linux_calls.h"
#include "syscall/readiness.h"
#include "syscall/syscall.h"
#include "time/clock.h"
#include "time/timespec.h"
#include "process/event.h"

#define ABOVE_MAX      4 /* sets above another one */
#define EXCLUSIVE_WITH (1U << 0 | 1U << 2 | 1U << 3 | 1U << 4 | 1U << 29 | EPOLLET | EPOLLEXCLUSIVE)

struct row {
    uint64_t serial; /* the file's serial; 0: no row */
    uint32_t events;
    uint32_t reported; /* for EPOLLET: what was ready when the row was last scanned */
    uint64_t activity; /* likewise */
    bool disabled;     /* with EPOLLONESHOT: reported once */
    uint64_t data;
};

#define ROWS_A_PAGE (ARCH_PAGE / sizeof(struct row))
#define ROW_PAGES   (FILE_DESCRIPTORS_MAX / ROWS_A_PAGE + 1)

struct epoll {
    struct spinlock lock; /* guards the rows; taken with no lock held; a socket's may be taken under it */
    uint32_t next;        /* where the next scan begins, so that no file is always last */
    uint64_t scanned_ns;  /* when the set was last scanned as a file */
    unsigned ready;       /* its readiness at that time */
    uint64_t activity;    /* a sum of what its files answered */
    struct scan_until until;
    unsigned above;  /* sets above it, at most: one that contains it, one that contains that, … */
    uint64_t search; /* the last search for a circle that came here */
    struct row *pages[ROW_PAGES]; /* NULL: no descriptor of this part was ever in the set */
};

#define EPOLL_MEMORY page_up(sizeof(struct epoll))

static void epoll_release(struct file *file)
{
    struct epoll *epoll = file->object;

    for (unsigned i = 0; i < ROW_PAGES; i++)
        if (epoll->pages[i])
            page_pool_free(file->process->vm.pages, arch_physical_of(epoll->pages[i]), ARCH_PAGE);
    page_pool_free(file->process->vm.pages, arch_physical_of(file->object), EPOLL_MEMORY);
}

const struct file_operations epoll_operations = { .release = epoll_release,
                                                  .name = "anon_inode:[eventpoll]",
                                                  .waits = true };

long sys_epoll_create1(uint64_t flags)
{
    struct process *process = arch_process();

    if ((uint32_t)flags & ~(uint32_t)O_CLOEXEC)
        return -EINVAL;
    FILE_REFERENCE file = NULL;
    uint64_t memory = page_pool_allocate(process->vm.pages, EPOLL_MEMORY, ARCH_PAGE);
    int error = memory == PAGE_POOL_NONE ? -ENOMEM : file_make(&epoll_operations, O_RDWR, &file);
    if (error && memory != PAGE_POOL_NONE)
        page_pool_free(process->vm.pages, memory, EPOLL_MEMORY);
    if (error)
        return error;
    file->object = arch_physical(memory);
    arch_zero(file->object, EPOLL_MEMORY);
    return file_install(process, file, 0, flags & O_CLOEXEC);
}

/* ---- Rows ---- */

/* Returns a descriptor's row; NULL if its page was never needed. */
static struct row *row_of(const struct epoll *epoll, uint32_t descriptor)
{
    struct row *page = __atomic_load_n(&epoll->pages[descriptor / ROWS_A_PAGE], __ATOMIC_ACQUIRE);

    return page ? &page[descriptor % ROWS_A_PAGE] : NULL;
}

/* Adds the page of a descriptor's row to a set, unless it is there; -ENOMEM. */
static int row_add(struct page_pool *pages, struct epoll *epoll, uint32_t descriptor)
{
    struct row *none = NULL, **place = &epoll->pages[descriptor / ROWS_A_PAGE];

    if (row_of(epoll, descriptor))
        return 0;
    uint64_t page = page_pool_allocate_zeroed(pages);
    if (page == PAGE_POOL_NONE)
        return -ENOMEM;
    if (!__atomic_compare_exchange_n(place, &none, (struct row *)arch_physical(page), false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        page_pool_free_zeroed(pages, page); /* another thread has added it */
    return 0;
}

/* Returns the first descriptor from `descriptor` on that has a row in use; FILE_DESCRIPTORS_MAX: none. */
static uint32_t row_next(const struct epoll *epoll, uint32_t descriptor)
{
    for (; descriptor < FILE_DESCRIPTORS_MAX; descriptor++) {
        const struct row *row = row_of(epoll, descriptor);

        if (!row)
            descriptor += (uint32_t)(ROWS_A_PAGE - 1 - descriptor % ROWS_A_PAGE);
        else if (__atomic_load_n(&row->serial, __ATOMIC_SEQ_CST))
            break;
    }
    return descriptor < FILE_DESCRIPTORS_MAX ? descriptor : FILE_DESCRIPTORS_MAX;
}

static int row_change(struct row *row, struct file *file, uint32_t operation,
                      const struct linux_epoll_event *event)
{
    bool exists = row->serial == file->serial;

    switch (operation) {
    case EPOLL_CTL_ADD:
        if (exists)
            return -EEXIST;
        break;
    case EPOLL_CTL_MOD:
        if (!exists)
            return -ENOENT;
        if (row->events & EPOLLEXCLUSIVE)
            return -EINVAL;
        break;
    case EPOLL_CTL_DEL:
        if (!exists)
            return -ENOENT;
        row->serial = 0;
        return 0;
    default:
        return -EINVAL;
    }
    *row = (struct row){ .serial = file->serial, .events = event->events, .data = event->data };
    return 0;
}

/* Goes down through a set that has `above` sets above it: with a number of a search, to see that `outer` is
 * not there; without, to let them know `above`. False: it is there, or there are too many above each other.
 * Ends in a circle, too. */
static bool sets_descend(const struct file *file, const struct epoll *outer, unsigned above, uint64_t search)
{
    struct epoll *epoll = file->object;

    if (epoll == outer || above > ABOVE_MAX)
        return false;
    if (search ? epoll->search == search : epoll->above >= above)
        return true;
    if (search)
        epoll->search = search;
    else
        epoll->above = above;
    for (uint32_t d = 0; (d = row_next(epoll, d)) < FILE_DESCRIPTORS_MAX; d++) {
        FILE_REFERENCE inner = file_of(d);

        crosscall_serve();
        if (inner && inner->operations == &epoll_operations && inner->serial == row_of(epoll, d)->serial &&
            !sets_descend(inner, outer, above + 1, search))
            return false;
    }
    return true;
}

/* Returns whether a set that was just added to `outer` may be there. */
static bool sets_check(const struct file *file, const struct epoll *outer)
{
    static uint64_t searches; /* atomic */

    return sets_descend(file, outer, 1, __atomic_add_fetch(&searches, 1, __ATOMIC_SEQ_CST)) &&
           sets_descend(file, outer, outer->above + 1, 0);
}

long sys_epoll_ctl(uint64_t set_descriptor, uint64_t operation, uint64_t descriptor, uint64_t address)
{
    struct linux_epoll_event event = { 0 };

    if ((uint32_t)operation != EPOLL_CTL_DEL && user_read(&event, address, sizeof(event)))
        return -EFAULT;
    FILE_REFERENCE set = file_of(set_descriptor);
    FILE_REFERENCE file = file_of(descriptor);
    if (!set || !file)
        return -EBADF;
    if (set->operations != &epoll_operations || file == set)
        return -EINVAL;
    bool is_set = file->operations == &epoll_operations;
    if ((event.events & EPOLLEXCLUSIVE) &&
        ((uint32_t)operation == EPOLL_CTL_MOD || is_set || (event.events & ~EXCLUSIVE_WITH)))
        return -EINVAL;
    if (file->inode && !file->inode->device)
        return -EPERM; /* as Linux: files and directories are always ready */
    struct epoll *epoll = set->object;
    int error = row_add(set->process->vm.pages, epoll, (uint32_t)descriptor);
    if (error)
        return error;
    struct row *row = row_of(epoll, (uint32_t)descriptor);
    spin_lock(&epoll->lock);
    error = row_change(row, file, (uint32_t)operation, &event);
    spin_unlock(&epoll->lock);
    if (!error && is_set && (uint32_t)operation == EPOLL_CTL_ADD && !sets_check(file, epoll)) {
        SPIN_GUARD(&epoll->lock);
        row_change(row, file, EPOLL_CTL_DEL, &event);
        return -ELOOP;
    }
    if (!error)
        event_notify(set->process, event_of(epoll));
    return error;
}

/* ---- Waiting ---- */

/* Returns what a row reports of its file, whose ready events are `ready`; with `peek` the row stays as it is.
 * The caller holds the set's lock. */
static uint32_t row_report(struct row *row, const struct file *file, uint32_t ready, uint64_t activity,
                           bool peek)
{
    const struct file_operations *operations = file->operations;
    bool is_new =
        (ready & ~row->reported) || activity != row->activity || (operations->ready && !operations->activity);
    uint32_t report = row->disabled || ((row->events & EPOLLET) && !is_new) ? 0 : ready;

    if (peek)
        return report;
    row->reported = ready;
    row->activity = activity;
    row->disabled |= report && (row->events & EPOLLONESHOT);
    return report;
}

/* Scans a row: returns the events and the data that it reports. With `peek`, a sum of what readiness and
 * activity the files have, the row stays as it is. */
static struct linux_epoll_event row_scan(struct epoll *epoll, uint32_t descriptor, struct scan *scan,
                                         uint64_t *peek)
{
    struct linux_epoll_event event = { 0 };
    struct row *row = row_of(epoll, descriptor);
    uint64_t serial = __atomic_load_n(&row->serial, __ATOMIC_RELAXED), activity = 0;
    FILE_REFERENCE file = file_of(descriptor);

    if (!file)
        return event;
    /* If the descriptor means another file now, that may be this very set, whose readiness would scan this
     * row. */
    bool is_listed = file->serial == serial;
    uint32_t ready = is_listed ? file_scan(file, scan, &activity) : 0;
    SPIN_GUARD(&epoll->lock);
    if (row->serial == serial && is_listed) {
        ready &= (row->events & EPOLL_EVENTS) | READY_ERROR | READY_HANG_UP;
        event.events = row_report(row, file, ready, activity, peek);
        event.data = row->data;
        if (peek)
            *peek = *peek * 31 + activity + ready;
    } else if (row->serial == serial) { /* else it was added again meanwhile */
        row->serial = 0;
    }
    return event;
}

unsigned epoll_readiness(struct file *file, struct scan *scan, uint64_t *activity)
{
    struct epoll *epoll = file->object;
    struct scan members = { { event_of(epoll), WAIT_FOREVER, false }, scan->sets_since_ns, scan->depth + 1 };
    uint64_t now_ns = clock_now_ns();
    bool is_first = !scan->sets_since_ns;
    unsigned ready = 0;

    *activity = 0;
    if (scan->depth > ABOVE_MAX)
        return 0; /* in a circle, which is about to be refused */
    if (is_first)
        scan->sets_since_ns = members.sets_since_ns = now_ns;
    if (is_first || __atomic_load_n(&epoll->scanned_ns, __ATOMIC_ACQUIRE) < scan->sets_since_ns) {
        for (uint32_t d = 0; (d = row_next(epoll, d)) < FILE_DESCRIPTORS_MAX; d++) {
            crosscall_serve(); /* a program may list many large sets */
            if (row_scan(epoll, d, &members, activity).events)
                ready = READY_IN;
        }
        epoll->until = members.until;
        epoll->activity = *activity;
        epoll->ready = ready;
        __atomic_store_n(&epoll->scanned_ns, now_ns, __ATOMIC_RELEASE);
    }
    scan_add(scan, &epoll->until);
    *activity = epoll->activity;
    return epoll->ready;
}

struct epoll_wait {
    struct epoll *epoll;
    uint64_t buffer; /* address of the caller's buffer for events */
    uint64_t room;   /* number of events that fit into it */
};

/* Scans the rows of descriptors from `first` to below `end`, until the buffer, which has `count` events, is
 * full. Returns how many it has then; -EFAULT if it has none. */
static int64_t rows_scan(const struct epoll_wait *wait, uint32_t first, uint32_t end, int64_t count,
                         struct scan *scan)
{
    struct epoll *epoll = wait->epoll;

    for (uint32_t d = first; count < (int64_t)wait->room && (d = row_next(epoll, d)) < end; d++) {
        crosscall_serve();
        struct linux_epoll_event event = row_scan(epoll, d, scan, NULL);
        if (!event.events)
            continue;
        if (user_write(wait->buffer + (uint64_t)count * sizeof(event), &event, sizeof(event)))
            return count ? count : -EFAULT;
        count++;
        __atomic_store_n(&epoll->next, d + 1, __ATOMIC_RELAXED);
    }
    return count;
}

static int64_t epoll_scan(void *set, struct scan *scan)
{
    const struct epoll_wait *wait = set;
    const uint32_t start = __atomic_load_n(&wait->epoll->next, __ATOMIC_RELAXED);
    int64_t count = rows_scan(wait, start, FILE_DESCRIPTORS_MAX, 0, scan);

    if (count >= 0)
        count = rows_scan(wait, 0, start, count, scan);
    scan->until.events |= event_of(wait->epoll);
    return count;
}

/* Waits; continues when interrupted. Words: the set's descriptor, where to write events, for how many there
 * is room, the deadline; the signal mask, or UINT64_MAX, which is none, for a wait without one. */
static long epoll_resume(const uint64_t *words)
{
    FILE_REFERENCE file = file_of(words[0]);
    const bool masked = words[4] != UINT64_MAX;
    const int32_t room = (int32_t)words[2];

    if (!file)
        return -EBADF;
    if (file->operations != &epoll_operations || room <= 0 ||
        (uint32_t)room > INT32_MAX / sizeof(struct linux_epoll_event))
        return -EINVAL;
    if (masked)
        signal_mask_swap(words[4]);
    struct epoll_wait wait = { file->object, words[1], (uint32_t)room };
    long result = readiness_wait(epoll_scan, &wait, words[3]);
    if (result == -EINTR)
        return thread_interrupted_wait(epoll_resume, words);
    if (masked)
        signal_mask_restore();
    return result;
}

static long epoll_masked(uint64_t descriptor, uint64_t buffer, uint64_t room, uint64_t deadline_ns,
                         uint64_t mask_address, uint64_t mask_bytes)
{
    uint64_t mask = UINT64_MAX;
    int error = mask_address ? signal_mask_read(mask_address, mask_bytes, &mask) : 0;

    if (error)
        return error;
    return epoll_resume((const uint64_t[RESUME_WORDS]){ descriptor, buffer, room, deadline_ns, mask });
}

long sys_epoll_pwait(uint64_t descriptor, uint64_t buffer, uint64_t room, uint64_t timeout_ms, uint64_t mask,
                     uint64_t mask_bytes)
{
    return epoll_masked(descriptor, buffer, room, deadline_of_ms((int32_t)timeout_ms), mask, mask_bytes);
}

long sys_epoll_pwait2(uint64_t descriptor, uint64_t buffer, uint64_t room, uint64_t timeout, uint64_t mask,
                      uint64_t mask_bytes)
{
    uint64_t deadline_ns;
    int error = deadline_read(timeout, &deadline_ns);

    return error ? error : epoll_masked(descriptor, buffer, room, deadline_ns, mask, mask_bytes);
}
