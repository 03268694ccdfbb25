/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socket_races.c NAME [ROUNDS]: several threads make the same call on one new AF_INET socket at the same
 * time, and each gets a result that Linux could give. Also packets of all sizes go through each kind of
 * socket. The comment above each function says what it promises. Linux keeps the same promises.
 */
#define _GNU_SOURCE
#include "sharing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>

#define THREADS 3
#define UDP_MAX 65507 /* bytes of an IP packet, less the headers of IP and UDP */
#define RAW_MAX 65515

static int shared = -1;                    /* the socket that all collide on */
static struct sockaddr_in listening, sink; /* a listening socket's name; where datagrams go */
static volatile unsigned round_number, arrived;
static int answers[THREADS], errors[THREADS];
static int (*act)(unsigned thread);

static struct sockaddr_in local(void)
{
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* Makes a socket at its own port, which listens if it is a stream. */
static int bound(int type, struct sockaddr_in *name)
{
    socklen_t bytes = sizeof(*name);
    int made = socket(AF_INET, type, 0);

    *name = local();
    IS(bind(made, (void *)name, sizeof(*name)), 0);
    if (type == SOCK_STREAM)
        IS(listen(made, 64), 0);
    IS(getsockname(made, (void *)name, &bytes), 0);
    return made;
}

/* Makes one thread's call in a round: spins, so that the calls coincide, with a varying offset. */
static void take_part(unsigned thread)
{
    unsigned this_round = round_number;

    for (volatile unsigned i = this_round * (thread + 1) * 7 % 64; i > 0; i--)
        ;
    errno = 0;
    answers[thread] = act(thread);
    errors[thread] = errno;
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
}

static void *other(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument, seen = 0;

    pin(0, 1UL << thread % cpus);
    while (!over) {
        if (round_number == seen) {
            sched_yield();
            continue;
        }
        seen = round_number;
        take_part(thread);
    }
    return NULL;
}

/* Runs a round: a new socket, and the calls of all threads at once. */
static void collide(int made)
{
    shared = made;
    arrived = 0;
    __atomic_add_fetch(&round_number, 1, __ATOMIC_SEQ_CST);
    take_part(0);
    while (arrived != THREADS)
        sched_yield();
}

/* Returns how many threads got this result: 0, or an errno. */
static unsigned got(int error)
{
    unsigned count = 0;

    for (unsigned i = 0; i < THREADS; i++)
        count += error ? answers[i] == -1 && errors[i] == error : answers[i] == 0;
    return count;
}

static int stream(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int datagram(void)
{
    return socket(AF_INET, SOCK_DGRAM, 0);
}

/* Runs rounds, each with a socket that `make` returns. */
static void rounds(int (*call)(unsigned), void (*judge)(void), int (*make)(void))
{
    act = call;
    pin(0, 1);
    for (unsigned i = 1; i < THREADS; i++)
        start(i, other);
    for (uint64_t i = 0; i < number; i++) {
        collide(make());
        judge();
        close(shared);
    }
    over = true;
    join(1, THREADS);
}

/* ---- Datagrams ---- */

static int sink_socket = -1;

static int first_datagram(unsigned thread)
{
    char byte = (char)('a' + thread);

    return sendto(shared, &byte, 1, 0, (void *)&sink, sizeof(sink)) == 1 ? 0 : -1;
}

static void all_from_one_port(void)
{
    in_port_t port = 0;
    unsigned seen = 0;

    PROMISE(got(0) == THREADS, "%d %d %d", errors[0], errors[1], errors[2]);
    for (unsigned i = 0; i < THREADS; i++) {
        struct sockaddr_in from = { 0 };
        socklen_t bytes = sizeof(from);
        char byte = 0;

        IS(recvfrom(sink_socket, &byte, 1, 0, (void *)&from, &bytes), 1);
        seen |= 1U << (byte - 'a');
        PROMISE(from.sin_port != 0 && (port == 0 || port == from.sin_port), "%u", ntohs(from.sin_port));
        port = from.sin_port;
    }
    PROMISE(seen == (1U << THREADS) - 1, "%x", seen);
}

/* Checks that all first datagrams of a socket are sent, from one port. */
static void datagrams(void)
{
    sink_socket = bound(SOCK_DGRAM, &sink);
    rounds(first_datagram, all_from_one_port, datagram);
}

static int datagram_connect(unsigned thread)
{
    return thread == 0 ? first_datagram(0) : connect(shared, (void *)&sink, sizeof(sink));
}

static void one_name(void)
{
    struct sockaddr_in name = { 0 };
    socklen_t bytes = sizeof(name);
    char byte;

    PROMISE(got(0) == THREADS, "%d %d %d", errors[0], errors[1], errors[2]);
    IS(getsockname(shared, (void *)&name, &bytes), 0);
    PROMISE(name.sin_port != 0, "no port");
    IS(recvfrom(sink_socket, &byte, 1, 0, NULL, NULL), 1);
}

/* Checks one thread that sends while others connect: the socket has exactly one port. */
static void datagram_connects(void)
{
    sink_socket = bound(SOCK_DGRAM, &sink);
    rounds(datagram_connect, one_name, datagram);
}

/* ---- Names ---- */

static int bind_any(unsigned thread)
{
    struct sockaddr_in name = local();

    (void)thread;
    return bind(shared, (void *)&name, sizeof(name));
}

static void one_is_bound(void)
{
    PROMISE(got(0) == 1 && got(EINVAL) == THREADS - 1, "%d %d %d", errors[0], errors[1], errors[2]);
}

/* Checks that of several threads that bind a socket one succeeds. */
static void binds(void)
{
    rounds(bind_any, one_is_bound, stream);
}

static void datagram_binds(void)
{
    rounds(bind_any, one_is_bound, datagram);
}

static int listen_now(unsigned thread)
{
    (void)thread;
    return listen(shared, 8);
}

static void all_listen(void)
{
    struct sockaddr_in name = { 0 };
    socklen_t bytes = sizeof(name);
    int client = socket(AF_INET, SOCK_STREAM, 0);

    PROMISE(got(0) == THREADS, "%d %d %d", errors[0], errors[1], errors[2]);
    IS(getsockname(shared, (void *)&name, &bytes), 0);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    IS(connect(client, (void *)&name, sizeof(name)), 0);
    close(client);
}

/* Checks that several threads that make a socket listen all succeed, and it listens. */
static void listens(void)
{
    rounds(listen_now, all_listen, stream);
}

/* ---- Connections ---- */

static struct sockaddr_in nobody; /* no socket listens there */

static int connect_listening(unsigned thread)
{
    (void)thread;
    return connect(shared, (void *)&listening, sizeof(listening));
}

static void one_connection(void)
{
    int accepted = accept(sink_socket, NULL, NULL);

    PROMISE(got(0) >= 1 && got(0) + got(EISCONN) + got(EALREADY) == THREADS, "%d %d %d", errors[0], errors[1],
            errors[2]);
    PROMISE(accepted >= 0, "errno %d", errno);
    FAILS(accept(sink_socket, NULL, NULL), EAGAIN);
    close(accepted);
}

static void listener_make(void)
{
    sink_socket = bound(SOCK_STREAM, &listening);
    fcntl(sink_socket, F_SETFL, O_NONBLOCK);
}

/* Checks that several threads that connect a socket make one connection. */
static void connects(void)
{
    listener_make();
    rounds(connect_listening, one_connection, stream);
}

static int connect_refused(unsigned thread)
{
    char byte;

    if (thread == 0 || (round_number & 1 && thread == 1))
        return connect(shared, (void *)&nobody, sizeof(nobody));
    if (recv(shared, &byte, 1, round_number & 2 ? MSG_DONTWAIT : 0) != 0)
        return -1;
    return 0;
}

/* Checks a refused connection: one call returns the refusal; a read at the same time fails or ends; then the
 * socket can be connected. */
static void refused_and_used_again(void)
{
    PROMISE(got(ECONNREFUSED) >= 1, "%d %d %d", errors[0], errors[1], errors[2]);
    PROMISE(got(ECONNREFUSED) + got(ECONNABORTED) + got(ENOTCONN) + got(EALREADY) + got(EAGAIN) + got(0) ==
                THREADS,
            "%d %d %d", errors[0], errors[1], errors[2]);
    for (unsigned tries = 0; tries < 2 && connect_listening(0) == -1; tries++)
        PROMISE(errno == ECONNABORTED || errno == ECONNREFUSED, "errno %d", errno);
    int accepted = accept(sink_socket, NULL, NULL);
    PROMISE(accepted >= 0, "errno %d", errno);
    close(accepted);
}

static void refusals(void)
{
    int unused = bound(SOCK_DGRAM, &nobody); /* of UDP alone */

    listener_make();
    rounds(connect_refused, refused_and_used_again, stream);
    close(unused);
}

static int clients[4];          /* whose connections wait to be accepted */
static volatile bool has_ended; /* the listening socket */

static int queue_make(void)
{
    int made = bound(SOCK_STREAM, &listening);

    fcntl(made, F_SETFL, O_NONBLOCK);
    has_ended = false;
    for (unsigned i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
        clients[i] = stream();
        IS(connect(clients[i], (void *)&listening, sizeof(listening)), 0);
    }
    return made;
}

static int end_or_use(unsigned thread)
{
    int answer = 0;

    if (thread == 0) {
        answer = shutdown(shared, SHUT_RDWR);
        has_ended = true;
    }
    while (!has_ended)
        if ((round_number + thread) & 1)
            connect(shared, (void *)&sink, sizeof(sink));
        else
            listen(shared, 8);
    return answer;
}

static void queue_has_ended(void)
{
    PROMISE(got(0) == THREADS, "%d %d %d", errors[0], errors[1], errors[2]);
    shutdown(shared, SHUT_RDWR); /* it may listen again */
    for (unsigned i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
        char byte;
        ssize_t end = recv(clients[i], &byte, 1, 0);

        PROMISE(end == 0 || (end == -1 && errno == ECONNRESET), "%zd, errno %d", end, errno);
        close(clients[i]);
    }
}

/* Checks a thread that ends a listening socket while others connect it to a peer that is slow to accept, or
 * let it listen again: connections that were not accepted end. */
static void listener_ends(void)
{
    sink_socket = bound(SOCK_STREAM, &sink);
    listen(sink_socket, 1);
    rounds(end_or_use, queue_has_ended, queue_make);
}

/* ---- Sizes ---- */

static char sent[1 << 17], received[1 << 17];

/* Sends packets of some sizes, and of the `last` ones up to the largest, which come back after a header of
 * `skipped` bytes; larger ones are refused. */
static void echo_sizes(int from, int to, const struct sockaddr_in *name, unsigned largest, unsigned last,
                       unsigned skipped)
{
    static const unsigned of[] = { 0, 1, 1471, 1472, 1473, 4096, 32768, 65000 };
    const unsigned some = sizeof(of) / sizeof(of[0]);

    for (unsigned i = 0; i < sizeof(sent); i++)
        sent[i] = (char)(i * 7 + i / 251);
    for (unsigned i = 0; i < some + last; i++) {
        unsigned bytes = i < some ? of[i] : largest - last + 1 + i - some;

        IS(sendto(from, sent, bytes, 0, (const void *)name, sizeof(*name)), (ssize_t)bytes);
        ssize_t came = recv(to, received, sizeof(received), 0);
        PROMISE(came == (ssize_t)(bytes + skipped) && memcmp(sent, received + skipped, bytes) == 0, "%u: %zd",
                bytes, came);
    }
    for (unsigned bytes = largest + 1; bytes <= 1 << 17; bytes = bytes < largest + 30 ? bytes + 1 : bytes * 2)
        FAILS(sendto(from, sent, bytes, 0, (const void *)name, sizeof(*name)), EMSGSIZE);
}

/* Datagrams of all sizes up to the largest arrive whole; larger ones are refused. */
static void sizes(void)
{
    int from = socket(AF_INET, SOCK_DGRAM, 0), to = bound(SOCK_DGRAM, &sink);

    echo_sizes(from, to, &sink, UDP_MAX, 40, 0);
    close(from);
    close(to);
}

/* Sends packets of all sizes by raw sockets, which see the IP header. */
static void raw_sizes(void)
{
    struct sockaddr_in name = local();
    int from = socket(AF_INET, SOCK_RAW, 254), to = socket(AF_INET, SOCK_RAW, 254);

    PROMISE(from >= 0 && to >= 0, "errno %d", errno);
    shutdown(from, SHUT_RD);
    echo_sizes(from, to, &name, RAW_MAX, 40, 20);
}

/* Checks Tacet's own limits: a node has eight raw sockets, and copies at most 64 KiB of a packet for all of
 * them together. */
static void raw_fans(void)
{
    struct sockaddr_in name = local();
    int all[8], got = 0;

    for (unsigned i = 0; i < 8; i++)
        PROMISE((all[i] = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, 254)) >= 0, "errno %d", errno);
    FAILS(socket(AF_INET, SOCK_RAW, 254), ENOBUFS);
    for (unsigned bytes = 1000; bytes <= 60000; bytes *= 2, got = 0) {
        IS(sendto(all[0], sent, bytes, 0, (void *)&name, sizeof(name)), (ssize_t)bytes);
        for (unsigned i = 0; i < 8; i++)
            got += recv(all[i], received, sizeof(received), 0) == (ssize_t)bytes + 20;
        unsigned fit = 65535 / (bytes + 20);
        IS(got, (int)(fit < 8 ? fit : 8));
    }
    close(all[7]);
    IS(socket(AF_INET, SOCK_RAW, 254) >= 0, 1);
}

static void pings(struct sockaddr_in name, unsigned smallest)
{
    int ping = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    struct icmphdr *echo = (void *)sent;

    PROMISE(ping >= 0, "errno %d", errno);
    for (unsigned bytes = smallest; bytes <= UDP_MAX; bytes++) {
        *echo = (struct icmphdr){ .type = ICMP_ECHO, .un.echo.sequence = (uint16_t)bytes };
        IS(sendto(ping, sent, bytes, 0, (void *)&name, sizeof(name)), (ssize_t)bytes);
        ssize_t came = recv(ping, received, sizeof(received), 0);
        PROMISE(came == (ssize_t)bytes && ((struct icmphdr *)received)->type == ICMP_ECHOREPLY, "%u: %zd",
                bytes, came);
    }
    FAILS(sendto(ping, sent, UDP_MAX + 1, 0, (void *)&name, sizeof(name)), EMSGSIZE);
}

/* Pings of the largest sizes are answered. */
static void ping_sizes(void)
{
    pings(local(), UDP_MAX - 37);
}

/* Sends packets of all sizes to a peer that sends them back: in fragments, both ways. */
static void wire_sizes(void)
{
    struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(7) };
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0), raw = socket(AF_INET, SOCK_RAW, 254);

    inet_pton(AF_INET, "10.9.0.1", &peer.sin_addr);
    echo_sizes(datagrams, datagrams, &peer, UDP_MAX, 3, 0);
    echo_sizes(raw, raw, &peer, RAW_MAX, 3, 20);
    pings(peer, UDP_MAX - 2);
}

static const struct test tests[] = {
    { "datagrams", datagrams },   { "datagram-connects", datagram_connects },
    { "binds", binds },           { "datagram-binds", datagram_binds },
    { "listens", listens },       { "connects", connects },
    { "refusals", refusals },     { "listener-ends", listener_ends },
    { "sizes", sizes },           { "raw-sizes", raw_sizes },
    { "ping-sizes", ping_sizes }, { "wire-sizes", wire_sizes },
    { "raw-fans", raw_fans },
};

int main(int count, char **arguments)
{
    return test_run(tests, sizeof(tests) / sizeof(tests[0]), count, arguments);
}
