/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp.c: messages between nodes, over TCP.
 *
 * A connection carries messages in one direction: who first has something to send connects, so that no two
 * ranks ever have to agree on one of two. It begins with a hello: a magic number (byte order included), the
 * job's secret, which ranks know from the launcher alone, and the sender's rank. Then come records:
 *
 *   | 8 bytes: length of all | struct head | data, at most FRAGMENT_BYTES |
 *
 * Sockets do not block; one epoll descriptor watches all. What a socket has not taken of a record waits in
 * memory; the next record is refused until it is out. A stranger whose hello is wrong is closed and named. A
 * rank that sends nonsense ends the job. Runs under the library's lock, but for tcp_wait.
 *
 * Where waits block and there are several nodes, a rank sleeps in this epoll, and others of its node wake it
 * by a record (HEAD_WAKE) in place of the futex of shared.c.
 */
#define _GNU_SOURCE /* accept4 */
#include "message.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define FRAGMENT_BYTES (32 << 10)
#define HELLO_MAGIC    0x31697061746d7074u
#define STRANGERS_MAX  64 /* connections that have not said who they are; one more closes the oldest */
#define EVENTS         16 /* taken in one poll */
#define READS          4  /* of one connection in one poll, so that none keeps the others waiting */

struct hello {
    uint64_t magic, secret;
    int32_t rank, size;
};

struct record {
    uint64_t length;
    struct head head;
};

enum watch_kind { WATCH_LISTENER, WATCH_BELL, WATCH_OUT, WATCH_IN };

struct watch {
    enum watch_kind kind; /* first in each structure that epoll points to */
    int fd;
};

/* To a rank. */
struct out {
    struct watch watch;
    int rank;
    bool is_watched;
    size_t begin, end; /* of what the socket has not taken */
    unsigned char pending[sizeof(struct hello) + sizeof(struct record) + FRAGMENT_BYTES];
};

/* From a rank, or, while `rank` is -1, from a stranger. */
struct in {
    struct watch watch;
    int rank;
    size_t bytes;
    struct in *next, **link;
    _Alignas(16) unsigned char data[2 * (sizeof(struct record) + FRAGMENT_BYTES)];
};

static struct watch listener = { WATCH_LISTENER, -1 }, bell = { WATCH_BELL, -1 };
static int events_fd = -1;
static struct out **outs; /* by world rank; NULL before the first message */
static struct in *ins;
static int strangers;
static uint64_t secret;

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

/* ---- Sending ---- */

static _Noreturn void out_failed(const struct out *out)
{
    mpi_abort(1, "the connection to rank %d is broken: %s", out->rank, strerror(errno));
}

static void out_watch(struct out *out, bool on)
{
    if (on == out->is_watched)
        return;
    out->is_watched = on;
    if (on)
        watch_add(&out->watch, EPOLLOUT);
    else if (epoll_ctl(events_fd, EPOLL_CTL_DEL, out->watch.fd, NULL))
        mpi_abort(1, "epoll_ctl: %s", strerror(errno));
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS || errno == ENOTCONN ||
           errno == EALREADY || errno == EINTR;
}

/* Sends what waits; whether nothing is left. */
static bool out_flush(struct out *out)
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
    out_watch(out, false);
    return true;
}

static int address_of(int rank, struct sockaddr_in *address)
{
    char key[64], text[64], *colon;

    snprintf(key, sizeof(key), "tacet-mpi-address-%d", rank);
    int error = pmi_get(key, text, sizeof(text));
    if (error)
        return error;
    *address = (struct sockaddr_in){ .sin_family = AF_INET };
    colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    if (!colon || inet_pton(AF_INET, text, &address->sin_addr) != 1)
        return mpi_error(MPI_ERR_OTHER, "%s has put \"%.40s\", which is no address", key, text);
    address->sin_port = htons((uint16_t)atoi(colon + 1));
    return MPI_SUCCESS;
}

static struct out *out_make(int rank)
{
    struct out *out = malloc(sizeof(*out));
    struct sockaddr_in address;
    int one = 1;

    if (!out)
        mpi_abort(1, "no memory for a connection to rank %d", rank);
    if (address_of(rank, &address))
        mpi_abort(1, "the launcher does not know where rank %d is", rank);
    *out =
        (struct out){ .watch = { WATCH_OUT, socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) },
                      .rank = rank };
    if (out->watch.fd < 0)
        mpi_abort(1, "no socket for rank %d: %s", rank, strerror(errno));
    setsockopt(out->watch.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* slower without, not wrong */
    if (connect(out->watch.fd, (struct sockaddr *)&address, sizeof(address)) && !would_block())
        mpi_abort(1, "rank %d cannot be reached at %s:%d: %s", rank, inet_ntoa(address.sin_addr),
                  ntohs(address.sin_port), strerror(errno));
    const struct hello hello = { HELLO_MAGIC, secret, mpi_world.rank, mpi_world.size };
    memcpy(out->pending, &hello, sizeof(hello));
    out->end = sizeof(hello);
    outs[rank] = out;
    return out;
}

