/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unix_socket.c: sockets of AF_UNIX, unix(7): making, connecting, accepting, ending; see unix_socket.h. The
 * connecting process also makes the listener's end of a connection, which waits in the listener's list until
 * it is accepted. No function here holds two of the locks at a time. Runs in system calls, and at the end of
 * a process.
 *
 * Source: man 7 unix, man 2 connect, listen, accept, shutdown; where they are silent, what Linux does.
 */
#include "fs/unix_socket.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "fs/unix_rights.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "process/process.h"

#define BACKLOG_MAX   128
#define SOCKET_MEMORY page_up(sizeof(struct unix_socket))

static const struct file_operations unix_files;
static const struct socket_operations unix_operations;

/* ---- Making, ending ---- */

static struct unix_socket *socket_make(unsigned type)
{
    struct process *process = arch_process();
    uint64_t memory = page_pool_allocate(process->vm.pages, SOCKET_MEMORY, ARCH_PAGE);
    struct unix_socket *socket = arch_physical(memory);

    if (memory == PAGE_POOL_NONE)
        return NULL;
    *socket = (struct unix_socket){ .references = 1, .payer = process };
    socket->socket = (struct socket){ .type = (uint16_t)type, .family = AF_UNIX };
    socket->socket.receive_room = socket->socket.send_room = RING_BYTES;
    socket->name = socket->peer_name = (struct socket_address){ .bytes = 2, .family = AF_UNIX };
    event_audience_add(&socket->audience, socket);
    return socket;
}

void unix_socket_put(struct unix_socket *socket)
{
    if (__atomic_sub_fetch(&socket->references, 1, __ATOMIC_ACQ_REL))
        return;
    unix_ring_put(socket->in);
    unix_ring_put(socket->out);
    page_pool_free(socket->payer->vm.pages, arch_physical_of(socket), SOCKET_MEMORY);
}

static void socket_show(struct file *file, struct unix_socket *socket)
{
    socket_initialise(file, &socket->socket, &unix_files, &unix_operations, AF_UNIX, socket->socket.type, 0);
}

/* Ends a socket: what is sent to it from now on is refused, and what was sent is dropped. `reset`: the peer
 * gets ECONNRESET. */
static void socket_end(struct unix_socket *socket, bool reset)
{
    bool connected = socket->socket.type != SOCK_DGRAM;
    struct unix_ring *in = socket->in;

    if (in) {
        unix_ring_unwant(in, true, reset || (connected && in->head != in->tail));
        rights_put_all(unix_rights_of(in));
    }
    if (socket->out && connected)
        unix_ring_end(socket->out);
    unix_socket_put(socket);
}

/* Ends a listener: connections that were not accepted are reset. */
static void listener_end(struct unix_socket *socket)
{
    struct list_link *link;

    do {
        spin_lock(&socket->lock);
        link = socket->waiting.first;
        if (link)
            list_remove(&socket->waiting, link);
        spin_unlock(&socket->lock);
        if (link)
            socket_end(LIST_OWNER(link, unix_socket, queued), true);
    } while (link);
    event_audience_notify(&socket->audience, event_of(socket));
}

static void unix_release(struct file *file)
{
    struct unix_socket *socket = unix_of(file);

    unix_name_end(socket);
    spin_lock(&socket->lock);
    bool listens = socket->state == UNIX_LISTENING;
    socket->state = UNIX_CLOSED;
    spin_unlock(&socket->lock);
    if (listens)
        listener_end(socket);
    socket_end(socket, false);
}

int unix_socket_create(struct file *file, int type, int protocol)
{
    if (protocol != 0 && protocol != AF_UNIX)
        return -EPROTONOSUPPORT;
    if (type == SOCK_RAW)
        type = SOCK_DGRAM; /* as Linux */
    if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
        return -ESOCKTNOSUPPORT;
    struct unix_socket *socket = socket_make((unsigned)type);
    if (!socket)
        return -ENOMEM;
    if (type == SOCK_DGRAM && !(socket->in = unix_ring_create(SOCK_DGRAM))) {
        unix_socket_put(socket);
        return -ENOMEM;
    }
    socket_show(file, socket);
    return 0;
}

/* ---- Connecting ---- */

/* Makes two rings, one into each of two sockets. */
static int rings_make(struct unix_ring *rings[2], unsigned type)
{
    rings[0] = unix_ring_create(type);
    rings[1] = rings[0] ? unix_ring_create(type) : NULL;
    if (rings[0] && !rings[1])
        unix_ring_put(rings[0]);
    return rings[1] ? 0 : -ENOMEM;
}

