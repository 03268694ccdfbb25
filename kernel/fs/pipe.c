/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.c: see pipe.h. A pipe stands in memory of its process: a page that describes it, and the ring. Each
 * end is an open file; the pipe's lock guards the rest, and is held while bytes are copied, but not across a
 * wait.
 */
#include "fs/pipe.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "mm/page.h"
#include "process/process.h"
#include "syscall/syscall.h"
#include "process/event.h"

struct pipe {
    struct spinlock lock;
    bool has_reader, has_writer; /* each end, however many descriptors it has */
    uint64_t head, tail;         /* bytes ever written and read */
    char ring[PIPE_BYTES];
};

#define PIPE_MEMORY page_up(sizeof(struct pipe))

/* ---- Moving bytes; with the pipe's lock ---- */

static int ring_get(struct pipe *pipe, uint64_t buffer, uint64_t bytes)
{
    for (uint64_t done = 0, part; done < bytes; done += part) {
        uint64_t at = (pipe->tail + done) % PIPE_BYTES;

        part = bytes - done < PIPE_BYTES - at ? bytes - done : PIPE_BYTES - at;
        if (user_write(buffer + done, pipe->ring + at, part))
            return -EFAULT;
    }
    pipe->tail += bytes;
    return 0;
}

static int ring_put(struct pipe *pipe, uint64_t buffer, uint64_t bytes)
{
    for (uint64_t done = 0, part; done < bytes; done += part) {
        uint64_t at = (pipe->head + done) % PIPE_BYTES;

        part = bytes - done < PIPE_BYTES - at ? bytes - done : PIPE_BYTES - at;
        if (user_read(pipe->ring + at, buffer + done, part))
            return -EFAULT;
    }
    pipe->head += bytes;
    return 0;
}

/* -EAGAIN where it would have to wait. */
static int64_t get_some(struct pipe *pipe, uint64_t buffer, uint64_t bytes)
{
    int64_t result;

    spin_lock(&pipe->lock);
    uint64_t there = pipe->head - pipe->tail;
    uint64_t part = bytes < there ? bytes : there;
    if (part == 0)
        result = pipe->has_writer ? -EAGAIN : 0;
    else
        result = ring_get(pipe, buffer, part) ? -EFAULT : (int64_t)part;
    spin_unlock(&pipe->lock);
    if (result > 0)
        event_notify(arch_process());
    return result;
}

/* -EAGAIN where it would have to wait: what is written in one piece waits for room for all of it. */
static int64_t put_some(struct pipe *pipe, uint64_t buffer, uint64_t bytes, bool begun)
{
    int64_t result;

    spin_lock(&pipe->lock);
    uint64_t room = PIPE_BYTES - (pipe->head - pipe->tail);
    uint64_t least = bytes <= PIPE_ATOMIC_BYTES && !begun ? bytes : 1;
    uint64_t part = bytes < room ? bytes : room;
    if (!pipe->has_reader)
        result = -EPIPE;
    else if (part < least)
        result = -EAGAIN;
    else
        result = ring_put(pipe, buffer, part) ? -EFAULT : (int64_t)part;
    spin_unlock(&pipe->lock);
    if (result > 0)
        event_notify(arch_process());
    return result;
}

/* ---- The ends ---- */

/* SIGPIPE for the caller. */
static void broken_pipe_signal(void)
{
    const struct signal_info info = { .signal = SIGNAL_PIPE,
                                      .sender = { .pid = (uint32_t)arch_process()->pid } };

    signal_send_thread(arch_thread(), &info);
    thread_return_check();
}

static int64_t pipe_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)offset;
    if (bytes == 0)
        return 0;
    for (;;) {
        int64_t got = get_some(file->object, buffer, bytes);

        if (got != -EAGAIN || (file->flags & O_NONBLOCK))
            return got;
        int error = event_wait(WAIT_FOREVER);
        if (error)
            return error;
    }
}

static int64_t pipe_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t done = 0;

    (void)offset;
    while (done < bytes) {
        int64_t put = put_some(file->object, buffer + done, bytes - done, done > 0);

        if (put > 0) {
            done += (uint64_t)put;
            continue;
        }
        if (put == -EPIPE)
            broken_pipe_signal();
        if (put == -EAGAIN && !(file->flags & O_NONBLOCK))
            put = event_wait(WAIT_FOREVER);
        if (put)
            return done ? (int64_t)done : put;
    }
    return (int64_t)done;
}

