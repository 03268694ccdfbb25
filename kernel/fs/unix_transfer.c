/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_transfer.c: sending and receiving on sockets of AF_UNIX; see unix_socket.h. The ring of a stream has
 * bytes; the others have messages, each after a header and the sender's name, padded so that no header wraps.
 * Open files that were sent with them are in a list of the ring, by position. Runs in system calls.
 *
 * Source: man 7 unix, man 2 send, recv; where they are silent, what Linux does.
 */
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/unix_rights.h"
#include "fs/unix_socket.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/process.h"
#include "time/clock.h"

enum message_state { MESSAGE_RESERVED, MESSAGE_READY, MESSAGE_VOID };

struct message_header {
    uint32_t whole; /* bytes of the ring, with this header and what pads it */
    uint32_t state; /* one of enum message_state; the next fields are valid if it is MESSAGE_READY */
    uint32_t bytes, name_bytes, sender, padding[3];
};

_Static_assert(RING_BYTES % sizeof(struct message_header) == 0, "no header wraps");

#define RING_MEMORY page_up(sizeof(struct unix_ring))

/* ---- Rings ---- */

struct unix_ring *unix_ring_create(unsigned type)
{
    struct process *process = arch_process();
    uint64_t memory = page_pool_allocate(process->vm.pages, RING_MEMORY, ARCH_PAGE);
    struct unix_ring *ring = arch_physical(memory);

    if (memory == PAGE_POOL_NONE)
        return NULL;
    memset(ring, 0, offsetof(struct unix_ring, bytes));
    ring->references = 1;
    ring->payer = process;
    ring->type = type;
    ring->rights_end = &ring->rights;
    ring->sender = (uint32_t)process->pid;
    event_audience_add(&ring->audience, ring);
    return ring;
}

struct unix_ring *unix_ring_get(struct unix_ring *ring)
{
    if (ring)
        __atomic_fetch_add(&ring->references, 1, __ATOMIC_RELAXED);
    return ring;
}

void unix_ring_put(struct unix_ring *ring)
{
    if (ring && __atomic_sub_fetch(&ring->references, 1, __ATOMIC_ACQ_REL) == 0)
        page_pool_free(ring->payer->vm.pages, arch_physical_of(ring), RING_MEMORY);
}

void unix_ring_notify(struct unix_ring *ring)
{
    event_audience_notify(&ring->audience, event_of(ring));
}

void unix_ring_end(struct unix_ring *ring)
{
    spin_lock(&ring->lock);
    __atomic_store_n(&ring->ended, true, __ATOMIC_SEQ_CST);
    spin_unlock(&ring->lock);
    unix_ring_notify(ring);
}

void unix_ring_unwant(struct unix_ring *ring, bool closed, bool reset)
{
    spin_lock(&ring->lock);
    ring->unwanted = true;
    if (closed)
        __atomic_store_n(&ring->closed, true, __ATOMIC_SEQ_CST);
    if (reset)
        __atomic_store_n(&ring->error, -ECONNRESET, __ATOMIC_RELAXED);
    spin_unlock(&ring->lock);
    unix_ring_notify(ring);
}

int unix_wait(const struct file *file, unsigned flags, struct event_audience *audience, const void *object,
              uint64_t deadline_ns)
{
    if (socket_nonblocking(file, flags) || clock_now_ns() >= deadline_ns)
        return -EAGAIN;
    if (event_audience_add(audience, object))
        return 0; /* earlier changes were not notified here: check again */
    return event_wait(event_of(object), deadline_ns);
}

/* ---- What is in them ---- */

static uint64_t head_of(const struct unix_ring *ring)
{
    return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
}

static void tail_move(struct unix_ring *ring, uint64_t bytes)
{
    __atomic_store_n(&ring->tail, ring->tail + bytes, __ATOMIC_RELEASE);
}

bool unix_ring_has_room(struct unix_ring *ring)
{
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

    return head_of(ring) - tail <= RING_BYTES / 4;
}

static struct message_header *header_at(struct unix_ring *ring, uint64_t position)
{
    return (struct message_header *)(void *)(ring->bytes + position % RING_BYTES);
}

