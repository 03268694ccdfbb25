/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_epoll.c: sets of files that are waited for: epoll(7). A set is a table in memory of its process, with a
 * row a descriptor, so it cannot be full. A row is of its descriptor's file at that time: where that was
 * closed (or its descriptor means another file now), the row is gone. Edge-triggered rows tell what is ready
 * when that is new, or when the file has been active since they told it.
 */
#include "arch.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "mm/page.h"
#include "process/process.h"
#include "syscall/syscall.h"
#include "time/timespec.h"
#include "process/event.h"

struct row {
    uint64_t serial; /* of the file; 0: no row */
    uint32_t events;
    uint32_t told;     /* with EPOLLET: what was ready when it was last looked at */
    uint64_t activity; /* likewise */
    bool done;         /* with EPOLLONESHOT: told once */
    uint64_t data;
};

struct epoll {
    struct spinlock lock; /* of the rows; taken with no other lock held but the file table's after it */
    uint32_t next;        /* where the next look begins, so that nobody is always last */
    bool polled;          /* a file of the set is, or was, such a one */
    struct row rows[FILE_DESCRIPTORS_MAX];
};

#define EPOLL_MEMORY page_up(sizeof(struct epoll))

/* Whether anything in it is ready: a set can be waited for in its turn (poll, not in another set). */
static unsigned epoll_ready(struct file *file);

static void epoll_release(struct file *file)
{
    vm_pages_free(&file->process->vm, arch_physical_of(file->object), EPOLL_MEMORY);
}

static bool epoll_is_polled(const struct file *file)
{
    return ((const struct epoll *)file->object)->polled;
}

static const struct file_operations epoll_operations = { .ready = epoll_ready,
                                                         .release = epoll_release,
                                                         .name = "anon_inode:[eventpoll]",
                                                         .polled = epoll_is_polled };

long sys_epoll_create1(uint64_t flags)
{
    struct process *process = arch_process();
    struct file *file;
    uint64_t memory;

    if ((uint32_t)flags & ~(uint32_t)O_CLOEXEC)
        return -EINVAL;
    file = file_allocate(process);
    if (!file)
        return -EMFILE;
    memory = vm_pages_allocate(&process->vm, EPOLL_MEMORY, ARCH_PAGE);
    if (memory == PAGE_POOL_NONE) {
        file_put(file);
        return -ENOMEM;
    }
    file->object = arch_physical(memory);
    arch_zero(file->object, EPOLL_MEMORY);
    file->operations = &epoll_operations;
    file->flags = O_RDWR;
    file->mode = 0600;
    int result = file_install(process, file, 0, flags & O_CLOEXEC);
    file_put(file);
    return result;
}

long sys_epoll_create(uint64_t size)
{
    return (int32_t)size > 0 ? sys_epoll_create1(0) : -EINVAL;
}

/* ---- Rows ---- */

static int row_change(struct row *row, struct file *file, uint32_t operation,
                      const struct linux_epoll_event *event)
{
    bool there = row->serial == file->serial;

    switch (operation) {
    case EPOLL_CTL_ADD:
        if (there)
            return -EEXIST;
        break;
    case EPOLL_CTL_MOD:
        if (!there)
            return -ENOENT;
        break;
    case EPOLL_CTL_DEL:
        if (!there)
            return -ENOENT;
        row->serial = 0;
        return 0;
    default:
        return -EINVAL;
    }
    *row = (struct row){ .serial = file->serial, .events = event->events, .data = event->data };
    return 0;
}

static long control(struct file *set, struct file *file, uint64_t descriptor, uint64_t operation,
                    const struct linux_epoll_event *event)
{
    struct epoll *epoll = set->object;

    if (set->operations != &epoll_operations || file == set)
        return -EINVAL;
    if (file->operations == &epoll_operations)
        return -ELOOP; /* sets of sets are not kept */
    if (file->inode && !file->inode->device)
        return -EPERM; /* as Linux: files and directories are always ready */
    spin_lock(&epoll->lock);
    int error = row_change(&epoll->rows[(uint32_t)descriptor], file, (uint32_t)operation, event);
    epoll->polled |= file_is_polled(file);
    spin_unlock(&epoll->lock);
    if (!error)
        event_notify(set->process);
    return error;
}

long sys_epoll_ctl(uint64_t set_descriptor, uint64_t operation, uint64_t descriptor, uint64_t address)
{
    struct linux_epoll_event event = { 0 };
    struct process *process = arch_process();

    if ((uint32_t)operation != EPOLL_CTL_DEL && user_read(&event, address, sizeof(event)))
        return -EFAULT;
    struct file *set = file_get(process, set_descriptor), *file = file_get(process, descriptor);
    long result = set && file ? control(set, file, descriptor, operation, &event) : -EBADF;
    if (set)
        file_put(set);
    if (file)
        file_put(file);
    return result;
}

/* ---- Waiting ---- */

/* What a row of the set has to tell of its file now. With the set's lock. */
static uint32_t row_look(struct row *row, struct file *file, uint32_t ready, uint64_t activity, bool keep)
{
    const struct file_operations *operations = file->operations;
    bool is_new =
        (ready & ~row->told) || activity != row->activity || (operations->ready && !operations->activity);
    uint32_t tells = row->done || ((row->events & EPOLLET) && !is_new) ? 0 : ready;

    if (keep)
        return tells;
    row->told = ready;
    row->activity = activity;
    row->done |= tells && (row->events & EPOLLONESHOT);
    return tells;
}

