/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_pair.c: see socket_pair.h: pairs of sockets, and pipes, which are pairs of one direction.
 * A pair is allocated from its process's slice: its state and a ring for each direction. In that of a stream
 * are bytes; in the others messages, each after a word that counts its bytes, padded to words. Each end is
 * one open file, which any number of descriptors may refer to. The pair's lock guards all of it; it is held
 * while bytes are copied, which delays threads of the same process only, but never across a wait. Runs in
 * system calls.
 *
 * Source: man 7 pipe, man 7 unix, man 2 send, recv, shutdown; where they are silent, what Linux does.
 */
#include "fs/socket_pair.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/user_vector.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/event.h"
#include "process/process.h"
#include "time/clock.h"
#include "time/timespec.h"

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
    unsigned open; /* how many ends */
    int errors[2]; /* pending, of either end */
    struct socket_options options[2];
    struct direction to[2]; /* what either end receives; of a pipe only the first, whose memory ends there */
};

static uint64_t pair_memory(enum socket_type type)
{
    return page_up(type == SOCKET_PIPE ? offsetof(struct socket_pair, to[1]) : sizeof(struct socket_pair));
}

static uint64_t message_bytes(uint64_t bytes)
{
    return sizeof(uint32_t) + ((bytes + 3) & ~3ULL);
}

static uint32_t *message_length(struct direction *direction, uint64_t position)
{
    return (uint32_t *)(void *)(direction->ring + position % SOCKET_BYTES);
}

/* ---- Once, without waiting: -EAGAIN ---- */

/* Copies between a ring, from a position on, and the program. */
static int ring_copy(char *ring, uint64_t position, struct user_vector *vector, uint64_t bytes,
                     bool to_program)
{
    uint64_t at = position % SOCKET_BYTES, first = bytes < SOCKET_BYTES - at ? bytes : SOCKET_BYTES - at;
    int error = user_vector_copy(vector, ring + at, first, to_program);

    return error || first == bytes ? error : user_vector_copy(vector, ring, bytes - first, to_program);
}

static bool has_messages(const struct socket_pair *pair)
{
    return pair->type == SOCKET_DATAGRAM || pair->type == SOCKET_PACKETS;
}

static int64_t receive_once(struct socket_pair *pair, unsigned end, struct user_vector *vector,
                            unsigned flags, bool *truncated)
{
    struct direction *from = &pair->to[end];
    bool messages = has_messages(pair);

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
    *truncated = messages && part < bytes;
    return (int64_t)(*truncated && (flags & MSG_TRUNC) ? bytes : part);
}

/* Of a stream as much as there is room for, but all of `whole` bytes or nothing. */
static int64_t send_once(struct socket_pair *pair, unsigned end, struct user_vector *vector, uint64_t whole)
{
    struct direction *into = &pair->to[!end];
    bool messages = has_messages(pair);
    uint64_t part = vector->left;

    SPIN_GUARD(&pair->lock);
    uint64_t room = SOCKET_BYTES - (into->head - into->tail);
    if (into->ended || into->unwanted)
        return -EPIPE;
    if (pair->open < 2)
        return -ECONNREFUSED;
    if (messages && message_bytes(part) > SOCKET_BYTES)
        return -EMSGSIZE;
    if (messages ? message_bytes(part) > room : room < whole)
        return -EAGAIN;
    if (!messages && part > room)
        part = room;
    if (ring_copy(into->ring, into->head + (messages ? sizeof(uint32_t) : 0), vector, part, false))
        return -EFAULT;
    if (messages)
        *message_length(into, into->head) = (uint32_t)part;
    into->head += messages ? message_bytes(part) : part;
    into->unread += part;
    return (int64_t)part;
}

/* ---- Waiting ---- */

/* Sends SIGPIPE to the calling thread. */
static void broken_pipe_signal(void)
{
    const struct signal_info info = { .signal = SIGNAL_PIPE,
                                      .sender = { .pid = (uint32_t)arch_process()->pid } };

    signal_send(arch_process(), arch_thread(), &info);
    thread_return_check();
}

/* Whatever happens to one of its directions. */
static uint64_t socket_events(const struct file *file)
{
    return event_of(file->socket.pair);
}

static uint64_t wait_deadline(const uint64_t *limit_ns)
{
    uint64_t limit = __atomic_load_n(limit_ns, __ATOMIC_RELAXED);

    return limit ? time_add(clock_now_ns(), limit) : WAIT_FOREVER;
}

