/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp.c: messages between nodes, over TCP.
 *
 * The rank that first has something to send connects; the other answers on the same connection, so that its
 * segments carry the acknowledgements. If both connect at once there are two connections, and each rank sends
 * on its own. A connection begins with a hello: a magic number (byte order included), the job's secret, which
 * ranks know only from the launcher, and the sender's rank. Then records follow, in both directions:
 *
 *   | 8 bytes: length of all | struct head | data, at most FRAGMENT_BYTES |
 *
 * Sockets do not block. One epoll descriptor watches all; the connection on which data came last is polled
 * more often. If a socket has not taken all of a record, the rest waits in memory, and the next record is
 * refused until it is sent. A connection with a wrong hello is closed and reported. A rank that sends an
 * invalid record ends the job. Runs under the library's lock, except tcp_wait.
 *
 * A rank that may have fewer descriptors than there are ranks of other nodes retires the connection that it
 * used least recently: it shuts it down for sending, and until the other end has done the same, which it does
 * once it has sent what it had, sends that rank nothing and takes nothing from newer connections with it. So
 * records stay in order. Then both close it, and the next one to send connects again. Nothing waits in a
 * circle: a spare descriptor is for accepting alone, and a connection retires only if the other end has
 * accepted it, which it says with a record (HEAD_WAKE).
 *
 * If waits block and there are several nodes, a rank sleeps in this epoll, and others of its node wake it by
 * a record (HEAD_WAKE) instead of the futex of shared.c.
 */
#define _GNU_SOURCE /* accept4 */
#include "launch/launch.h"
#include "transport/tcp_begin.h"
#include "transport/transport.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FRAGMENT_BYTES (128 << 10)
#define HELLO_MAGIC    0x31697061746d7074u
#define STRANGERS_MAX  64 /* connections whose hello has not arrived; one more closes the oldest */
#define NAMED_MAX      16 /* maximum number reported by a rank: strangers must not fill its output */
#define EVENTS         16 /* taken in one poll */
#define READS          4  /* reads of one connection in one poll, so that none delays the others */
#define DIRECT_MIN     4096
#define HOT_ROUNDS     4 /* one poll in this number looks at all connections, the others at one alone */
#define END_MS         5000

struct hello {
    uint64_t magic, secret;
    int32_t rank, size;
};

struct record {
    uint64_t length;
    struct head head;
};

enum watch_kind { WATCH_LISTENER, WATCH_BELL, WATCH_CONNECTION };

struct watch {
    enum watch_kind kind; /* first in each structure that epoll points to */
    int fd;
};

/* A connection with a rank or, while `rank` is -1, with a stranger. */
struct connection {
    struct watch watch;
    int rank;
    bool has_ended;    /* the other end will send nothing more */
    bool is_met;       /* the other end has it, too, and not only its kernel */
    bool waits;        /* what it brings is later than what still comes on one that retires */
    bool retires;      /* this rank has shut it down for sending, and waits for the other end */
    uint64_t used;     /* `uses` when it last carried something */
    uint32_t events;   /* the events that epoll watches it for */
    size_t begin, end; /* bounds of what the socket has not taken */
    size_t bytes;      /* received, of an incomplete record */
    struct head head;  /* head of the fragment that is read into its place */
    unsigned char *place;
    size_t fragment, left; /* its bytes, and those that have not arrived; 0: there is none */
    struct connection *next, **link;
    unsigned char pending[sizeof(struct hello) + sizeof(struct record) + FRAGMENT_BYTES];
    _Alignas(16) unsigned char data[2 * (sizeof(struct record) + FRAGMENT_BYTES)];
};

static struct watch listener = { WATCH_LISTENER, -1 }, bell = { WATCH_BELL, -1 };
static int events_fd = -1, spare_fd = -1;
static struct connection **outs; /* by world rank: the connection on which this rank sends; NULL: none yet */
static struct connection *connections, *hot;
static int strangers, strangers_named, retiring;
static uint64_t uses;
static uint64_t secret;
static struct receiver receiver;

bool tcp_is_used(void)
{
    return events_fd >= 0;
}

static void watch_add(struct watch *watch, uint32_t what)
{
    struct epoll_event event = { .events = what, .data.ptr = watch };

    if (epoll_ctl(events_fd, EPOLL_CTL_ADD, watch->fd, &event) && errno != EEXIST)
        mpi_abort(1, "epoll_ctl: %s", strerror(errno));
}