/* With `keep` it leaves no trace. */
static uint32_t row_ready(struct epoll *epoll, uint32_t descriptor, bool keep, uint64_t *data)
{
    struct row *row = &epoll->rows[descriptor];
    struct file *file = file_get(arch_process(), descriptor);
    uint32_t tells = 0;

    if (!file)
        return 0;
    uint64_t activity = file->operations->activity ? file->operations->activity(file) : 0;
    uint32_t ready = file_ready(file);
    spin_lock(&epoll->lock);
    if (row->serial == file->serial) {
        ready &= (row->events & EPOLL_EVENTS) | READY_ERROR | READY_HANG_UP;
        tells = row_look(row, file, ready, activity, keep);
        *data = row->data;
    } else {
        row->serial = 0;
    }
    spin_unlock(&epoll->lock);
    file_put(file);
    return tells;
}

static bool row_there(struct epoll *epoll, uint32_t descriptor)
{
    return __atomic_load_n(&epoll->rows[descriptor].serial, __ATOMIC_RELAXED) != 0;
}

static unsigned epoll_ready(struct file *file)
{
    struct epoll *epoll = file->object;
    uint64_t data;

    for (uint32_t d = 0; d < FILE_DESCRIPTORS_MAX; d++)
        if (row_there(epoll, d) && row_ready(epoll, d, true, &data))
            return READY_IN;
    return 0;
}

/* Looks at all once; how many events were written, or -EFAULT. */
static int64_t epoll_once(struct epoll *epoll, uint64_t buffer, uint64_t most)
{
    uint32_t start = __atomic_load_n(&epoll->next, __ATOMIC_RELAXED);
    uint64_t count = 0;

    for (uint32_t i = 0; i < FILE_DESCRIPTORS_MAX && count < most; i++) {
        uint32_t d = (start + i) % FILE_DESCRIPTORS_MAX;
        struct linux_epoll_event event = { 0 };
        uint64_t data = 0;

        if (!row_there(epoll, d))
            continue;
        event.events = row_ready(epoll, d, false, &data);
        event.data = data;
        if (!event.events)
            continue;
        if (user_write(buffer + count * sizeof(event), &event, sizeof(event)))
            return count ? (int64_t)count : -EFAULT;
        count++;
        __atomic_store_n(&epoll->next, d + 1, __ATOMIC_RELAXED);
    }
    return (int64_t)count;
}

static long epoll_look(struct file *file, uint64_t buffer, uint64_t most, uint64_t deadline_ns)
{
    struct epoll *epoll = file->object;

    if (file->operations != &epoll_operations || (int32_t)most <= 0)
        return -EINVAL;
    for (;;) {
        int64_t result = epoll_once(epoll, buffer, (uint32_t)most);

        if (result != 0 || clock_now_ns() >= deadline_ns)
            return result;
        result = event_wait_any(deadline_ns, epoll->polled);
        if (result)
            return result;
    }
}

static long epoll_until(uint64_t descriptor, uint64_t buffer, uint64_t most, uint64_t deadline_ns)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    long result = epoll_look(file, buffer, most, deadline_ns);
    file_put(file);
    return result;
}

/* Words: the set's descriptor, where to write events, how many, the deadline. */
static long epoll_rest(const uint64_t *words)
{
    long result = epoll_until(words[0], words[1], words[2], words[3]);

    return result == -EINTR ? thread_interrupted_wait(epoll_rest, words) : result;
}

/* And the mask. */
static long epoll_masked_rest(const uint64_t *words)
{
    signal_mask_swap(words[4]);

    long result = epoll_until(words[0], words[1], words[2], words[3]);
    if (result == -EINTR)
        return thread_interrupted_wait(epoll_masked_rest, words);
    signal_mask_restore();
    return result;
}

static long epoll_masked(uint64_t descriptor, uint64_t buffer, uint64_t most, uint64_t deadline_ns,
                         uint64_t mask_address, uint64_t mask_bytes)
{
    uint64_t mask = 0;
    int error = mask_address ? signal_mask_read(mask_address, mask_bytes, &mask) : 0;

    if (error)
        return error;

    const uint64_t words[RESUME_WORDS] = { descriptor, buffer, most, deadline_ns, mask };
    return mask_address ? epoll_masked_rest(words) : epoll_rest(words);
}

long sys_epoll_pwait(uint64_t descriptor, uint64_t buffer, uint64_t most, uint64_t timeout_ms, uint64_t mask,
                     uint64_t mask_bytes)
{
    return epoll_masked(descriptor, buffer, most, deadline_of_ms((int32_t)timeout_ms), mask, mask_bytes);
}

long sys_epoll_pwait2(uint64_t descriptor, uint64_t buffer, uint64_t most, uint64_t timeout, uint64_t mask,
                      uint64_t mask_bytes)
{
    uint64_t deadline_ns;
    int error = deadline_read(timeout, &deadline_ns);

    return error ? error : epoll_masked(descriptor, buffer, most, deadline_ns, mask, mask_bytes);
}