/* Connects a socket to its rings, which get one reference each. The caller holds the socket's lock, unless no
 * other thread knows the socket. */
static void rings_set(struct unix_socket *socket, struct unix_ring *in, struct unix_ring *out)
{
    socket->out = unix_ring_get(out);
    __atomic_store_n(&socket->in, unix_ring_get(in), __ATOMIC_RELEASE);
    socket->state = UNIX_CONNECTED;
}

int unix_socket_pair(struct file *files[2], int type)
{
    struct unix_ring *rings[2];
    int error = unix_socket_create(files[0], type, 0);

    if (!error)
        error = unix_socket_create(files[1], type, 0);
    if (error)
        return error;
    struct unix_socket *one = unix_of(files[0]), *other = unix_of(files[1]);
    rings[0] = one->in, rings[1] = other->in; /* of datagrams */
    if (!one->in && (error = rings_make(rings, (unsigned)type)) != 0)
        return error;
    rings_set(one, rings[0], rings[1]);
    rings_set(other, rings[1], rings[0]);
    unix_ring_put(rings[0]);
    unix_ring_put(rings[1]);
    one->pid = one->peer_pid = other->pid = other->peer_pid = (uint32_t)arch_process()->pid;
    return 0;
}

/* Connects a datagram socket to another; NULL: to none. */
static int peer_set(struct unix_socket *socket, struct unix_socket *other)
{
    if (other && other->socket.type != SOCK_DGRAM)
        return -EPROTOTYPE;
    if (other && !unix_accepts_from(other, socket))
        return -EPERM;
    struct unix_ring *out = unix_ring_get(other ? other->in : NULL);
    spin_lock(&socket->lock);
    struct unix_ring *old = socket->out;
    socket->out = out;
    socket->state = out ? UNIX_CONNECTED : UNIX_FRESH;
    if (other)
        socket->peer_name = other->name;
    spin_unlock(&socket->lock);
    unix_ring_put(old);
    return 0;
}

/* Makes the listener's end of a connection, and the rings: rings[0] into the client, rings[1] out of it. */
static struct unix_socket *end_make(const struct unix_socket *client, const struct unix_socket *listener,
                                    struct unix_ring *rings[2])
{
    struct unix_socket *end = socket_make(client->socket.type);

    if (!end)
        return NULL;
    if (rings_make(rings, client->socket.type)) {
        unix_socket_put(end);
        return NULL;
    }
    rings_set(end, rings[1], rings[0]);
    end->is_named = true;
    end->name = listener->name;
    end->peer_name = client->name;
    end->peer_pid = (uint32_t)arch_process()->pid;
    return end;
}

/* Queues an end for the listener to accept. Returns -EAGAIN if the listener's queue is full. */
static int end_queue(struct unix_socket *listener, struct unix_socket *end)
{
    SPIN_GUARD(&listener->lock);
    if (listener->state != UNIX_LISTENING)
        return -ECONNREFUSED;
    if (listener->waiting_count > listener->backlog)
        return -EAGAIN;
    listener->waiting_count++;
    listener->arrivals++;
    end->pid = listener->pid;
    list_append(&listener->waiting, &end->queued);
    return 0;
}

static int listener_connect(struct file *file, struct unix_socket *listener)
{
    struct unix_socket *client = unix_of(file);
    uint64_t deadline_ns = socket_deadline(file, true);
    struct unix_ring *rings[2];
    int error;

    if (listener->socket.type != client->socket.type)
        return -EPROTOTYPE;
    struct unix_socket *end = end_make(client, listener, rings);
    if (!end)
        return -ENOMEM;
    while ((error = end_queue(listener, end)) == -EAGAIN)
        if ((error = unix_wait(file, 0, &listener->audience, listener, deadline_ns)) != 0)
            break;
    if (error) {
        unix_socket_put(end);
    } else {
        spin_lock(&client->lock);
        rings_set(client, rings[0], rings[1]);
        client->pid = (uint32_t)arch_process()->pid;
        client->peer_pid = listener->pid;
        client->peer_name = listener->name;
        spin_unlock(&client->lock);
        event_audience_notify(&listener->audience, event_of(listener));
    }
    unix_ring_put(rings[0]);
    unix_ring_put(rings[1]);
    return error;
}