/* Makes epoll watch the events that a connection needs now. */
static void connection_watch(struct connection *connection)
{
    uint32_t events =
        (connection->has_ended ? 0 : EPOLLIN) | (connection->begin < connection->end ? EPOLLOUT : 0);
    struct epoll_event event = { .events = events, .data.ptr = connection };

    if (events == connection->events)
        return;
    int operation = !events ? EPOLL_CTL_DEL : connection->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(events_fd, operation, connection->watch.fd, &event))
        mpi_abort(1, "epoll_ctl: %s", strerror(errno));
    connection->events = events;
}

static struct connection *connection_make(int fd, int rank)
{
    struct connection *connection = malloc(sizeof(*connection));
    int one = 1;

    if (!connection)
        return NULL;
    connection->watch = (struct watch){ WATCH_CONNECTION, fd };
    connection->rank = rank;
    connection->has_ended = connection->is_met = connection->waits = connection->retires = false;
    connection->used = ++uses;
    connection->events = 0;
    connection->begin = connection->end = connection->bytes = connection->left = 0;
    connection->next = connections;
    connection->link = &connections;
    if (connections)
        connections->link = &connection->next;
    connections = connection;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* slower without, not wrong */
    return connection;
}

static void connection_close(struct connection *connection)
{
    strangers -= connection->rank < 0;
    if (hot == connection)
        hot = NULL;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    close(connection->watch.fd); /* ends epoll's watch, too */
    free(connection);
}

/* ---- Fewer descriptors than ranks ---- */

static bool rank_retires(int rank)
{
    for (struct connection *one = retiring ? connections : NULL; one; one = one->next)
        if (one->rank == rank && one->retires)
            return true;
    return false;
}

/* Begins to close the connection that was used least recently, unless one is closing already. */
static void connection_retire(void)
{
    struct connection *oldest = NULL;

    for (struct connection *one = connections; one && !retiring; one = one->next)
        if (one->is_met && !one->has_ended && one->begin == one->end && !one->bytes && !one->left &&
            (!oldest || one->used < oldest->used))
            oldest = one;
    if (!oldest)
        return;
    if (outs[oldest->rank] == oldest)
        outs[oldest->rank] = NULL;
    oldest->retires = true;
    retiring++;
    shutdown(oldest->watch.fd, SHUT_WR);
}

static bool descriptors_lack(void)
{
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
}

/* Returns whether there is a spare descriptor; if not, a connection begins to close. */
static bool spare_keep(void)
{
    if (spare_fd < 0)
        spare_fd = fcntl(listener.fd, F_DUPFD_CLOEXEC, 0);
    if (spare_fd < 0)
        connection_retire();
    return spare_fd >= 0;
}

/* ---- Sending ---- */

static _Noreturn void out_failed(const struct connection *out)
{
    const int error = errno;

    pmi_end_await();
    mpi_abort(1, "the connection to rank %d is broken: %s", out->rank, strerror(error));
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS || errno == ENOTCONN ||
           errno == EALREADY || errno == EINTR;
}

/* Sends what waits. Returns whether nothing is left. */
static bool out_flush(struct connection *out)
{
    while (out->begin < out->end) {
        ssize_t bytes = send(out->watch.fd, out->pending + out->begin, out->end - out->begin,
                             MSG_NOSIGNAL | MSG_DONTWAIT);

        if (bytes < 0 && !would_block())
            out_failed(out);
        if (bytes < 0)
            return false;
        out->begin += (size_t)bytes;
    }
    out->begin = out->end = 0;
    connection_watch(out);
    return true;
}

/* Connects; NULL without a descriptor, which a later call has once a connection has retired. */
static struct connection *out_make(int rank)
{
    const struct hello hello = { HELLO_MAGIC, secret, mpi_world.rank, mpi_world.size };
    struct sockaddr_in address;

    if (!spare_keep())
        return NULL;
    if (tcp_address_of(rank, &address))
        mpi_abort(1, "the launcher has no valid address of rank %d", rank);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 && connections && descriptors_lack()) {
        connection_retire();
        return NULL;
    }
    if (fd < 0)
        mpi_abort(1, "cannot make a socket for rank %d: %s", rank, strerror(errno));
    struct connection *out = connection_make(fd, rank);
    if (!out)
        mpi_abort(1, "no memory for a connection to rank %d", rank);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) && !would_block())
        out_failed(out);
    memcpy(out->pending, &hello, sizeof(hello));
    out->end = sizeof(hello);
    outs[rank] = out;
    return out;
}

static void out_keep(struct connection *out, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(out->pending + out->end, data, bytes);
    out->end += bytes;
}