static unsigned pipe_read_ready(struct file *file)
{
    struct pipe *pipe = file->object;

    spin_lock(&pipe->lock);
    unsigned ready = (pipe->head != pipe->tail ? READY_IN : 0) | (pipe->has_writer ? 0 : READY_HANG_UP);
    spin_unlock(&pipe->lock);
    return ready;
}

static unsigned pipe_write_ready(struct file *file)
{
    struct pipe *pipe = file->object;

    spin_lock(&pipe->lock);
    unsigned ready = PIPE_BYTES - (pipe->head - pipe->tail) >= PIPE_ATOMIC_BYTES ? READY_OUT : 0;
    ready |= pipe->has_reader ? 0 : READY_OUT | READY_ERROR;
    spin_unlock(&pipe->lock);
    return ready;
}

static uint64_t pipe_written(struct file *file)
{
    return __atomic_load_n(&((struct pipe *)file->object)->head, __ATOMIC_RELAXED);
}

static uint64_t pipe_taken(struct file *file)
{
    return __atomic_load_n(&((struct pipe *)file->object)->tail, __ATOMIC_RELAXED);
}

static void end_close(struct file *file, bool *end)
{
    struct pipe *pipe = file->object;

    spin_lock(&pipe->lock);
    *end = false;
    bool last = !pipe->has_reader && !pipe->has_writer;
    spin_unlock(&pipe->lock);
    event_notify(file->process);
    if (last)
        page_pool_free(file->process->vm.pages, arch_physical_of(pipe), PIPE_MEMORY);
}

static void pipe_read_release(struct file *file)
{
    end_close(file, &((struct pipe *)file->object)->has_reader);
}

static void pipe_write_release(struct file *file)
{
    end_close(file, &((struct pipe *)file->object)->has_writer);
}

static const struct file_operations read_operations = {
    .read = pipe_read,
    .ready = pipe_read_ready,
    .activity = pipe_written,
    .release = pipe_read_release,
    .waits = true,
};
static const struct file_operations write_operations = {
    .write = pipe_write,
    .ready = pipe_write_ready,
    .activity = pipe_taken,
    .release = pipe_write_release,
    .waits = true,
};

bool file_is_pipe(const struct file *file)
{
    return file->operations == &read_operations || file->operations == &write_operations;
}

uint64_t pipe_unread(struct file *file)
{
    struct pipe *pipe = file->object;

    spin_lock(&pipe->lock);
    uint64_t unread = pipe->head - pipe->tail;
    spin_unlock(&pipe->lock);
    return unread;
}

/* ---- pipe, pipe2 ---- */

static struct pipe *pipe_create(struct process *process)
{
    uint64_t memory = page_pool_allocate(process->vm.pages, PIPE_MEMORY, ARCH_PAGE);
    struct pipe *pipe = arch_physical(memory);

    if (memory == PAGE_POOL_NONE)
        return NULL;
    pipe->lock = (struct spinlock){ 0 };
    pipe->has_reader = pipe->has_writer = true;
    pipe->head = pipe->tail = 0;
    return pipe;
}

static void end_begin(struct file *file, struct pipe *pipe, bool writes, unsigned flags)
{
    file->object = pipe;
    file->operations = writes ? &write_operations : &read_operations;
    file->flags = (flags & O_NONBLOCK) | (writes ? O_WRONLY : O_RDONLY);
    file->mode = S_IFIFO | 0600;
}

/* Descriptors for both ends, told to the program; both or none. */
static int ends_install(struct process *process, struct file *const ends[2], uint64_t buffer,
                        bool close_on_exec)
{
    int descriptors[2];

    descriptors[0] = file_install(process, ends[0], 0, close_on_exec);
    if (descriptors[0] < 0)
        return descriptors[0];
    descriptors[1] = file_install(process, ends[1], 0, close_on_exec);
    if (descriptors[1] >= 0 && !user_write(buffer, descriptors, sizeof(descriptors)))
        return 0;
    file_close(process, (uint64_t)descriptors[0]);
    if (descriptors[1] < 0)
        return descriptors[1];
    file_close(process, (uint64_t)descriptors[1]);
    return -EFAULT;
}

