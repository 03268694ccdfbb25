/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_pair.c: see socket_pair.h. A pair is allocated from its process's slice: its state and a ring for
 * each direction, as pipe.c's. In that of a stream are bytes; in the others messages, each after a word that
 * counts its bytes, padded to words. The pair's lock guards all of it; it is held while bytes are copied,
 * which delays threads of the same process only, but never across a wait. Runs in system calls.
 *
 * Source: man 7 unix, man 2 send, recv, shutdown; where they are silent, what Linux does.
 */
#include "fs/socket_pair.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/pipe.h"
#include "fs/user_vector.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "process/event.h"
#include "process/process.h"

_Static_assert(SOCKET_BYTES == PIPE_BYTES, "ring_copy's size");

struct direction {
    uint64_t head, tail; /* of the ring: bytes ever sent and received */
    uint64_t unread;     /* bytes of the program's in it */
    bool ended;          /* by the end that sends: the other one reads an end of file */
    bool unwanted;       /* by the end that receives */
    char ring[SOCKET_BYTES];
};

struct socket_pair {
    struct spinlock lock;
    enum socket_type type;
    unsigned open;    /* how many ends */
    uint64_t changes; /* of any kind */
    int errors[2];    /* pending, of either end */
    struct direction to[2];
};

#define PAIR_MEMORY page_up(sizeof(struct socket_pair))

static uint64_t message_bytes(uint64_t bytes)
{
    return sizeof(uint32_t) + ((bytes + 3) & ~3ULL);
}

static uint32_t *message_length(struct direction *direction, uint64_t position)
{
    return (uint32_t *)(void *)(direction->ring + position % SOCKET_BYTES);
}

/* ---- Once, without waiting: -EAGAIN ---- */

static int64_t receive_once(struct socket_pair *pair, unsigned end, struct user_vector *vector,
                            unsigned flags, bool *truncated)
{
    struct direction *from = &pair->to[end];
    bool messages = pair->type != SOCKET_STREAM;

    SPIN_GUARD(&pair->lock);
    uint64_t bytes = from->head - from->tail;
    if (bytes == 0) {
        int error = pair->errors[end];

        pair->errors[end] = 0;
        return error ? error : from->ended || from->unwanted ? 0 : -EAGAIN;
    }
    if (messages)
        bytes = *message_length(from, from->tail);
    uint64_t part = vector->left < bytes ? vector->left : bytes;
    if (ring_copy(from->ring, from->tail + (messages ? sizeof(uint32_t) : 0), vector, part, true))
        return -EFAULT;
    if (!(flags & MSG_PEEK)) {
        from->tail += messages ? message_bytes(bytes) : part;
        from->unread -= messages ? bytes : part;
    }
    pair->changes++;
    *truncated = messages && part < bytes;
    return (int64_t)(*truncated && (flags & MSG_TRUNC) ? bytes : part);
}

static int64_t send_once(struct socket_pair *pair, unsigned end, struct user_vector *vector)
{
    struct direction *into = &pair->to[!end];
    bool messages = pair->type != SOCKET_STREAM;
    uint64_t part = vector->left;

    SPIN_GUARD(&pair->lock);
    uint64_t room = SOCKET_BYTES - (into->head - into->tail);
    if (into->ended || into->unwanted)
        return -EPIPE;
    if (pair->open < 2)
        return -ECONNREFUSED;
    if (messages && message_bytes(part) > SOCKET_BYTES)
        return -EMSGSIZE;
    if (messages ? message_bytes(part) > room : part > 0 && room == 0)
        return -EAGAIN;
    if (!messages && part > room)
        part = room;
    if (ring_copy(into->ring, into->head + (messages ? sizeof(uint32_t) : 0), vector, part, false))
        return -EFAULT;
    if (messages)
        *message_length(into, into->head) = (uint32_t)part;
    into->head += messages ? message_bytes(part) : part;
    into->unread += part;
    pair->changes++;
    return (int64_t)part;
}

/* ---- Waiting ---- */

/* Before a step that answered -EAGAIN is tried again. */
static int64_t step_wait(const struct file *file, unsigned flags)
{
    return (file->flags & O_NONBLOCK) || (flags & MSG_DONTWAIT) ? -EAGAIN : event_wait(WAIT_FOREVER);
}

int64_t socket_receive(struct file *file, struct user_vector *vector, unsigned flags, bool *truncated)
{
    struct socket_pair *pair = file->socket.pair;
    bool all = (flags & MSG_WAITALL) && !(flags & MSG_PEEK) && pair->type == SOCKET_STREAM;
    int64_t done = 0, got;

    *truncated = false;
    if (vector->left == 0 && pair->type == SOCKET_STREAM)
        return 0;
    do {
        got = receive_once(pair, file->socket.end, vector, flags, truncated);
        if (got > 0)
            event_notify(file->process);
        done += got > 0 ? got : 0;
        if (got >= 0 && (!all || got == 0 || vector->left == 0))
            return done;
        if (got == -EAGAIN)
            got = step_wait(file, flags);
    } while (got >= 0);
    return done ? done : got;
}