static bool tcp_send(int peer, const struct head *head, const void *data, size_t bytes)
{
    struct connection *out = outs[peer];
    const struct record record = { sizeof(record) + bytes, *head };
    size_t sent = 0;

    if (!out) { /* the hello and the first record wait until the connection is established */
        if (rank_retires(peer) || !(out = out_make(peer)))
            return false;
    } else if (out->begin < out->end && !out_flush(out)) {
        return false;
    } else {
        struct iovec parts[2] = { { (void *)(uintptr_t)&record, sizeof(record) },
                                  { (void *)(uintptr_t)data, bytes } };
        const struct msghdr message = { .msg_iov = parts, .msg_iovlen = bytes ? 2 : 1 };
        ssize_t done = sendmsg(out->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (done < 0 && !would_block())
            out_failed(out);
        sent = done < 0 ? 0 : (size_t)done;
    }
    out->used = ++uses;
    if (sent < sizeof(record))
        out_keep(out, (const char *)&record + sent, sizeof(record) - sent);
    size_t data_sent = sent > sizeof(record) ? sent - sizeof(record) : 0;
    if (data_sent < bytes)
        out_keep(out, (const char *)data + data_sent, bytes - data_sent);
    if (out->begin < out->end && !out_flush(out))
        connection_watch(out);
    return true;
}

static size_t tcp_fragment_bytes(void)
{
    return FRAGMENT_BYTES;
}

/* ---- Receiving ---- */

/* Returns the oldest stranger, the last in the list. */
static struct connection *stranger_oldest(void)
{
    struct connection *oldest = NULL;

    for (struct connection *one = connections; one; one = one->next)
        if (one->rank < 0)
            oldest = one;
    return oldest;
}

static void listener_take(void)
{
    int fd = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 && descriptors_lack() && spare_fd >= 0) {
        close(spare_fd);
        spare_fd = -1;
        fd = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    spare_keep();
    if (fd < 0)
        return;
    if (strangers == STRANGERS_MAX)
        connection_close(stranger_oldest());
    struct connection *stranger = connection_make(fd, -1);
    if (!stranger) {
        close(fd);
        return;
    }
    strangers++;
    connection_watch(stranger);
}

/* Reads the hello. Returns NULL, or why the sender is no rank of this job. */
static const char *hello_take(struct connection *in)
{
    struct hello hello;

    memcpy(&hello, in->data, sizeof(hello));
    if (hello.magic == __builtin_bswap64(HELLO_MAGIC))
        return "it has the other byte order";
    if (hello.magic != HELLO_MAGIC)
        return "it does not speak this protocol";
    if (hello.secret != secret || hello.size != mpi_world.size)
        return "it is of another job";
    if (hello.rank < 0 || hello.rank >= mpi_world.size)
        return "its rank is not in this job";
    if (hello.rank == mpi_world.rank)
        return "it claims to be this rank itself";
    in->rank = hello.rank;
    strangers--;
    in->waits = rank_retires(in->rank);
    if (!outs[in->rank] && !in->waits)
        outs[in->rank] = in;
    return NULL;
}

/* Prepares to read the rest of a fragment straight into its place, if that is worth a separate system call.
 */
static bool fragment_begin(struct connection *in, const struct record *record, size_t at)
{
    size_t here = in->bytes - at - sizeof(*record), fragment = (size_t)record->length - sizeof(*record);

    if (record->head.kind != HEAD_DATA || fragment - here < DIRECT_MIN)
        return false;
    in->place = receiver.data_place(in->rank, &record->head, fragment);
    if (!in->place)
        return false;
    memcpy(in->place, in->data + at + sizeof(*record), here);
    in->head = record->head;
    in->fragment = fragment;
    in->place += here;
    in->left = fragment - here;
    in->bytes = 0;
    return true;
}

/* Passes the complete records of the buffer to the receiver. */
static void records_take(struct connection *in)
{
    struct record record;
    size_t at = 0;

    while (in->bytes - at >= sizeof(record)) {
        memcpy(&record, in->data + at, sizeof(record));
        if (record.length < sizeof(record) || record.length > sizeof(record) + FRAGMENT_BYTES)
            mpi_abort(1, "rank %d has sent an invalid record of %llu bytes over TCP", in->rank,
                      (unsigned long long)record.length);
        if (in->bytes - at < record.length) {
            if (fragment_begin(in, &record, at))
                return;
            break;
        }
        if (record.head.kind != HEAD_WAKE)
            receiver.arrived(in->rank, &record.head, in->data + at + sizeof(record),
                             (size_t)record.length - sizeof(record));
        at += (size_t)record.length;
    }
    if (at)
        memmove(in->data, in->data + at, in->bytes - at);
    in->bytes -= at;
}

static bool hello_is_good(struct connection *in)
{
    const struct record met = { sizeof(met), { .kind = HEAD_WAKE } };

    if (in->bytes < sizeof(struct hello))
        return true;
    const char *why = hello_take(in);
    if (why) {
        if (strangers_named < NAMED_MAX)
            fprintf(stderr, "mpi-lite: rank %d closed a connection made to it: %s%s\n", mpi_world.rank, why,
                    ++strangers_named == NAMED_MAX ? " (it closes further ones without a message)" : "");
        return false;
    }
    in->bytes -= sizeof(struct hello);
    memmove(in->data, in->data + sizeof(struct hello), in->bytes);
    out_keep(in, &met, sizeof(met));
    if (!out_flush(in))
        connection_watch(in);
    return true;
}

/* Closes a connection that both ends have shut down, and takes what had to wait for that. */
static void connection_end(struct connection *ended)
{
    const int rank = ended->rank;

    retiring -= ended->retires;
    if (outs[rank] == ended)
        outs[rank] = NULL;
    connection_close(ended);
    for (struct connection *one = connections; one && !rank_retires(rank); one = one->next) {
        if (one->rank != rank || !one->waits)
            continue;
        one->waits = false;
        if (!outs[rank])
            outs[rank] = one;
        records_take(one);
    }
}

/* Handles the end of what a connection receives. Once this rank has sent what it had, it closes a rank's
 * connection. */
static void in_ends(struct connection *in)
{
    if (in->rank >= 0 && (in->bytes || in->left)) {
        pmi_end_await();
        mpi_abort(1, "rank %d has closed its connection in the middle of a message", in->rank);
    }
    if (in->rank < 0) {
        connection_close(in);
        return;
    }
    in->has_ended = true;
    if (outs[in->rank] == in)
        outs[in->rank] = NULL;
    if (hot == in)
        hot = NULL;
    if (out_flush(in))
        connection_end(in);
    else
        connection_watch(in);
}

/* Counts received bytes, first those in the place of a fragment. */
static void in_came(struct connection *in, size_t bytes)
{
    size_t placed = bytes < in->left ? bytes : in->left;

    in->bytes += bytes - placed;
    if (!placed)
        return;
    in->place += placed;
    in->left -= placed;
    if (!in->left)
        receiver.data_placed(in->rank, &in->head, in->fragment);
}

/* Reads into the place of a fragment, and what follows it into the buffer, which is empty then. */
static ssize_t in_read(struct connection *in)
{
    struct iovec parts[2] = { { in->place, in->left },
                              { in->data + in->bytes, sizeof(in->data) - in->bytes } };
    struct msghdr message = { .msg_iov = in->left ? parts : parts + 1, .msg_iovlen = in->left ? 2 : 1 };
    ssize_t bytes = recvmsg(in->watch.fd, &message, MSG_DONTWAIT);

    if (bytes > 0)
        in_came(in, (size_t)bytes);
    return bytes;
}

static bool in_take(struct connection *in)
{
    bool took = false;

    for (int i = 0; i < READS && !in->waits; i++) {
        size_t room = in->left + sizeof(in->data) - in->bytes;
        ssize_t bytes = in_read(in);

        if (bytes < 0 && would_block())
            break;
        if (bytes <= 0) {
            in_ends(in);
            break;
        }
        if (in->rank < 0 && !hello_is_good(in)) {
            connection_close(in);
            break;
        }
        if (in->rank >= 0 && !in->waits) {
            hot = in;
            took = true;
            in->used = ++uses;
            in->is_met = true;
            records_take(in);
        }
        if ((size_t)bytes < room)
            break;
    }
    return took;
}

static bool events_take(void)
{
    struct epoll_event events[EVENTS];
    bool took = false, has_newcomer = false;
    int count = epoll_wait(events_fd, events, EVENTS, 0);

    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        struct connection *connection = (struct connection *)(void *)watch;

        if (watch->kind == WATCH_LISTENER) {
            has_newcomer = true; /* handled later: it may close what other events point to */
        } else if (watch->kind == WATCH_BELL) {
            continue; /* for the thread in tcp_wait, which alone resets it */
        } else {
            if (connection->begin < connection->end && events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
                took |= out_flush(connection);
            if (connection->has_ended && connection->begin == connection->end)
                connection_end(connection);
            else if (!connection->has_ended && events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP))
                took |= in_take(connection);
        }
    }
    if (has_newcomer)
        listener_take();
    return took;
}

