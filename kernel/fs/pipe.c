/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.c: see pipe.h. A pipe is allocated from its process's slice: its state and the ring of bytes. Each end
 * is one open file, which any number of descriptors may refer to. The pipe's lock guards all of it; it is
 * held while bytes are copied, which delays threads of the same process only, but never across a wait. Runs
 * in system calls.
 */
#include "fs/pipe.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/user_vector.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/process.h"
#include "process/event.h"

struct pipe {
    struct spinlock lock;
    bool has_reader, has_writer; /* whether that end is still open */
    uint64_t head, tail;         /* bytes ever written and read */
    char ring[PIPE_BYTES];
};

#define PIPE_MEMORY page_up(sizeof(struct pipe))

/* ---- Moving bytes ---- */

int ring_copy(char *ring, uint64_t position, struct user_vector *vector, uint64_t bytes, bool to_program)
{
    uint64_t at = position % PIPE_BYTES, first = bytes < PIPE_BYTES - at ? bytes : PIPE_BYTES - at;
    int error = user_vector_copy(vector, ring + at, first, to_program);

    return error || first == bytes ? error : user_vector_copy(vector, ring, bytes - first, to_program);
}

/* Reads once, without waiting: -EAGAIN where the pipe is empty. */
static int64_t read_available(struct pipe *pipe, struct user_vector *vector)
{
    int64_t result;

    spin_lock(&pipe->lock);
    uint64_t available = pipe->head - pipe->tail;
    uint64_t part = vector->left < available ? vector->left : available;
    if (part == 0)
        result = pipe->has_writer ? -EAGAIN : 0;
    else
        result = ring_copy(pipe->ring, pipe->tail, vector, part, true) ? -EFAULT : (int64_t)part;
    pipe->tail += result > 0 ? part : 0;
    spin_unlock(&pipe->lock);
    if (result > 0)
        event_notify(arch_process());
    return result;
}

/* Writes once, without waiting: -EAGAIN where there is no room for `minimum` bytes. */
static int64_t write_fitting(struct pipe *pipe, struct user_vector *vector, uint64_t minimum)
{
    int64_t result;

    spin_lock(&pipe->lock);
    uint64_t room = PIPE_BYTES - (pipe->head - pipe->tail);
    uint64_t part = vector->left < room ? vector->left : room;
    if (!pipe->has_reader)
        result = -EPIPE;
    else if (part < minimum)
        result = -EAGAIN;
    else
        result = ring_copy(pipe->ring, pipe->head, vector, part, false) ? -EFAULT : (int64_t)part;
    pipe->head += result > 0 ? part : 0;
    spin_unlock(&pipe->lock);
    if (result > 0)
        event_notify(arch_process());
    return result;
}

/* ---- The two ends ---- */

void broken_pipe_signal(void)
{
    const struct signal_info info = { .signal = SIGNAL_PIPE,
                                      .sender = { .pid = (uint32_t)arch_process()->pid } };

    signal_send(arch_process(), arch_thread(), &info);
    thread_return_check();
}

static int64_t pipe_read(struct file *file, struct user_vector *vector)
{
    if (vector->left == 0)
        return 0;
    for (;;) {
        int64_t got = read_available(file->object, vector);

        if (got != -EAGAIN || (file->flags & O_NONBLOCK))
            return got;
        int error = event_wait(WAIT_FOREVER);
        if (error)
            return error;
    }
}

static int64_t pipe_write(struct file *file, struct user_vector *vector)
{
    uint64_t minimum = vector->left <= PIPE_ATOMIC_BYTES ? vector->left : 1;
    int64_t done = 0;

    while (vector->left > 0) {
        int64_t put = write_fitting(file->object, vector, minimum);

        if (put > 0) {
            done += put;
            continue;
        }
        if (put == -EPIPE)
            broken_pipe_signal();
        if (put == -EAGAIN && !(file->flags & O_NONBLOCK))
            put = event_wait(WAIT_FOREVER);
        if (put)
            return done ? done : put;
    }
    return done;
}

static int64_t pipe_move(struct file *file, struct user_vector *vector, bool write)
{
    return write ? pipe_write(file, vector) : pipe_read(file, vector);
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

/* Whether an open file is the end that reads. */
static bool reads(const struct file *file)
{
    return file->operations->ready == pipe_read_ready;
}

/* An end becomes ready when bytes are moved at the other one. */
static uint64_t pipe_activity(struct file *file)
{
    struct pipe *pipe = file->object;

    return __atomic_load_n(reads(file) ? &pipe->head : &pipe->tail, __ATOMIC_RELAXED);
}

static void pipe_release(struct file *file)
{
    struct pipe *pipe = file->object;

    spin_lock(&pipe->lock);
    *(reads(file) ? &pipe->has_reader : &pipe->has_writer) = false;
    bool last = !pipe->has_reader && !pipe->has_writer;
    spin_unlock(&pipe->lock);
    event_notify(file->process);
    if (last)
        page_pool_free(file->process->vm.pages, arch_physical_of(pipe), PIPE_MEMORY);
}

static const struct file_operations read_operations = {
    .move = pipe_move,
    .ready = pipe_read_ready,
    .activity = pipe_activity,
    .release = pipe_release,
    .waits = true,
};
static const struct file_operations write_operations = {
    .move = pipe_move,
    .ready = pipe_write_ready,
    .activity = pipe_activity,
    .release = pipe_release,
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

/* ---- Creation ---- */

static struct pipe *pipe_allocate(struct process *process)
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

static void end_initialise(struct file *file, struct pipe *pipe, bool writes, unsigned flags)
{
    file->object = pipe;
    file->operations = writes ? &write_operations : &read_operations;
    file->flags = (flags & O_NONBLOCK) | (writes ? O_WRONLY : O_RDONLY);
    file->mode = S_IFIFO | 0600;
}

int pipe_create(struct process *process, unsigned flags, struct file *ends[2])
{
    int error = files_allocate(process, ends);
    struct pipe *pipe = error ? NULL : pipe_allocate(process);

    if (pipe) {
        end_initialise(ends[0], pipe, false, flags);
        end_initialise(ends[1], pipe, true, flags);
    } else if (!error) {
        file_put(ends[0]);
        file_put(ends[1]);
        error = -ENOMEM;
    }
    return error;
}
