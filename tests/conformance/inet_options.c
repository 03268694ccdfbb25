/* SPDX-License-Identifier: BSD-2-Clause */
/* inet_options.c: options of sockets of AF_INET that libraries set: what is read before and after they are
 * set, and what they do on loopback. */
#include "inet_sockets.h"

#include <sys/epoll.h>

#ifndef TCP_NOTSENT_LOWAT
#define TCP_NOTSENT_LOWAT 25
#endif
#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif
#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

static void tried(const char *name, int end, int level, int which, int value)
{
    char what[80];

    snprintf(what, sizeof(what), "%s", name);
    result(what, option(end, level, which));
    snprintf(what, sizeof(what), "%s set to %d", name, value);
    result(what, option_set(end, level, which, value));
    snprintf(what, sizeof(what), "%s after %d", name, value);
    result(what, option(end, level, which));
}

#define TRY(end, level, which, value) tried(#which, end, level, which, value)

static void of_streams(void)
{
    int end = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);
    char name[16] = "";
    socklen_t bytes = sizeof(name);

    TRY(end, IPPROTO_TCP, TCP_USER_TIMEOUT, 1500);
    result("TCP_USER_TIMEOUT below 0", option_set(end, IPPROTO_TCP, TCP_USER_TIMEOUT, -1));
    TRY(end, IPPROTO_TCP, TCP_SYNCNT, 3);
    result("TCP_SYNCNT of none", option_set(end, IPPROTO_TCP, TCP_SYNCNT, 0));
    TRY(end, IPPROTO_TCP, TCP_QUICKACK, 0);
    result("TCP_DEFER_ACCEPT", option(end, IPPROTO_TCP, TCP_DEFER_ACCEPT));
    TRY(end, IPPROTO_TCP, TCP_LINGER2, 5);
    option_set(end, IPPROTO_TCP, TCP_LINGER2, -7);
    holds("TCP_LINGER2 of none", option(end, IPPROTO_TCP, TCP_LINGER2) == -1);
    TRY(end, IPPROTO_TCP, TCP_WINDOW_CLAMP, 65536);
    option_set(end, IPPROTO_TCP, TCP_WINDOW_CLAMP, 10);
    result("TCP_WINDOW_CLAMP after 10", option(end, IPPROTO_TCP, TCP_WINDOW_CLAMP));
    TRY(end, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 16384);
    TRY(end, IPPROTO_TCP, TCP_MAXSEG, 1000);
    result("TCP_MAXSEG too small", option_set(end, IPPROTO_TCP, TCP_MAXSEG, 10));
    TRY(end, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1);
    result("TCP_CONGESTION reno", sys(SYS_setsockopt, end, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
    result("TCP_CONGESTION read", sys(SYS_getsockopt, end, IPPROTO_TCP, TCP_CONGESTION, name, &bytes));
    text("TCP_CONGESTION then", name);
    result("TCP_CONGESTION unknown", sys(SYS_setsockopt, end, IPPROTO_TCP, TCP_CONGESTION, "nonesuch", 8));
    result("TCP_CONGESTION too short", sys(SYS_setsockopt, end, IPPROTO_TCP, TCP_CONGESTION, "re", 2));
    result("IP_MTU of none", option(end, IPPROTO_IP, IP_MTU));
    TRY(end, SOL_SOCKET, SO_RCVLOWAT, 10);
    option_set(end, SOL_SOCKET, SO_RCVLOWAT, 0);
    result("SO_RCVLOWAT after 0", option(end, SOL_SOCKET, SO_RCVLOWAT));
    TRY(end, SOL_SOCKET, SO_PRIORITY, 4);
    sys(SYS_close, end);
}

static void of_datagrams(void)
{
    int end = (int)sys(SYS_socket, AF_INET, SOCK_DGRAM, 0);
    char name[16] = "?";
    socklen_t bytes = sizeof(name);

    TRY(end, IPPROTO_IP, IP_TOS, 0x10);
    TRY(end, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    result("IP_MTU_DISCOVER unknown", option_set(end, IPPROTO_IP, IP_MTU_DISCOVER, 9));
    TRY(end, IPPROTO_IP, IP_RECVERR, 1);
    TRY(end, IPPROTO_IP, IP_PKTINFO, 1);
    TRY(end, IPPROTO_IP, IP_RECVTTL, 7);
    TRY(end, IPPROTO_IP, IP_RECVTOS, 1);
    TRY(end, IPPROTO_IP, IP_FREEBIND, 1);
    TRY(end, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    TRY(end, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    TRY(end, SOL_SOCKET, SO_TIMESTAMP, 1);
    TRY(end, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    result("SO_TIMESTAMP then", option(end, SOL_SOCKET, SO_TIMESTAMP));
    result("no device", sys(SYS_getsockopt, end, SOL_SOCKET, SO_BINDTODEVICE, name, &bytes));
    result("its bytes", bytes);
    result("an unknown device", sys(SYS_setsockopt, end, SOL_SOCKET, SO_BINDTODEVICE, "nonesuch", 9));
    result("lo", sys(SYS_setsockopt, end, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
    bytes = sizeof(name);
    result("the device", sys(SYS_getsockopt, end, SOL_SOCKET, SO_BINDTODEVICE, name, &bytes));
    text("its name", name);
    sys(SYS_close, end);
}

static int sharing(int type, int with, long *error)
{
    struct sockaddr_in name = with < 0 ? at(0) : name_of(with);
    int end = (int)sys(SYS_socket, AF_INET, type, 0);

    option_set(end, SOL_SOCKET, SO_REUSEPORT, 1);
    *error = sys(SYS_bind, end, &name, sizeof(name));
    if (!*error && type == SOCK_STREAM)
        *error = sys(SYS_listen, end, 100);
    return end;
}

#define SHARERS 3
#define PEERS   60

/* Each of several sockets of a port gets a part of what comes, and a peer's datagrams all go to one. */
static void shared(int type)
{
    int ends[SHARERS], peers[PEERS], counts[SHARERS] = { 0 }, all = 0;
    const char *const kind = type == SOCK_STREAM ? "listeners" : "sockets";
    char what[80];
    long error;

    for (int i = 0; i < SHARERS; i++) {
        ends[i] = sharing(type, i ? ends[0] : -1, &error);
        snprintf(what, sizeof(what), "%s of a port, %d", kind, i);
        result(what, error);
    }
    for (int i = 0; i < PEERS; i++) {
        peers[i] = (int)sys(SYS_socket, AF_INET, type, 0);
        connected(peers[i], ends[0]);
        if (type == SOCK_DGRAM)
            sent(peers[i], "x", 0);
    }
    for (int tries = 0; all < PEERS && tries < 1000; tries++)
        for (int i = 0; i < SHARERS; i++) {
            struct pollfd set = { ends[i], POLLIN, 0 };
            char word[4];

            while (sys(SYS_poll, &set, 1, i ? 0 : 1) == 1) {
                if (type == SOCK_STREAM)
                    sys(SYS_close, sys(SYS_accept4, ends[i], NULL, NULL, 0));
                else
                    got(ends[i], word, sizeof(word), 0);
                counts[i]++;
                all++;
            }
        }
    snprintf(what, sizeof(what), "%s have all", kind);
    result(what, all);
    snprintf(what, sizeof(what), "%s have a part each", kind);
    holds(what, counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
    for (int i = 0; i < PEERS; i++)
        sys(SYS_close, peers[i]);
    for (int i = 0; i < SHARERS; i++)
        sys(SYS_close, ends[i]);
}

static void not_shared(void)
{
    struct sockaddr_in name;
    long error;
    int first = sharing(SOCK_STREAM, -1, &error), second = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);
    int third = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0),
        fourth = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);

    name = name_of(first);
    result("without SO_REUSEPORT", sys(SYS_bind, second, &name, sizeof(name)));
    option_set(second, SOL_SOCKET, SO_REUSEADDR, 1);
    result("with SO_REUSEADDR", sys(SYS_bind, second, &name, sizeof(name)));
    option_set(third, SOL_SOCKET, SO_REUSEADDR, 1);
    option_set(fourth, SOL_SOCKET, SO_REUSEADDR, 1);
    name = at(0);
    result("a third", sys(SYS_bind, third, &name, sizeof(name)));
    name = name_of(third);
    result("a fourth with it", sys(SYS_bind, fourth, &name, sizeof(name)));
    result("the third listens", sys(SYS_listen, third, 5));
    result("the fourth, too", sys(SYS_listen, fourth, 5));
    sys(SYS_close, first);
    sys(SYS_close, second);
    sys(SYS_close, third);
    sys(SYS_close, fourth);
}

/* A listener joins others while they have connections, at any address. */
static void joining(void)
{
    struct sockaddr_in name = { .sin_family = AF_INET };
    int ends[2], client = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0), accepted = -1;

    for (int i = 0; i < 2; i++) {
        ends[i] = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);
        option_set(ends[i], SOL_SOCKET, SO_REUSEPORT, 1);
        result(i ? "joining" : "at any address", sys(SYS_bind, ends[i], &name, sizeof(name)));
        result(i ? "listening, too" : "listening", sys(SYS_listen, ends[i], 5));
        if (i)
            break;
        name.sin_port = name_of(ends[0]).sin_port;
        result("a connection", connected(client, ends[0]));
        accepted = (int)sys(SYS_accept4, ends[0], NULL, NULL, 0);
    }
    sys(SYS_close, client);
    sys(SYS_close, accepted);
    sys(SYS_close, ends[0]);
    sys(SYS_close, ends[1]);
}

static void deferred(void)
{
    int listener = bound(SOCK_STREAM), client = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0), end;
    int flags = SOCK_NONBLOCK;
    char words[8];

    result("TCP_DEFER_ACCEPT set to 3", option_set(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 3));
    result("TCP_DEFER_ACCEPT after 3", option(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT));
    result("TCP_DEFER_ACCEPT set to 4", option_set(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 4));
    result("TCP_DEFER_ACCEPT after 4", option(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT));
    option_set(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 30);
    option_set(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
    option_set(listener, IPPROTO_TCP, TCP_USER_TIMEOUT, 70000);
    sys(SYS_listen, listener, 5);
    result("connect", connected(client, listener));
    result("accept before the first bytes", ready(listener));
    sent(client, "hello", 0);
    result("accept with them", ready_then(listener));
    end = (int)sys(SYS_accept4, listener, NULL, NULL, flags);
    result("they are there", got(end, words, sizeof(words), 0));
    result("keepalive of the listener's", option(end, SOL_SOCKET, SO_KEEPALIVE));
    result("the listener's time limit", option(end, IPPROTO_TCP, TCP_USER_TIMEOUT));
    sys(SYS_close, client);
    sys(SYS_close, end);
    sys(SYS_close, listener);
}

static void *send_slowly(void *end)
{
    for (int i = 0; i < 4; i++) {
        sent(*(int *)end, "abc", 0);
        rest_ms(20);
    }
    return NULL;
}

static void low_water(void)
{
    int listener = bound(SOCK_STREAM), client = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0), end;
    char words[32];
    pthread_t other;
    long bytes;

    sys(SYS_listen, listener, 5);
    connected(client, listener);
    end = (int)sys(SYS_accept4, listener, NULL, NULL, 0);
    option_set(end, IPPROTO_TCP, TCP_NODELAY, 1);
    option_set(client, SOL_SOCKET, SO_RCVLOWAT, 10);
    sent(end, "12345", 0);
    rest_ms(20);
    result("half of what is wanted", ready(client) & POLLIN);
    sent(end, "67890", 0);
    result("all that is wanted", ready_then(client) & POLLIN);
    got(client, words, sizeof(words), 0);
    pthread_create(&other, NULL, send_slowly, &end);
    bytes = got(client, words, sizeof(words), 0);
    holds("a wait for ten bytes", bytes >= 10);
    pthread_join(other, NULL);
    sys(SYS_close, client);
    sys(SYS_close, end);
    sys(SYS_close, listener);
}

/* What comes with a datagram, and goes with one. */
static void ancillary(void)
{
    int to = bound(SOCK_DGRAM), from = (int)sys(SYS_socket, AF_INET, SOCK_DGRAM, 0), tos = 0x20, ttl = 9;
    struct sockaddr_in name = name_of(to);
    _Alignas(8) char sent_bytes[CMSG_SPACE(4) * 2] = { 0 }, got_bytes[256];
    struct iovec part = { "words", 5 };
    struct msghdr message = { .msg_name = &name,
                              .msg_namelen = sizeof(name),
                              .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = sent_bytes,
                              .msg_controllen = sizeof(sent_bytes) };
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    int got_tos = -1, got_ttl = -1;
    bool in_ns = false;

    item->cmsg_len = CMSG_LEN(4);
    item->cmsg_level = IPPROTO_IP;
    item->cmsg_type = IP_TOS;
    memcpy(CMSG_DATA(item), &tos, 4);
    item = (struct cmsghdr *)(sent_bytes + CMSG_SPACE(4));
    item->cmsg_len = CMSG_LEN(4);
    item->cmsg_level = IPPROTO_IP;
    item->cmsg_type = IP_TTL;
    memcpy(CMSG_DATA(item), &ttl, 4);
    option_set(to, IPPROTO_IP, IP_RECVTOS, 1);
    option_set(to, IPPROTO_IP, IP_RECVTTL, 1);
    option_set(to, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    result("sent with a TOS and a TTL", sys(SYS_sendmsg, from, &message, 0));
    message = (struct msghdr){ .msg_iov = &(struct iovec){ (char[8]){ 0 }, 8 }, .msg_iovlen = 1 };
    message.msg_control = got_bytes;
    message.msg_controllen = sizeof(got_bytes);
    result("received", sys(SYS_recvmsg, to, &message, 0));
    for (item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TOS)
            got_tos = *(unsigned char *)CMSG_DATA(item);
        if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TTL)
            memcpy(&got_ttl, CMSG_DATA(item), sizeof(got_ttl));
        if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SO_TIMESTAMPNS)
            in_ns = item->cmsg_len == CMSG_LEN(16);
    }
    result("the TOS", got_tos);
    result("the TTL", got_ttl);
    holds("the time, in nanoseconds", in_ns);
    sys(SYS_close, to);
    sys(SYS_close, from);
}

CONFORM(inet_options)
{
    of_streams();
    of_datagrams();
    shared(SOCK_STREAM);
    shared(SOCK_DGRAM);
    not_shared();
    joining();
    deferred();
    low_water();
    ancillary();
}