/* Returns the first message; NULL if none has been committed. The caller holds receive_lock. */
static struct message_header *message_first(struct unix_ring *ring)
{
    while (ring->tail != head_of(ring)) {
        struct message_header *header = header_at(ring, ring->tail);
        uint32_t state = __atomic_load_n(&header->state, __ATOMIC_ACQUIRE);

        if (state != MESSAGE_VOID)
            return state == MESSAGE_READY ? header : NULL;
        tail_move(ring, header->whole);
    }
    return NULL;
}

bool unix_ring_has(struct unix_ring *ring)
{
    if (ring->type == SOCK_STREAM)
        return head_of(ring) != __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    SPIN_GUARD_OWN(&ring->receive_lock);
    return message_first(ring) != NULL;
}

int32_t unix_unread(struct unix_ring *ring)
{
    if (ring->type == SOCK_STREAM) {
        uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE); /* first: it never passes the head */
        uint64_t unread = head_of(ring) - tail;

        return unread < RING_BYTES ? (int32_t)unread : RING_BYTES;
    }
    if (ring->type != SOCK_DGRAM)
        return (int32_t)__atomic_load_n(&ring->unread, __ATOMIC_RELAXED);
    SPIN_GUARD_OWN(&ring->receive_lock);
    const struct message_header *first = message_first(ring);
    return first ? (int32_t)first->bytes : 0;
}

/* ---- Rights ---- */

/* Takes the first rights that were sent with bytes or messages below `above`, or NULL. */
static struct rights *rights_pop(struct unix_ring *ring, uint64_t above)
{
    struct rights **link = &ring->rights, *rights;

    if (!__atomic_load_n(link, __ATOMIC_ACQUIRE))
        return NULL;
    SPIN_GUARD(&ring->lock);
    for (; (rights = *link) && rights->position >= above; link = &rights->next)
        lock_work_step();
    if (rights)
        *link = rights->next;
    if (!*link)
        ring->rights_end = link;
    return rights;
}

/* Takes over the rights of what is sent from `position` up to `above`, before it is shown. -EPIPE if the
 * receiver has ended. */
static int rights_append(struct unix_ring *ring, struct rights **taken, uint64_t position, uint64_t above)
{
    struct rights *rights = taken ? *taken : NULL;

    if (!rights)
        return 0;
    rights->next = NULL;
    rights->position = position;
    rights->above = above;
    SPIN_GUARD(&ring->lock);
    if (ring->closed)
        return -EPIPE;
    __atomic_store_n(ring->rights_end, rights, __ATOMIC_RELEASE);
    ring->rights_end = &rights->next;
    *taken = NULL;
    return 0;
}

struct rights *unix_rights_of(struct unix_ring *ring)
{
    SPIN_GUARD(&ring->lock);
    struct rights *rights = ring->rights;
    ring->rights = NULL;
    ring->rights_end = &ring->rights;
    return rights;
}

/* ---- Once, without waiting: -EAGAIN ---- */

/* Copies between a ring, from a position on, and the program. -EFAULT. */
static int ring_copy(char *ring, uint64_t position, struct user_vector *vector, uint64_t bytes,
                     bool to_program)
{
    uint64_t at = position % RING_BYTES, first = bytes < RING_BYTES - at ? bytes : RING_BYTES - at;
    int error = user_vector_copy(vector, ring + at, first, to_program);

    return error || first == bytes ? error : user_vector_copy(vector, ring, bytes - first, to_program);
}

/* Copies a name of at most `bytes` into the ring, or out of it. */
static void name_copy(struct unix_ring *ring, uint64_t position, uint8_t *name, uint64_t bytes, bool out)
{
    for (uint64_t i = 0; i < bytes; i++) {
        char *at = &ring->bytes[(position + i) % RING_BYTES];

        if (out)
            name[i] = (uint8_t)*at;
        else
            *at = (char)name[i];
    }
}

/* What comes with the bytes that were received. */
struct received {
    bool is_end; /* nothing was received: the end */
    uint32_t sender;
    struct rights *rights;
};

