/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.c: pipes. A pipe is a ring of bytes as streams of AF_UNIX have (unix_socket.h), in memory of the
 * slice of the process that makes it. Each end is one open file. Any number of descriptors may refer to it,
 * also of other processes (SCM_RIGHTS). The locks of the ring's ends are held while bytes are copied, never
 * across a wait. Runs in system calls.
 *
 * Source: man 7 pipe; where it is silent, what Linux does.
 */
#include "fs/linux_files.h"
#include "fs/unix_socket.h"
#include "lib/errno.h"
#include "process/event.h"
#include "process/process.h"

#define PIPE_ATOMIC_BYTES 4096 /* PIPE_BUF: writes of up to this many bytes are atomic */

static bool writes(const struct file *file)
{
    return file->flags & O_WRONLY;
}

void caller_signal(int signal)
{
    const struct signal_info info = { .signal = signal, .sender = { .pid = (uint32_t)arch_process()->pid } };

    signal_send(arch_process(), arch_thread(), &info, NULL);
}

static int64_t pipe_read(struct file *file, struct user_vector *vector)
{
    struct unix_ring *ring = file->object;
    int64_t got;

    while ((got = unix_bytes_receive(ring, vector)) == -EAGAIN)
        if ((got = unix_wait(file, 0, &ring->audience, ring, WAIT_FOREVER)) != 0)
            return got;
    if (got > 0)
        unix_ring_notify(ring);
    return got;
}

/* Reads or writes. Writing no bytes does nothing, even if no process reads. */
static int64_t pipe_move(struct file *file, struct user_vector *vector, bool write)
{
    if (vector->left == 0)
        return 0;
    return write ? unix_pipe_write(file, vector, PIPE_ATOMIC_BYTES) : pipe_read(file, vector);
}

/* ---- As a file ---- */

static unsigned pipe_ready(struct file *file)
{
    struct unix_ring *ring = file->object;

    event_audience_add(&ring->audience, ring);
    bool ended = __atomic_load_n(&ring->ended, __ATOMIC_ACQUIRE);
    bool unwanted = __atomic_load_n(&ring->unwanted, __ATOMIC_ACQUIRE);
    int32_t unread = pipe_unread(file);
    if (!writes(file))
        return (unread > 0 ? READY_IN : 0) | (ended ? READY_HANG_UP : 0);
    return (unwanted || RING_BYTES - unread >= PIPE_ATOMIC_BYTES ? READY_OUT : 0) |
           (unwanted ? READY_ERROR : 0);
}

/* Counts the bytes that were moved at the other end: that makes this end ready. */
static uint64_t pipe_activity(struct file *file)
{
    const struct unix_ring *ring = file->object;

    return __atomic_load_n(writes(file) ? &ring->tail : &ring->head, __ATOMIC_RELAXED);
}

static uint64_t pipe_events(const struct file *file)
{
    return event_of(file->object);
}

static void pipe_release(struct file *file)
{
    if (writes(file))
        unix_ring_end(file->object);
    else
        unix_ring_unwant(file->object, true, false);
    unix_ring_put(file->object);
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

int32_t pipe_unread(struct file *file)
{
    return unix_unread(file->object, SOCK_STREAM);
}

int pipe_create(struct file *const ends[2], unsigned flags)
{
    struct unix_ring *ring = unix_ring_create(false);

    if (!ring)
        return -ENOMEM;
    unix_ring_get(ring); /* each end has a reference */
    for (unsigned end = 0; end < 2; end++) {
        ends[end]->operations = &pipe_operations;
        ends[end]->object = ring;
        ends[end]->flags = (end ? O_WRONLY : O_RDONLY) | (flags & O_NONBLOCK);
        ends[end]->mode = S_IFIFO | 0600;
    }
    return 0;
}
