/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pipe.c: pipes and FIFOs. A pipe is a ring of bytes as streams of AF_UNIX have (unix_socket.h), in memory of
 * the slice of the process that makes it. Each end is one open file. Any number of descriptors may refer to
 * it, also of other processes (SCM_RIGHTS). The locks of the ring's ends are held while bytes are copied,
 * never across a wait. Runs in system calls.
 *
 * A FIFO's inode has such a ring, of the process that opens it first, for as long as it is open at all. Any
 * number of files may be open at either end. The tree's lock guards which ring the inode has, and that a file
 * counts in it.
 *
 * Source: man 7 pipe, fifo; where they are silent, what Linux does.
 */
#include "fs/linux_files.h"
#include "fs/unix_socket.h"
#include "lib/errno.h"
#include "process/event.h"
#include "process/process.h"

#define PIPE_ATOMIC_BYTES 4096 /* PIPE_BUF: writes of up to this many bytes are atomic */

static bool reads(const struct file *file)
{
    return (file->flags & O_ACCMODE) != O_WRONLY;
}

static bool writes(const struct file *file)
{
    return (file->flags & O_ACCMODE) != O_RDONLY;
}

void caller_signal(int signal)
{
    const struct signal_info info = { .signal = signal, .sender = { .pid = (uint32_t)arch_process()->pid } };

    signal_send(arch_process(), arch_thread(), &info, NULL);
}

/* Reads or writes. Writing no bytes does nothing, even if no process reads. */
static int64_t pipe_move(struct file *file, struct user_vector *vector, bool write)
{
    if (vector->left == 0)
        return 0;
    return write ? unix_pipe_write(file, vector, PIPE_ATOMIC_BYTES) : unix_pipe_read(file, vector);
}

/* ---- As a file ---- */

static unsigned pipe_ready(struct file *file)
{
    struct unix_ring *ring = file->object;
    unsigned ready = 0;

    event_audience_add(&ring->audience, ring);
    bool ended = __atomic_load_n(&ring->ended, __ATOMIC_ACQUIRE);
    bool unwanted = __atomic_load_n(&ring->unwanted, __ATOMIC_ACQUIRE);
    int32_t unread = pipe_unread(file);
    if (reads(file)) /* a FIFO that no writer has opened since this file was has not ended */
        ready |= (unread > 0 ? READY_IN : 0) |
                 (ended && ring->writers_ever != (uint32_t)file->offset ? READY_HANG_UP : 0);
    if (writes(file))
        ready |= (unwanted || RING_BYTES - unread >= PIPE_ATOMIC_BYTES ? READY_OUT : 0) |
                 (unwanted ? READY_ERROR : 0);
    return ready;
}

/* Counts the bytes that were moved at the other end: that makes this end ready. */
static uint64_t pipe_activity(struct file *file)
{
    const struct unix_ring *ring = file->object;

    return (reads(file) ? __atomic_load_n(&ring->head, __ATOMIC_RELAXED) : 0) +
           (writes(file) ? __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) : 0);
}

static uint64_t pipe_events(const struct file *file)
{
    return event_of(file->object);
}

/* Counts a file as open, at each end that it has, or (-1) no longer. Returns whether none is open then. */
static bool file_count(struct unix_ring *ring, const struct file *file, int change)
{
    unsigned by = (unsigned)change;

    SPIN_GUARD(&ring->lock);
    ring->readers += reads(file) ? by : 0;
    ring->writers += writes(file) ? by : 0;
    ring->readers_ever += reads(file) && change > 0;
    ring->writers_ever += writes(file) && change > 0;
    __atomic_store_n(&ring->ended, ring->writers == 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ring->unwanted, ring->readers == 0, __ATOMIC_SEQ_CST);
    return ring->readers + ring->writers == 0;
}

/* Counts a FIFO's file as closed; the inode loses its ring after the last one. */
static void fifo_leave(struct file *file)
{
    struct spinlock *lock = &file->process->tree->lock;

    spin_lock(lock);
    bool was_last = file_count(file->object, file, -1);
    if (was_last)
        file->inode->data = NULL;
    spin_unlock(lock);
    if (was_last)
        unix_ring_put(file->object);
}

static void pipe_release(struct file *file)
{
    if (file->inode)
        fifo_leave(file);
    else
        file_count(file->object, file, -1);
    unix_ring_notify(file->object);
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
    return unix_unread(file->object);
}

int pipe_create(struct file *const ends[2], unsigned flags)
{
    struct unix_ring *ring = unix_ring_create(SOCK_STREAM);

    if (!ring)
        return -ENOMEM;
    unix_ring_get(ring); /* each end has a reference */
    for (unsigned end = 0; end < 2; end++) {
        ends[end]->operations = &pipe_operations;
        ends[end]->object = ring;
        ends[end]->flags = (end ? O_WRONLY : O_RDONLY) | (flags & O_NONBLOCK);
        ends[end]->mode = S_IFIFO | 0600;
        file_count(ring, ends[end], 1);
    }
    return 0;
}

/* ---- FIFOs ---- */

/* Gives the file the inode's ring, which is `made` if it has none yet, and counts it there. Returns -ENXIO if
 * it only writes, must not wait, and none reads. */
static int fifo_join(struct file *file, struct unix_ring *made)
{
    struct inode *inode = file->inode;

    SPIN_GUARD(&file->process->tree->lock);
    struct unix_ring *ring = inode->data ? (struct unix_ring *)(uintptr_t)inode->data : made;
    if (!reads(file) && (file->flags & O_NONBLOCK) && ring->readers == 0)
        return -ENXIO;
    if (ring == made)
        inode->data = unix_ring_get(ring);
    file->object = unix_ring_get(ring);
    file->offset = reads(file) ? ring->writers_ever : ring->readers_ever;
    file_count(ring, file, 1);
    return 0;
}

/* Waits until the other end has been opened, perhaps only for a while. -EINTR. */
static int partner_wait(struct file *file)
{
    struct unix_ring *ring = file->object;
    const unsigned *there = reads(file) ? &ring->writers : &ring->readers;
    const uint32_t *ever = reads(file) ? &ring->writers_ever : &ring->readers_ever;
    int error = 0;

    while (!error && !__atomic_load_n(there, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(ever, __ATOMIC_ACQUIRE) == (uint32_t)file->offset)
        error = unix_wait(file, 0, &ring->audience, ring, WAIT_FOREVER);
    return error;
}

int fifo_open(struct file *file)
{
    struct unix_ring *made = unix_ring_create(SOCK_STREAM);
    int error = made ? fifo_join(file, made) : -ENOMEM;

    unix_ring_put(made);
    if (error)
        return error;
    unix_ring_notify(file->object);
    if ((reads(file) && writes(file)) || (file->flags & O_NONBLOCK) || !(error = partner_wait(file)))
        file->operations = &pipe_operations;
    else
        pipe_release(file);
    return error;
}
