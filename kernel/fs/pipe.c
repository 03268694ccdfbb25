/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.c: see pipe.h. A pipe is allocated from the slice of the process that makes it: its state and its
 * ring. Each end is one open file, which any number of descriptors may refer to, also of other processes
 * (SCM_RIGHTS). The pipe's lock guards all of it; it is held while bytes are copied, never across a wait.
 * Runs in system calls.
 *
 * Source: man 7 pipe; where it is silent, what Linux does.
 */
#include "fs/pipe.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/event.h"
#include "process/process.h"

struct pipe {
    struct spinlock read_lock, write_lock;
    unsigned ends;       /* open */
    bool ended;          /* by the end that writes: the other one reads an end of file */
    bool unwanted;       /* by the end that reads */
    uint64_t head, tail; /* of the ring: bytes ever written and read */
    struct event_audience audience;
    char ring[RING_BYTES];
};

#define PIPE_MEMORY page_up(sizeof(struct pipe))

static struct pipe *pipe_of(const struct file *file)
{
    return file->object;
}

static bool writes(const struct file *file)
{
    return file->flags & O_WRONLY;
}

/* ---- Once, without waiting: -EAGAIN ---- */

static int64_t read_locked(struct pipe *pipe, struct user_vector *vector)
{
    bool ended = __atomic_load_n(&pipe->ended, __ATOMIC_ACQUIRE);
    uint64_t bytes = __atomic_load_n(&pipe->head, __ATOMIC_ACQUIRE) - pipe->tail;
    uint64_t part = vector->left < bytes ? vector->left : bytes;

    if (bytes == 0)
        return ended ? 0 : -EAGAIN;
    if (ring_copy(pipe->ring, pipe->tail, vector, part, true))
        return -EFAULT;
    __atomic_store_n(&pipe->tail, pipe->tail + part, __ATOMIC_RELEASE);
    return (int64_t)part;
}

static int64_t read_once(struct pipe *pipe, struct user_vector *vector)
{
    spin_lock_own(&pipe->read_lock);
    int64_t got = read_locked(pipe, vector);
    spin_unlock_own(&pipe->read_lock);
    return got;
}

/* As much as there is room for, but all of `whole` bytes or nothing. */
static int64_t write_locked(struct pipe *pipe, struct user_vector *vector, uint64_t whole)
{
    uint64_t room = RING_BYTES - (pipe->head - __atomic_load_n(&pipe->tail, __ATOMIC_ACQUIRE));
    uint64_t part = vector->left < room ? vector->left : room;

    if (__atomic_load_n(&pipe->unwanted, __ATOMIC_RELAXED))
        return -EPIPE;
    if (room < whole)
        return -EAGAIN;
    if (ring_copy(pipe->ring, pipe->head, vector, part, false))
        return -EFAULT;
    __atomic_store_n(&pipe->head, pipe->head + part, __ATOMIC_RELEASE);
    return (int64_t)part;
}

static int64_t write_once(struct pipe *pipe, struct user_vector *vector, uint64_t whole)
{
    spin_lock_own(&pipe->write_lock);
    int64_t put = write_locked(pipe, vector, whole);
    spin_unlock_own(&pipe->write_lock);
    return put;
}

/* ---- Waiting ---- */

void broken_pipe_signal(void)
{
    const struct signal_info info = { .signal = SIGNAL_PIPE,
                                      .sender = { .pid = (uint32_t)arch_process()->pid } };

    signal_send(arch_process(), arch_thread(), &info);
}

static uint64_t pipe_events(const struct file *file)
{
    return event_of(file->object);
}

/* Before a step that answered -EAGAIN is tried again. */
static int64_t step_wait(const struct file *file)
{
    if (file->flags & O_NONBLOCK)
        return -EAGAIN;
    if (event_audience_add(&pipe_of(file)->audience, file->object))
        return 0; /* what has happened before that was not notified here */
    return event_wait(pipe_events(file), WAIT_FOREVER);
}

static int64_t pipe_read(struct file *file, struct user_vector *vector)
{
    struct pipe *pipe = pipe_of(file);
    int64_t got;

    while ((got = read_once(pipe, vector)) == -EAGAIN)
        if ((got = step_wait(file)) != 0)
            return got;
    if (got > 0)
        event_audience_notify(&pipe->audience, pipe_events(file));
    return got;
}