/* Before a step that answered -EAGAIN is tried again. A call with a time limit does not start again. */
static int64_t step_wait(const struct file *file, unsigned flags, uint64_t deadline_ns)
{
    if ((file->flags & O_NONBLOCK) || (flags & MSG_DONTWAIT))
        return -EAGAIN;
    if (deadline_ns == WAIT_FOREVER)
        return event_wait(socket_events(file), deadline_ns);
    if (clock_now_ns() >= deadline_ns)
        return -EAGAIN;
    return event_wait(socket_events(file), deadline_ns) ? -ERESTARTNOHAND : 0;
}

int64_t socket_receive(struct file *file, struct user_vector *vector, unsigned flags, bool *truncated)
{
    struct socket_pair *pair = file->socket.pair;
    bool all = (flags & MSG_WAITALL) && !(flags & MSG_PEEK) && !has_messages(pair);
    uint64_t deadline_ns = wait_deadline(&pair->options[file->socket.end].receive_limit_ns);
    int64_t done = 0, got;

    *truncated = false;
    if (vector->left == 0 && !has_messages(pair))
        return 0;
    do {
        got = receive_once(pair, file->socket.end, vector, flags, truncated);
        if (got > 0)
            event_notify(file->process, socket_events(file));
        done += got > 0 ? got : 0;
        if (got >= 0 && (!all || got == 0 || vector->left == 0))
            return done;
        if (got == -EAGAIN)
            got = step_wait(file, flags, deadline_ns);
    } while (got >= 0);
    return done ? done : got;
}

int64_t socket_send(struct file *file, struct user_vector *vector, unsigned flags)
{
    struct socket_pair *pair = file->socket.pair;
    bool atomic = pair->type == SOCKET_PIPE && vector->left <= PIPE_ATOMIC_BYTES;
    uint64_t whole = atomic ? vector->left : vector->left > 0, deadline_ns = 0;
    const uint64_t *limit_ns = &pair->options[file->socket.end].send_limit_ns;
    int64_t done = 0, put;

    do {
        put = send_once(pair, file->socket.end, vector, whole);
        if (put >= 0) {
            event_notify(file->process, socket_events(file));
            done += put;
            deadline_ns = 0; /* the time limit is of the next wait, not of all */
            if (vector->left == 0)
                return done;
        }
        if (put == -EPIPE && !has_messages(pair) && !(flags & MSG_NOSIGNAL))
            broken_pipe_signal();
        if (put == -EAGAIN) {
            deadline_ns = deadline_ns ? deadline_ns : wait_deadline(limit_ns);
            put = step_wait(file, flags, deadline_ns);
        }
    } while (put >= 0);
    return done ? done : put;
}

/* ---- As a file ---- */

static int64_t socket_move(struct file *file, struct user_vector *vector, bool write)
{
    bool truncated;

    if (write) /* of nothing sends an empty message, but nothing to a pipe, whoever reads */
        return vector->left == 0 && file_is_pipe(file) ? 0 : socket_send(file, vector, 0);
    return vector->left > 0 ? socket_receive(file, vector, 0, &truncated) : 0;
}