/* Receives the first message, or a part of it. The caller holds receive_lock. */
static int64_t message_receive(struct unix_ring *ring, struct socket_message *message, struct received *with)
{
    struct message_header *header = message_first(ring);
    uint64_t at = ring->tail + sizeof(*header), left = message->vector->left;

    if (!header)
        return -EAGAIN;
    uint64_t part = left < header->bytes ? left : header->bytes;
    if (ring_copy(ring->bytes, at + header->name_bytes, message->vector, part, true))
        return -EFAULT;
    if (message->address) {
        message->address->bytes = header->name_bytes;
        name_copy(ring, at, message->address->raw, header->name_bytes, true);
    }
    with->sender = header->sender;
    message->answer_flags |= part < header->bytes ? MSG_TRUNC : 0;
    message->whole_bytes = header->bytes;
    if (!(message->flags & MSG_PEEK)) {
        with->rights = rights_pop(ring, ring->tail + header->whole);
        __atomic_fetch_sub(&ring->unread, header->bytes, __ATOMIC_RELAXED);
        tail_move(ring, header->whole);
    }
    return (int64_t)part;
}

/* Receives bytes of a stream, at most up to the end of those with which the next rights were sent. The caller
 * holds receive_lock. */
static int64_t bytes_receive(struct unix_ring *ring, struct socket_message *message, struct received *with)
{
    uint64_t above = head_of(ring);
    const struct rights *rights = __atomic_load_n(&ring->rights, __ATOMIC_ACQUIRE);

    if (rights && rights->above < above)
        above = rights->above;
    uint64_t bytes = above - ring->tail;
    uint64_t part = message->vector->left < bytes ? message->vector->left : bytes;
    if (bytes == 0)
        return -EAGAIN;
    if (ring_copy(ring->bytes, ring->tail, message->vector, part, true))
        return -EFAULT;
    with->sender = ring->sender;
    if (!(message->flags & MSG_PEEK)) {
        with->rights = rights_pop(ring, ring->tail + part);
        tail_move(ring, part);
    }
    return (int64_t)part;
}

/* Receives once, without waiting; 0 at the end. */
static int64_t receive_once(struct unix_ring *ring, struct socket_message *message, struct received *with)
{
    SPIN_GUARD_OWN(&ring->receive_lock);
    bool no_more = __atomic_load_n(&ring->ended, __ATOMIC_ACQUIRE) || ring->unwanted;
    int64_t got =
        ring->type == SOCK_STREAM ? bytes_receive(ring, message, with) : message_receive(ring, message, with);
    with->is_end = got == -EAGAIN && no_more;
    return with->is_end ? 0 : got;
}

/* What is sent with the bytes. */
struct sent {
    uint64_t whole;                    /* for a stream: send at least this number of bytes, or none */
    const struct socket_address *name; /* the sender's */
    uint32_t sender;
    struct rights **rights; /* taken if something is sent; NULL: none */
};

/* Returns why nothing can be sent to this ring any longer; 0 if it can. */
static int refusal(const struct unix_ring *ring)
{
    if (ring->closed && ring->type == SOCK_DGRAM)
        return -ECONNREFUSED;
    return ring->unwanted || ring->ended ? -EPIPE : 0;
}

/* Sends as many bytes as there is room for. The caller holds send_lock. */
static int64_t bytes_send(struct unix_ring *ring, struct user_vector *vector, const struct sent *with)
{
    uint64_t room = RING_BYTES - (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE));
    uint64_t part = vector->left < room ? vector->left : room;
    int error = refusal(ring);

    if (error || room < with->whole)
        return error ? error : -EAGAIN;
    if (ring_copy(ring->bytes, ring->head, vector, part, false))
        return -EFAULT;
    ring->sender = with->sender;
    error = rights_append(ring, with->rights, ring->head, ring->head + part);
    if (error)
        return error;
    __atomic_store_n(&ring->head, ring->head + part, __ATOMIC_RELEASE);
    return (int64_t)part;
}

static int message_reserve(struct unix_ring *ring, uint64_t whole, uint64_t *position)
{
    SPIN_GUARD(&ring->lock);
    uint64_t room = RING_BYTES - (ring->head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE));
    int error = refusal(ring);
    if (error)
        return error;
    if (whole > room)
        return whole > RING_BYTES ? -EMSGSIZE : -EAGAIN;
    *position = ring->head;
    *header_at(ring, ring->head) = (struct message_header){ .whole = (uint32_t)whole };
    __atomic_store_n(&ring->head, ring->head + whole, __ATOMIC_RELEASE);
    return 0;
}