static bool tcp_poll(void)
{
    static unsigned rounds;

    if (hot && ++rounds % HOT_ROUNDS)
        return in_take(hot);
    return events_take();
}

/* ---- Waits that block ---- */

void tcp_wait(void)
{
    struct epoll_event event;
    uint64_t rung;

    (void)epoll_wait(events_fd, &event, 1, -1); /* the caller checks again, whatever it returns */
    (void)!read(bell.fd, &rung, sizeof(rung));  /* whether it was rung or not */
}

void tcp_wake(int rank)
{
    const struct head head = { .kind = HEAD_WAKE };
    uint64_t one = 1;

    if (rank == mpi_world.rank)
        (void)!write(bell.fd, &one, sizeof(one)); /* full: it is rung already */
    else
        (void)tcp_send(rank, &head, NULL, 0); /* if there is no room, records on their way will wake it */
}

/* ---- Beginning and end ---- */

static int listener_make(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t bytes = sizeof(address);
    char key[64], text[80], own[64];

    listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener.fd < 0 || bind(listener.fd, (struct sockaddr *)&address, sizeof(address)) ||
        listen(listener.fd, 1024) || getsockname(listener.fd, (struct sockaddr *)&address, &bytes))
        return mpi_error(MPI_ERR_OTHER, "cannot make a socket for ranks of other nodes: %s", strerror(errno));
    int error = pmi_local_address(own, sizeof(own));
    if (error)
        return error;
    snprintf(key, sizeof(key), "tacet-mpi-address-%d", mpi_world.rank);
    snprintf(text, sizeof(text), "%s:%d", own, ntohs(address.sin_port));
    return pmi_put(key, text);
}