long sys_pipe2(uint64_t buffer, uint64_t flags)
{
    struct process *process = arch_process();
    struct file *ends[2];
    struct pipe *pipe;
    int error;

    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    ends[0] = file_allocate(process);
    ends[1] = file_allocate(process);
    pipe = ends[0] && ends[1] ? pipe_create(process) : NULL;
    error = !ends[0] || !ends[1] ? -EMFILE : pipe ? 0 : -ENOMEM;
    if (!error) {
        end_begin(ends[0], pipe, false, (unsigned)flags);
        end_begin(ends[1], pipe, true, (unsigned)flags);
        error = ends_install(process, ends, buffer, flags & O_CLOEXEC);
    }
    for (unsigned i = 0; i < 2; i++)
        if (ends[i])
            file_put(ends[i]);
    return error;
}

long sys_pipe(uint64_t buffer)
{
    return sys_pipe2(buffer, 0);
}

/* ---- eventfd: a counter of its file's own, under the file's lock ---- */

#define EVENT_MAX (UINT64_MAX - 1)

static int64_t event_take(struct file *file, uint64_t *value)
{
    spin_lock(&file->lock);
    bool there = file->counter > 0;
    *value = file->device == EFD_SEMAPHORE && there ? 1 : file->counter;
    file->counter -= *value;
    file->changes += there;
    spin_unlock(&file->lock);
    if (there)
        event_notify(file->process);
    return there ? 0 : -EAGAIN;
}

static int64_t event_add(struct file *file, uint64_t value)
{
    spin_lock(&file->lock);
    bool fits = value <= EVENT_MAX - file->counter;
    file->counter += fits ? value : 0;
    file->changes += fits;
    spin_unlock(&file->lock);
    if (fits)
        event_notify(file->process);
    return fits ? 0 : -EAGAIN;
}

static int64_t event_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t value;
    int64_t error;

    (void)offset;
    if (bytes < sizeof(value))
        return -EINVAL;
    while ((error = event_take(file, &value)) != 0) {
        if (!(file->flags & O_NONBLOCK))
            error = event_wait(WAIT_FOREVER);
        if (error)
            return error;
    }
    return user_write(buffer, &value, sizeof(value)) ? -EFAULT : (int64_t)sizeof(value);
}

static int64_t event_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t value;
    int64_t error;

    (void)offset;
    if (bytes < sizeof(value))
        return -EINVAL;
    if (user_read(&value, buffer, sizeof(value)))
        return -EFAULT;
    if (value > EVENT_MAX)
        return -EINVAL;
    while ((error = event_add(file, value)) != 0) {
        if (!(file->flags & O_NONBLOCK))
            error = event_wait(WAIT_FOREVER);
        if (error)
            return error;
    }
    return (int64_t)sizeof(value);
}

static unsigned event_ready(struct file *file)
{
    spin_lock(&file->lock);
    unsigned ready = (file->counter > 0 ? READY_IN : 0) | (file->counter < EVENT_MAX ? READY_OUT : 0);
    spin_unlock(&file->lock);
    return ready;
}

static uint64_t event_activity(struct file *file)
{
    return __atomic_load_n(&file->changes, __ATOMIC_RELAXED);
}

static const struct file_operations event_operations = { .read = event_read,
                                                         .write = event_write,
                                                         .ready = event_ready,
                                                         .activity = event_activity,
                                                         .name = "anon_inode:[eventfd]",
                                                         .waits = true };

long sys_eventfd2(uint64_t value, uint64_t flags)
{
    struct process *process = arch_process();

    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | EFD_SEMAPHORE))
        return -EINVAL;

    struct file *file = file_allocate(process);
    if (!file)
        return -EMFILE;
    file->operations = &event_operations;
    file->counter = (uint32_t)value;
    file->device = flags & EFD_SEMAPHORE;
    file->flags = O_RDWR | ((unsigned)flags & O_NONBLOCK);
    file->mode = 0600;
    int result = file_install(process, file, 0, flags & O_CLOEXEC);
    file_put(file);
    return result;
}

long sys_eventfd(uint64_t value)
{
    return sys_eventfd2(value, 0);
}