int64_t socket_send(struct file *file, struct user_vector *vector, unsigned flags)
{
    struct socket_pair *pair = file->socket.pair;
    int64_t done = 0, put;

    do {
        put = send_once(pair, file->socket.end, vector);
        if (put >= 0) {
            event_notify(file->process);
            done += put;
            if (vector->left == 0)
                return done;
        }
        if (put == -EPIPE && done == 0 && pair->type == SOCKET_STREAM && !(flags & MSG_NOSIGNAL))
            broken_pipe_signal();
        if (put == -EAGAIN)
            put = step_wait(file, flags);
    } while (put >= 0);
    return done ? done : put;
}

/* ---- As a file ---- */

static int64_t socket_move(struct file *file, struct user_vector *vector, bool write)
{
    bool truncated;

    if (write)
        return socket_send(file, vector, 0);
    return vector->left > 0 ? socket_receive(file, vector, 0, &truncated) : 0;
}

/* As Linux, that takes more only once three quarters have been received. */
static unsigned socket_ready(struct file *file)
{
    struct socket_pair *pair = file->socket.pair;
    unsigned end = file->socket.end;
    const struct direction *in = &pair->to[end], *out = &pair->to[!end];

    SPIN_GUARD(&pair->lock);
    bool no_more = in->ended || in->unwanted, sends = !out->ended && !out->unwanted;
    return (in->head != in->tail || no_more ? READY_IN : 0) | (no_more && !sends ? READY_HANG_UP : 0) |
           (out->head - out->tail <= SOCKET_BYTES / 4 ? READY_OUT : 0) |
           (pair->errors[end] ? READY_ERROR : 0);
}

static uint64_t socket_activity(struct file *file)
{
    return __atomic_load_n(&file->socket.pair->changes, __ATOMIC_RELAXED);
}

/* With the pair's lock. */
static void end_shut(struct socket_pair *pair, unsigned end, bool receiving, bool sending)
{
    pair->to[end].unwanted |= receiving;
    pair->to[!end].ended |= sending;
    pair->changes++;
}

void socket_shut(struct file *file, bool receiving, bool sending)
{
    struct socket_pair *pair = file->socket.pair;

    spin_lock(&pair->lock);
    end_shut(pair, file->socket.end, receiving, sending);
    spin_unlock(&pair->lock);
    event_notify(file->process);
}

/* Datagrams know no end of file: who waits for one at the other end learns nothing. */
static void socket_release(struct file *file)
{
    struct socket_pair *pair = file->socket.pair;
    const struct direction *in = &pair->to[file->socket.end];

    spin_lock(&pair->lock);
    bool connected = pair->type != SOCKET_DATAGRAM, last = --pair->open == 0;
    if (connected && in->head != in->tail)
        pair->errors[!file->socket.end] = -ECONNRESET; /* what that end has sent is lost */
    end_shut(pair, file->socket.end, connected, connected);
    spin_unlock(&pair->lock);
    event_notify(file->process);
    if (last)
        page_pool_free(file->process->vm.pages, arch_physical_of(pair), PAIR_MEMORY);
}

static const struct file_operations socket_operations = { .move = socket_move,
                                                          .ready = socket_ready,
                                                          .activity = socket_activity,
                                                          .release = socket_release,
                                                          .waits = true };

bool file_is_socket(const struct file *file)
{
    return file->operations == &socket_operations;
}

enum socket_type socket_type(const struct file *file)
{
    return file->socket.pair->type;
}

int socket_error_take(struct file *file)
{
    return __atomic_exchange_n(&file->socket.pair->errors[file->socket.end], 0, __ATOMIC_RELAXED);
}

uint64_t socket_unread(struct file *file)
{
    struct socket_pair *pair = file->socket.pair;
    struct direction *from = &pair->to[file->socket.end];

    SPIN_GUARD(&pair->lock);
    bool first = pair->type == SOCKET_DATAGRAM && from->head != from->tail;
    return first ? *message_length(from, from->tail) : from->unread;
}

/* ---- Creation ---- */

int socket_pair_create(struct process *process, enum socket_type type, unsigned flags, struct file *ends[2])
{
    int error = files_allocate(process, ends);

    if (error)
        return error;
    uint64_t memory = page_pool_allocate(process->vm.pages, PAIR_MEMORY, ARCH_PAGE);
    struct socket_pair *pair = arch_physical(memory);
    if (memory == PAGE_POOL_NONE) {
        file_put(ends[0]);
        file_put(ends[1]);
        return -ENOMEM;
    }
    pair->lock = (struct spinlock){ 0 };
    pair->type = type;
    pair->open = 2;
    pair->changes = 0;
    for (unsigned end = 0; end < 2; end++) {
        struct direction *to = &pair->to[end];

        pair->errors[end] = 0;
        to->head = to->tail = to->unread = 0;
        to->ended = to->unwanted = false;
        ends[end]->operations = &socket_operations;
        ends[end]->socket.pair = pair;
        ends[end]->socket.end = end;
        ends[end]->flags = O_RDWR | (flags & O_NONBLOCK);
        ends[end]->mode = S_IFSOCK | 0777;
    }
    return 0;
}