static int tcp_begin(const struct receiver *given)
{
    receiver = *given;
    if (mpi_world.nodes == 1)
        return MPI_SUCCESS;
    tcp_descriptors_raise(mpi_world.size - mpi_world.node_size);
    outs = calloc((size_t)mpi_world.size, sizeof(*outs));
    if (!outs)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %d ranks", mpi_world.size);
    int error = listener_make();
    if (!error)
        error = tcp_secret_agree(&secret);
    if (error)
        return error;
    bell.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    events_fd = epoll_create1(EPOLL_CLOEXEC);
    if (bell.fd < 0 || events_fd < 0)
        return mpi_error(MPI_ERR_OTHER, "cannot make descriptors for ranks of other nodes: %s",
                         strerror(errno));
    watch_add(&listener, EPOLLIN);
    watch_add(&bell, EPOLLIN);
    return MPI_SUCCESS;
}

/* Sends what is left; then shuts the connection down for sending. */
static void out_end(struct connection *out)
{
    fcntl(out->watch.fd, F_SETFL, 0);
    while (out->begin < out->end) {
        ssize_t bytes = send(out->watch.fd, out->pending + out->begin, out->end - out->begin, MSG_NOSIGNAL);

        if (bytes <= 0 && errno != EINTR)
            break; /* the other end has ended, and no longer needs it */
        out->begin += bytes > 0 ? (size_t)bytes : 0;
    }
    shutdown(out->watch.fd, SHUT_WR);
}

/* Reads until the other end has shut down, too: if the socket were closed before, the other end would lose
 * unread data. Ranks end together; after END_MS without data the wait ends. */
static void in_drain(struct connection *in)
{
    struct pollfd ready = { .fd = in->watch.fd, .events = POLLIN };

    while (!in->has_ended && poll(&ready, 1, END_MS) == 1)
        in->has_ended = recv(in->watch.fd, in->data, sizeof(in->data), MSG_DONTWAIT) <= 0;
}

static void tcp_end(void)
{
    if (!tcp_is_used())
        return;
    for (struct connection *one = connections; one; one = one->next)
        if (one->rank >= 0)
            out_end(one);
    for (struct connection *one = connections; one; one = one->next)
        if (one->rank >= 0)
            in_drain(one);
    while (connections)
        connection_close(connections);
    free(outs);
    close(listener.fd);
    close(bell.fd);
    close(spare_fd);
    close(events_fd);
    listener.fd = bell.fd = events_fd = spare_fd = -1;
}

const struct transport transport_tcp = {
    .name = "TCP",
    .begin = tcp_begin,
    .end = tcp_end,
    .send = tcp_send,
    .fragment_bytes = tcp_fragment_bytes,
    .eager_bytes = 64 << 10,
    .poll = tcp_poll,
};