static void out_keep(struct out *out, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(out->pending + out->end, data, bytes);
    out->end += bytes;
}

static bool tcp_send(int peer, const struct head *head, const void *data, size_t bytes)
{
    struct out *out = outs[peer];
    const struct record record = { sizeof(record) + bytes, *head };
    size_t sent = 0;

    if (!out) { /* the hello and the first record wait together until there is a connection */
        out = out_make(peer);
    } else if (!out_flush(out)) {
        out_watch(out, true);
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
    if (sent < sizeof(record))
        out_keep(out, (const char *)&record + sent, sizeof(record) - sent);
    size_t data_sent = sent > sizeof(record) ? sent - sizeof(record) : 0;
    if (data_sent < bytes)
        out_keep(out, (const char *)data + data_sent, bytes - data_sent);
    if (out->begin < out->end && !out_flush(out))
        out_watch(out, true);
    return true;
}

static size_t tcp_fragment_bytes(void)
{
    return FRAGMENT_BYTES;
}

/* ---- Receiving ---- */

static void in_close(struct in *in)
{
    strangers -= in->rank < 0;
    *in->link = in->next;
    if (in->next)
        in->next->link = in->link;
    close(in->watch.fd); /* which ends epoll's watch, too */
    free(in);
}

/* New ones come first in the list. */
static struct in *stranger_oldest(void)
{
    struct in *oldest = NULL;

    for (struct in *in = ins; in; in = in->next)
        if (in->rank < 0)
            oldest = in;
    return oldest;
}

static void listener_take(void)
{
    int fd = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (strangers == STRANGERS_MAX)
        in_close(stranger_oldest());
    struct in *in = malloc(sizeof(*in));
    if (!in) {
        close(fd);
        return;
    }
    *in = (struct in){ .watch = { WATCH_IN, fd }, .rank = -1, .next = ins, .link = &ins };
    if (ins)
        ins->link = &in->next;
    ins = in;
    strangers++;
    watch_add(&in->watch, EPOLLIN);
}

/* NULL, or why it is not one of the job's ranks. */
static const char *hello_take(struct in *in)
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
        return "its rank is none of this job's";
    in->rank = hello.rank;
    strangers--;
    return NULL;
}

/* Hands the whole records in the buffer on; whether there was one. */
static bool records_take(struct in *in)
{
    struct record record;
    size_t at = 0;

    while (in->bytes - at >= sizeof(record)) {
        memcpy(&record, in->data + at, sizeof(record));
        if (record.length < sizeof(record) || record.length > sizeof(record) + FRAGMENT_BYTES)
            mpi_abort(1, "rank %d has sent a record of %llu bytes over TCP, which makes no sense", in->rank,
                      (unsigned long long)record.length);
        if (in->bytes - at < record.length)
            break;
        if (record.head.kind != HEAD_WAKE)
            message_arrived(in->rank, &record.head, in->data + at + sizeof(record),
                            (size_t)record.length - sizeof(record));
        at += (size_t)record.length;
    }
    if (at)
        memmove(in->data, in->data + at, in->bytes - at);
    in->bytes -= at;
    return at != 0;
}

static bool hello_is_good(struct in *in)
{
    if (in->bytes < sizeof(struct hello))
        return true;
    const char *why = hello_take(in);
    if (why) {
        fprintf(stderr, "mpi-lite: rank %d: a connection is closed: %s\n", mpi_world.rank, why);
        return false;
    }
    in->bytes -= sizeof(struct hello);
    memmove(in->data, in->data + sizeof(struct hello), in->bytes);
    return true;
}

static bool in_take(struct in *in)
{
    bool took = false;

    for (int i = 0; i < READS; i++) {
        ssize_t bytes = recv(in->watch.fd, in->data + in->bytes, sizeof(in->data) - in->bytes, MSG_DONTWAIT);

        if (bytes < 0 && would_block())
            break;
        if (bytes <= 0) {
            if (in->rank >= 0 && in->bytes)
                mpi_abort(1, "rank %d has ended in the midst of a message", in->rank);
            in_close(in);
            break;
        }
        in->bytes += (size_t)bytes;
        if (in->rank < 0 && !hello_is_good(in)) {
            in_close(in);
            break;
        }
        if (in->rank >= 0)
            took |= records_take(in);
    }
    return took;
}