/* Begins a connection: no other thread may begin one with this socket. -EALREADY, -EISCONN, -EINVAL. */
static int connecting_set(struct unix_socket *socket)
{
    static const int errors[] = { [UNIX_CONNECTING] = -EALREADY,
                                  [UNIX_CONNECTED] = -EISCONN,
                                  [UNIX_LISTENING] = -EINVAL,
                                  [UNIX_CLOSED] = -EINVAL };

    SPIN_GUARD(&socket->lock);
    int error = errors[socket->state];
    if (!error)
        socket->state = UNIX_CONNECTING;
    return error;
}

static int unix_connect(struct file *file, const struct socket_address *address)
{
    struct unix_socket *socket = unix_of(file), *other;
    bool datagram = socket->socket.type == SOCK_DGRAM;
    struct socket_address name;

    if (datagram && address->bytes >= 2 && address->family == AF_UNSPEC)
        return peer_set(socket, NULL);
    int error = unix_name_check(address, &name);
    if (!error && !datagram)
        error = connecting_set(socket);
    if (error)
        return error;
    error = unix_name_find(&name, &other);
    if (!error) {
        error = datagram ? peer_set(socket, other) : listener_connect(file, other);
        unix_socket_put(other);
    }
    if (error && !datagram) {
        SPIN_GUARD(&socket->lock);
        socket->state = UNIX_FRESH;
    }
    return error;
}

/* ---- Listening ---- */

static int unix_listen(struct file *file, int backlog)
{
    struct unix_socket *socket = unix_of(file);

    if (socket->socket.type == SOCK_DGRAM)
        return -EOPNOTSUPP;
    SPIN_GUARD(&socket->lock);
    if (socket->name.bytes <= 2 || (socket->state != UNIX_FRESH && socket->state != UNIX_LISTENING))
        return -EINVAL;
    socket->state = UNIX_LISTENING;
    socket->pid = (uint32_t)arch_process()->pid;
    socket->backlog = backlog < 0 || backlog > BACKLOG_MAX ? BACKLOG_MAX : (unsigned)backlog;
    return 0;
}

static int accept_once(struct unix_socket *listener, struct unix_socket **out)
{
    SPIN_GUARD(&listener->lock);
    struct list_link *link = listener->waiting.first;
    if (listener->state != UNIX_LISTENING)
        return -EINVAL;
    if (!link)
        return -EAGAIN;
    list_remove(&listener->waiting, link);
    listener->waiting_count--;
    *out = LIST_OWNER(link, unix_socket, queued);
    return 0;
}

static int unix_accept(struct file *file, struct file *accepted, struct socket_address *peer)
{
    struct unix_socket *listener = unix_of(file), *end;
    uint64_t deadline_ns = socket_deadline(file, false);
    int error;

    if (listener->socket.type == SOCK_DGRAM)
        return -EOPNOTSUPP;
    while ((error = accept_once(listener, &end)) == -EAGAIN)
        if ((error = unix_wait(file, 0, &listener->audience, listener, deadline_ns)) != 0)
            return error;
    if (error)
        return error;
    event_audience_notify(&listener->audience, event_of(listener));
    end->socket.switches = listener->socket.switches;
    socket_show(accepted, end);
    *peer = end->peer_name;
    return 0;
}

/* ---- The rest ---- */

static int unix_shutdown(struct file *file, bool receiving, bool sending)
{
    struct unix_socket *socket = unix_of(file);

    spin_lock(&socket->lock);
    enum unix_state state = socket->state;
    struct unix_ring *in = socket->in, *out = unix_ring_get(socket->out);
    if (state == UNIX_LISTENING && receiving)
        socket->state = UNIX_CLOSED;
    spin_unlock(&socket->lock);
    if (state == UNIX_LISTENING && receiving)
        listener_end(socket);
    if (receiving && in)
        unix_ring_unwant(in, false, false);
    if (sending && socket->socket.type == SOCK_DGRAM)
        socket->sends_no_more = true; /* other sockets may still send to its ring */
    else if (sending && out)
        unix_ring_end(out);
    unix_ring_put(out);
    return 0;
}

static int unix_name(struct file *file, bool of_peer, struct socket_address *address)
{
    struct unix_socket *socket = unix_of(file);

    SPIN_GUARD(&socket->lock);
    if (of_peer && socket->state != UNIX_CONNECTED)
        return -ENOTCONN;
    *address = of_peer ? socket->peer_name : socket->name;
    return 0;
}