static int64_t pipe_write(struct file *file, struct user_vector *vector)
{
    struct pipe *pipe = pipe_of(file);
    uint64_t whole = vector->left <= PIPE_ATOMIC_BYTES ? vector->left : 1;
    int64_t done = 0, put;

    do {
        put = write_once(pipe, vector, whole);
        if (put >= 0) {
            event_audience_notify(&pipe->audience, pipe_events(file));
            done += put;
            if (vector->left == 0)
                return done;
        } else if (put == -EAGAIN) {
            put = step_wait(file);
        } else if (put == -EPIPE) {
            broken_pipe_signal();
        }
    } while (put >= 0);
    return done ? done : put;
}

/* Writing nothing does nothing, whoever reads. */
static int64_t pipe_move(struct file *file, struct user_vector *vector, bool write)
{
    if (vector->left == 0)
        return 0;
    return write ? pipe_write(file, vector) : pipe_read(file, vector);
}

/* ---- As a file ---- */

static unsigned pipe_ready(struct file *file)
{
    struct pipe *pipe = pipe_of(file);

    event_audience_add(&pipe->audience, pipe);
    bool ended = __atomic_load_n(&pipe->ended, __ATOMIC_ACQUIRE);
    bool unwanted = __atomic_load_n(&pipe->unwanted, __ATOMIC_ACQUIRE);
    uint64_t unread = pipe_unread(file);
    if (!writes(file))
        return (unread > 0 ? READY_IN : 0) | (ended ? READY_HANG_UP : 0);
    return (unwanted || RING_BYTES - unread >= PIPE_ATOMIC_BYTES ? READY_OUT : 0) |
           (unwanted ? READY_ERROR : 0);
}

/* An end becomes ready when bytes are moved at the other one. */
static uint64_t pipe_activity(struct file *file)
{
    const struct pipe *pipe = pipe_of(file);

    return __atomic_load_n(writes(file) ? &pipe->tail : &pipe->head, __ATOMIC_RELAXED);
}

static void pipe_release(struct file *file)
{
    struct pipe *pipe = pipe_of(file);

    __atomic_store_n(writes(file) ? &pipe->ended : &pipe->unwanted, true, __ATOMIC_SEQ_CST);
    event_audience_notify(&pipe->audience, pipe_events(file));
    if (__atomic_sub_fetch(&pipe->ends, 1, __ATOMIC_ACQ_REL) == 0)
        page_pool_free(file->process->vm.pages, arch_physical_of(pipe), PIPE_MEMORY);
}

static const struct file_operations pipe_operations = { .move = pipe_move,
                                                        .ready = pipe_ready,
                                                        .activity = pipe_activity,
                                                        .events = pipe_events,
                                                        .release = pipe_release,
                                                        .waits = true,
                                                        .travels = true };

bool file_is_pipe(const struct file *file)
{
    return file->operations == &pipe_operations;
}

/* The tail first: it never passes the head. */
uint64_t pipe_unread(struct file *file)
{
    struct pipe *pipe = pipe_of(file);
    uint64_t tail = __atomic_load_n(&pipe->tail, __ATOMIC_ACQUIRE);
    uint64_t unread = __atomic_load_n(&pipe->head, __ATOMIC_ACQUIRE) - tail;

    return unread < RING_BYTES ? unread : RING_BYTES;
}

int pipe_create(struct process *process, unsigned flags, struct file *ends[2])
{
    int error = files_allocate(process, ends);

    if (error)
        return error;
    uint64_t memory = page_pool_allocate(process->vm.pages, PIPE_MEMORY, ARCH_PAGE);
    if (memory == PAGE_POOL_NONE) {
        file_put(ends[0]);
        file_put(ends[1]);
        return -ENOMEM;
    }
    struct pipe *pipe = arch_physical(memory);
    memset(pipe, 0, offsetof(struct pipe, ring));
    pipe->ends = 2;
    event_audience_add(&pipe->audience, pipe);
    for (unsigned end = 0; end < 2; end++) {
        ends[end]->operations = &pipe_operations;
        ends[end]->object = pipe;
        ends[end]->flags = (end ? O_WRONLY : O_RDONLY) | (flags & O_NONBLOCK);
        ends[end]->mode = S_IFIFO | 0600;
    }
    return 0;
}