static unsigned pipe_ready(struct file *file)
{
    struct socket_pair *pair = file->socket.pair;
    const struct direction *pipe = &pair->to[0];
    uint64_t unread;

    SPIN_GUARD(&pair->lock);
    unread = pipe->head - pipe->tail;
    if (file->socket.end == 0)
        return (unread > 0 ? READY_IN : 0) | (pipe->ended ? READY_HANG_UP : 0);
    return (pipe->unwanted || SOCKET_BYTES - unread >= PIPE_ATOMIC_BYTES ? READY_OUT : 0) |
           (pipe->unwanted ? READY_ERROR : 0);
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

/* An end becomes ready when bytes are moved at the other one, or a direction ends. */
static uint64_t pipe_activity(struct file *file)
{
    const struct direction *pipe = &file->socket.pair->to[0];

    return __atomic_load_n(file->socket.end ? &pipe->tail : &pipe->head, __ATOMIC_RELAXED);
}

static uint64_t socket_activity(struct file *file)
{
    const struct socket_pair *pair = file->socket.pair;
    const struct direction *in = &pair->to[file->socket.end], *out = &pair->to[!file->socket.end];

    return __atomic_load_n(&in->head, __ATOMIC_RELAXED) + __atomic_load_n(&out->tail, __ATOMIC_RELAXED) +
           in->ended + out->unwanted;
}

/* With the pair's lock. */
static void end_shut(struct socket_pair *pair, unsigned end, bool receiving, bool sending)
{
    if (receiving)
        pair->to[end].unwanted = true;
    if (sending)
        pair->to[!end].ended = true;
}

void socket_shut(struct file *file, bool receiving, bool sending)
{
    struct socket_pair *pair = file->socket.pair;

    spin_lock(&pair->lock);
    end_shut(pair, file->socket.end, receiving, sending);
    spin_unlock(&pair->lock);
    event_notify(file->process, socket_events(file));
}

/* Datagrams know no end of file: who waits for one at the other end learns nothing. */
static void socket_release(struct file *file)
{
    struct socket_pair *pair = file->socket.pair;
    unsigned end = file->socket.end;
    bool pipe = pair->type == SOCKET_PIPE, connected = pair->type != SOCKET_DATAGRAM;

    spin_lock(&pair->lock);
    bool last = --pair->open == 0;
    if (connected && !pipe && pair->to[end].head != pair->to[end].tail)
        pair->errors[!end] = -ECONNRESET; /* what that end has sent is lost */
    end_shut(pair, end, connected && !(pipe && end == 1), connected && !(pipe && end == 0));
    spin_unlock(&pair->lock);
    event_notify(file->process, socket_events(file));
    if (last)
        page_pool_free(file->process->vm.pages, arch_physical_of(pair), pair_memory(pair->type));
}

static const struct file_operations socket_operations = { .move = socket_move,
                                                          .ready = socket_ready,
                                                          .activity = socket_activity,
                                                          .events = socket_events,
                                                          .release = socket_release,
                                                          .waits = true };
static const struct file_operations pipe_operations = { .move = socket_move,
                                                        .ready = pipe_ready,
                                                        .activity = pipe_activity,
                                                        .events = socket_events,
                                                        .release = socket_release,
                                                        .waits = true };

bool file_is_pipe(const struct file *file)
{
    return file->operations == &pipe_operations;
}

bool file_is_socket(const struct file *file)
{
    return file->operations == &socket_operations;
}

enum socket_type socket_type(const struct file *file)
{
    return file->socket.pair->type;
}

struct socket_options *socket_options(struct file *file)
{
    return &file->socket.pair->options[file->socket.end];
}

int socket_error_take(struct file *file)
{
    return __atomic_exchange_n(&file->socket.pair->errors[file->socket.end], 0, __ATOMIC_RELAXED);
}

uint64_t socket_unread(struct file *file)
{
    struct socket_pair *pair = file->socket.pair;
    struct direction *from = &pair->to[pair->type == SOCKET_PIPE ? 0 : file->socket.end];

    SPIN_GUARD(&pair->lock);
    bool first = pair->type == SOCKET_DATAGRAM && from->head != from->tail;
    return first ? *message_length(from, from->tail) : from->unread;
}

/* ---- Creation ---- */

int socket_pair_create(struct process *process, enum socket_type type, unsigned flags, struct file *ends[2])
{
    bool is_pipe = type == SOCKET_PIPE;
    int error = files_allocate(process, ends);

    if (error)
        return error;
    uint64_t memory = page_pool_allocate(process->vm.pages, pair_memory(type), ARCH_PAGE);
    struct socket_pair *pair = arch_physical(memory);
    if (memory == PAGE_POOL_NONE) {
        file_put(ends[0]);
        file_put(ends[1]);
        return -ENOMEM;
    }
    memset(pair, 0, offsetof(struct socket_pair, to));
    pair->type = type;
    pair->open = 2;
    for (unsigned end = 0; end < 2; end++) {
        if (end == 0 || !is_pipe)
            memset(&pair->to[end], 0, offsetof(struct direction, ring));
        ends[end]->operations = is_pipe ? &pipe_operations : &socket_operations;
        ends[end]->socket.pair = pair;
        ends[end]->socket.end = end;
        ends[end]->flags = (is_pipe ? end ? O_WRONLY : O_RDONLY : O_RDWR) | (flags & O_NONBLOCK);
        ends[end]->mode = is_pipe ? S_IFIFO | 0600 : S_IFSOCK | 0777;
    }
    return 0;
}