static bool tcp_poll(void)
{
    struct epoll_event events[EVENTS];
    bool took = false, has_newcomer = false;
    int count = epoll_wait(events_fd, events, EVENTS, 0);

    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;

        if (watch->kind == WATCH_LISTENER)
            has_newcomer = true; /* later: it may close what other events point to */
        else if (watch->kind == WATCH_BELL)
            continue; /* for the thread in tcp_wait, which alone stills it */
        else if (watch->kind == WATCH_OUT)
            took |= out_flush((struct out *)(void *)watch);
        else
            took |= in_take((struct in *)(void *)watch);
    }
    if (has_newcomer)
        listener_take();
    return took;
}

/* ---- Waits that block ---- */

void tcp_wait(void)
{
    struct epoll_event event;
    uint64_t rung;

    (void)epoll_wait(events_fd, &event, 1, -1); /* the caller looks again, whatever it says */
    (void)!read(bell.fd, &rung, sizeof(rung));  /* whether it was rung or not */
}

void tcp_wake(int rank)
{
    const struct head head = { .kind = HEAD_WAKE };
    uint64_t one = 1;

    if (rank == mpi_world.rank)
        (void)!write(bell.fd, &one, sizeof(one)); /* full: it is rung already */
    else
        (void)tcp_send(rank, &head, NULL,
                       0); /* where there is no room, records are on their way that wake it */
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
        return mpi_error(MPI_ERR_OTHER, "no socket for other nodes' ranks: %s", strerror(errno));
    int error = pmi_local_address(own, sizeof(own));
    if (error)
        return error;
    snprintf(key, sizeof(key), "tacet-mpi-address-%d", mpi_world.rank);
    snprintf(text, sizeof(text), "%s:%d", own, ntohs(address.sin_port));
    return pmi_put(key, text);
}

/* Rank 0 draws it. */
static int secret_agree(void)
{
    char text[32];
    int error = MPI_SUCCESS;

    if (mpi_world.rank == 0) {
        if (getrandom(&secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
            return mpi_error(MPI_ERR_OTHER, "no random number for the job's secret: %s", strerror(errno));
        snprintf(text, sizeof(text), "%016llx", (unsigned long long)secret);
        error = pmi_put("tacet-mpi-secret", text);
    }
    if (!error)
        error = pmi_barrier();
    if (!error && mpi_world.rank)
        error = pmi_get("tacet-mpi-secret", text, sizeof(text));
    if (!error && mpi_world.rank)
        secret = strtoull(text, NULL, 16);
    return error;
}

static int tcp_begin(void)
{
    if (mpi_world.nodes == 1)
        return MPI_SUCCESS;
    outs = calloc((size_t)mpi_world.size, sizeof(struct out *));
    if (!outs)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %d ranks", mpi_world.size);
    int error = listener_make();
    if (!error)
        error = secret_agree();
    if (error)
        return error;
    bell.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    events_fd = epoll_create1(EPOLL_CLOEXEC);
    if (bell.fd < 0 || events_fd < 0)
        return mpi_error(MPI_ERR_OTHER, "no descriptors for other nodes' ranks: %s", strerror(errno));
    watch_add(&listener, EPOLLIN);
    watch_add(&bell, EPOLLIN);
    return MPI_SUCCESS;
}

/* What is still to be sent goes first. */
static void tcp_end(void)
{
    if (!tcp_is_used())
        return;
    for (int i = 0; i < mpi_world.size; i++) {
        if (!outs[i])
            continue;
        fcntl(outs[i]->watch.fd, F_SETFL, 0);
        for (struct out *out = outs[i]; out->begin < out->end;) {
            ssize_t bytes =
                send(out->watch.fd, out->pending + out->begin, out->end - out->begin, MSG_NOSIGNAL);

            if (bytes <= 0 && errno != EINTR)
                break; /* it has ended, and needed it no more */
            out->begin += bytes > 0 ? (size_t)bytes : 0;
        }
        close(outs[i]->watch.fd);
        free(outs[i]);
    }
    while (ins)
        in_close(ins);
    free(outs);
    close(listener.fd);
    close(bell.fd);
    close(events_fd);
    listener.fd = bell.fd = events_fd = -1;
}

const struct transport transport_tcp = {
    .name = "TCP",
    .begin = tcp_begin,
    .end = tcp_end,
    .send = tcp_send,
    .fragment_bytes = tcp_fragment_bytes,
    .poll = tcp_poll,
};