/* Sends a whole message or nothing. */
static int64_t message_send(struct unix_ring *ring, struct user_vector *vector, const struct sent *with)
{
    uint64_t unit = sizeof(struct message_header), bytes = vector->left, position;
    uint64_t name_bytes = with->name->bytes > 2 ? with->name->bytes : 0;
    int error = message_reserve(ring, unit + ((name_bytes + bytes + unit - 1) & ~(unit - 1)), &position);

    if (error)
        return error;
    struct message_header *header = header_at(ring, position);
    name_copy(ring, position + unit, (uint8_t *)(uintptr_t)with->name->raw, name_bytes, false);
    error = ring_copy(ring->bytes, position + unit + name_bytes, vector, bytes, false);
    if (!error)
        error = rights_append(ring, with->rights, position, position + 1);
    if (!error) {
        header->bytes = (uint32_t)bytes;
        header->name_bytes = (uint32_t)name_bytes;
        header->sender = with->sender;
        __atomic_fetch_add(&ring->unread, bytes, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&header->state, error ? MESSAGE_VOID : MESSAGE_READY, __ATOMIC_SEQ_CST);
    if (error)
        unix_ring_notify(ring); /* later messages may have been committed */
    return error ? error : (int64_t)bytes;
}

static int64_t send_once(struct unix_ring *ring, struct user_vector *vector, const struct sent *with)
{
    if (ring->type != SOCK_STREAM)
        return message_send(ring, vector, with);
    SPIN_GUARD_OWN(&ring->send_lock);
    return bytes_send(ring, vector, with);
}

/* ---- Receiving ---- */

/* Gives the caller what came with the bytes, or drops it. */
static void received_deliver(const struct file *file, struct socket_message *message, struct received *with)
{
    struct socket_control *control = message->control;

    if (control && socket_switch(socket_of(file), SO_PASSCRED)) {
        control->has_credentials = true;
        control->process = with->sender;
    }
    if (control && with->rights) {
        control->rights = with->rights;
    } else if (with->rights) {
        message->answer_flags |= MSG_CTRUNC;
        rights_put(with->rights);
    }
}

int unix_error_take(struct unix_socket *socket)
{
    return socket->socket.type != SOCK_DGRAM && socket->out
               ? __atomic_exchange_n(&socket->out->error, 0, __ATOMIC_RELAXED)
               : 0;
}

/* Receives from a ring; with `all`, until the vector is full, the end, or bytes that come with rights. */
static int64_t receive_from(struct file *file, struct unix_ring *ring, struct socket_message *message,
                            bool all, struct received *with)
{
    uint64_t deadline_ns = file_is_socket(file) ? socket_deadline(file, false) : WAIT_FOREVER;
    int64_t done = 0, got;

    do {
        got = receive_once(ring, message, with);
        if (got >= 0 && !with->is_end)
            unix_ring_notify(ring);
        done += got > 0 ? got : 0;
        if (got >= 0 && (!all || with->is_end || with->rights || message->vector->left == 0))
            return done;
        if (got == -EAGAIN)
            got = unix_wait(file, message->flags, &ring->audience, ring, deadline_ns);
    } while (got >= 0);
    return done ? done : got;
}

int64_t unix_pipe_read(struct file *file, struct user_vector *vector)
{
    struct socket_message message = { .vector = vector };
    struct received with = { 0 };

    return receive_from(file, file->object, &message, false, &with);
}

int64_t unix_receive(struct file *file, struct socket_message *message)
{
    struct unix_socket *socket = unix_of(file);
    bool stream = socket->socket.type == SOCK_STREAM;
    bool all = stream && (message->flags & MSG_WAITALL) && !(message->flags & MSG_PEEK);
    struct unix_ring *ring = __atomic_load_n(&socket->in, __ATOMIC_ACQUIRE);
    struct received with = { 0 };

    if (message->flags & MSG_OOB)
        return -EOPNOTSUPP;
    if (!ring)
        return stream ? -EINVAL : -ENOTCONN;
    if (message->address)
        message->address->bytes = 0;
    if (message->vector->left == 0 && stream)
        return 0;
    int64_t got = receive_from(file, ring, message, all, &with);
    if (with.is_end && got == 0)
        got = unix_error_take(socket);
    if (got >= 0)
        received_deliver(file, message, &with);
    return got;
}

/* ---- Sending ---- */

bool unix_accepts_from(struct unix_socket *socket, const struct unix_socket *sender)
{
    SPIN_GUARD(&socket->lock);
    return !socket->out || socket->out == sender->in;
}

/* Finds the ring to send to, with a reference: the peer's or, for datagrams, that of the socket with the
 * address. */
static int destination_find(struct unix_socket *socket, const struct socket_address *address,
                            struct unix_ring **out)
{
    struct socket_address name;
    struct unix_socket *other;

    if (!address || !address->bytes) {
        SPIN_GUARD(&socket->lock);
        *out = unix_ring_get(socket->out);
        return *out ? 0 : -ENOTCONN;
    }
    if (socket->socket.type != SOCK_DGRAM && socket->out)
        return -EISCONN;
    if (socket->socket.type != SOCK_DGRAM)
        return socket->socket.type == SOCK_STREAM ? -EOPNOTSUPP : -ENOTCONN;
    int error = unix_name_check(address, &name);
    if (!error)
        error = unix_name_find(&name, &other);
    if (error)
        return error;
    if (other->socket.type != SOCK_DGRAM) {
        error = -EPROTOTYPE;
    } else if (!unix_accepts_from(other, socket)) {
        error = -EPERM;
    } else {
        *out = unix_ring_get(other->in);
    }
    unix_socket_put(other);
    return error;
}

/* Disconnects a socket of datagrams from a peer that has ended; the send that found out answers
 * -ECONNREFUSED. */
static void peer_leave(struct unix_socket *socket, struct unix_ring *ring)
{
    spin_lock(&socket->lock);
    bool leaves = socket->out == ring;
    if (leaves)
        socket->out = NULL;
    spin_unlock(&socket->lock);
    if (leaves)
        unix_ring_put(ring);
}

static int64_t send_to(struct file *file, struct unix_ring *ring, struct socket_message *message,
                       const struct sent *with)
{
    struct user_vector *vector = message->vector;
    uint64_t deadline_ns = 0;
    int64_t done = 0, put;

    if (vector->left == 0 && ring->type == SOCK_STREAM)
        return 0;
    do {
        put = send_once(ring, vector, with);
        if (put >= 0) {
            unix_ring_notify(ring);
            done += put;
            deadline_ns = 0; /* the time limit is that of each wait, not of all together */
            if (vector->left == 0)
                return done;
        } else if (put == -EAGAIN) {
            if (!deadline_ns)
                deadline_ns = file_is_socket(file) ? socket_deadline(file, true) : WAIT_FOREVER;
            put = unix_wait(file, message->flags, &ring->audience, ring, deadline_ns);
        }
    } while (put >= 0);
    if (put == -EPIPE && !file_is_socket(file))
        caller_signal(SIGNAL_PIPE);
    return done ? done : put;
}

int64_t unix_pipe_write(struct file *file, struct user_vector *vector, uint64_t atomic_bytes)
{
    struct socket_message message = { .vector = vector };
    const struct sent with = { .whole = vector->left <= atomic_bytes ? vector->left : 1 };

    return send_to(file, file->object, &message, &with);
}

int64_t unix_send(struct file *file, struct socket_message *message)
{
    struct unix_socket *socket = unix_of(file);
    struct socket_control *control = message->control;
    bool has_credentials = control && control->has_credentials;
    struct sent with = { .whole = 1,
                         .name = &socket->name,
                         .sender = has_credentials ? control->process : (uint32_t)arch_process()->pid,
                         .rights = control ? &control->rights : NULL };
    struct unix_ring *ring;

    if (socket->sends_no_more)
        return -EPIPE;
    int64_t result = destination_find(socket, message->address, &ring);
    if (result)
        return result;
    result = send_to(file, ring, message, &with);
    if (result == -ECONNREFUSED)
        peer_leave(socket, ring);
    unix_ring_put(ring);
    return result;
}