static int unix_option_get(struct file *file, int level, int option, void *value, uint32_t *bytes)
{
    struct unix_socket *socket = unix_of(file);
    uint32_t words[3] = { 0, 0, 0 };

    if (level != SOL_SOCKET)
        return -EOPNOTSUPP;
    if (option == SO_ACCEPTCONN) {
        words[0] = socket->state == UNIX_LISTENING;
    } else if (option == SO_ERROR) {
        words[0] = (uint32_t)-unix_error_take(socket);
    } else if (option == SO_PEERCRED) { /* process, user, group */
        words[0] = socket->peer_pid;
        words[1] = socket->peer_pid ? process_credentials.uid : UINT32_MAX;
        words[2] = socket->peer_pid ? process_credentials.gid : UINT32_MAX;
    } else {
        return -ENOPROTOOPT;
    }
    uint32_t size = option == SO_PEERCRED ? sizeof(words) : sizeof(words[0]);
    *bytes = *bytes < size ? *bytes : size;
    memcpy(value, words, *bytes);
    return 0;
}

static int64_t unix_queued(struct file *file, bool unsent)
{
    struct unix_socket *socket = unix_of(file);

    if (unsent)
        return -ENOTTY;
    return socket->in ? unix_unread(socket->in) : -EINVAL;
}

/* ---- As a file ---- */

static unsigned listener_ready(struct unix_socket *socket)
{
    event_audience_add(&socket->audience, socket);
    SPIN_GUARD(&socket->lock);
    if (socket->state == UNIX_LISTENING)
        return socket->waiting.first ? READY_IN : 0;
    return READY_OUT | READY_HANG_UP;
}

/* Answers poll. As on Linux, a socket takes more only after three quarters have been received. */
static unsigned unix_ready(struct file *file)
{
    struct unix_socket *socket = unix_of(file);
    struct unix_ring *in = __atomic_load_n(&socket->in, __ATOMIC_ACQUIRE), *out;
    unsigned ready = 0;

    if (!in)
        return listener_ready(socket);
    spin_lock(&socket->lock);
    out = unix_ring_get(socket->out);
    spin_unlock(&socket->lock);

    event_audience_add(&in->audience, in);
    bool no_more = __atomic_load_n(&in->ended, __ATOMIC_ACQUIRE) || in->unwanted;
    ready |= no_more || unix_ring_has(in) ? READY_IN : 0;
    if (!out)
        return ready | READY_OUT;
    event_audience_add(&out->audience, out);
    ready |= unix_ring_has_room(out) ? READY_OUT : 0;
    ready |= no_more && (out->ended || out->unwanted) ? READY_HANG_UP : 0;
    ready |= no_more && socket->socket.type != SOCK_DGRAM ? READY_PEER_ENDED : 0;
    ready |= out->error && socket->socket.type != SOCK_DGRAM ? READY_ERROR : 0;
    unix_ring_put(out);
    return ready;
}

/* Counts what may make the socket ready: bytes that come, bytes that leave at the other end, ends of a
 * direction. */
static uint64_t unix_activity(struct file *file)
{
    struct unix_socket *socket = unix_of(file);
    uint64_t activity;

    SPIN_GUARD(&socket->lock);
    activity = socket->arrivals;
    if (socket->in)
        activity += __atomic_load_n(&socket->in->head, __ATOMIC_RELAXED) + socket->in->ended;
    if (socket->out)
        activity += __atomic_load_n(&socket->out->tail, __ATOMIC_RELAXED) + socket->out->unwanted;
    return activity;
}

static uint64_t unix_events(const struct file *file)
{
    struct unix_socket *socket = unix_of(file);

    SPIN_GUARD(&socket->lock);
    return event_of(socket) | (socket->in ? event_of(socket->in) : 0) |
           (socket->out ? event_of(socket->out) : 0);
}

static const struct file_operations unix_files = { .move = socket_move,
                                                   .ready = unix_ready,
                                                   .activity = unix_activity,
                                                   .events = unix_events,
                                                   .release = unix_release,
                                                   .waits = true,
                                                   .travels = true };

static const struct socket_operations unix_operations = { .bind = unix_bind,
                                                          .connect = unix_connect,
                                                          .listen = unix_listen,
                                                          .accept = unix_accept,
                                                          .send = unix_send,
                                                          .receive = unix_receive,
                                                          .shutdown = unix_shutdown,
                                                          .name = unix_name,
                                                          .option_get = unix_option_get,
                                                          .queued = unix_queued };
