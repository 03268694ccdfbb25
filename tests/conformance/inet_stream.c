/* SPDX-License-Identifier: BSD-2-Clause */
/* inet_stream.c: TCP over loopback: connections, bytes, ends, errors. */
#include "inet_sockets.h"

static int listening, ends[2];

static void pair(void)
{
    ends[0] = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);
    connected(ends[0], listening);
    ends[1] = (int)sys(SYS_accept4, listening, NULL, NULL, 0);
}

static void unpair(void)
{
    sys(SYS_close, ends[0]);
    sys(SYS_close, ends[1]);
}

/* What has been sent over loopback has arrived, but a thread of the kernel's may be on its way with it. */
static void arrived(int end, int bytes)
{
    int unread = 0;

    for (int tries = 0; unread < bytes && tries < 1000; tries++) {
        sys(SYS_ioctl, end, FIONREAD, &unread);
        if (unread < bytes)
            sys(SYS_poll, NULL, 0, 1);
    }
}

static void making(void)
{
    struct sockaddr_in name = at(0), peer;
    socklen_t bytes = sizeof(peer);
    int client = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_TCP);

    result("another protocol", sys(SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_UDP));
    result("no such type", sys(SYS_socket, AF_INET, 17, 0));
    result("name before", name_of(client).sin_port);
    result("peer before", sys(SYS_getpeername, client, &peer, &bytes));
    result("read before", sys(SYS_read, client, &name, 1));
    result("sent before", sent(client, "x", MSG_NOSIGNAL));
    result("accept of what does not listen", sys(SYS_accept, client, NULL, NULL));
    result("shut down before", sys(SYS_shutdown, client, SHUT_WR));
    result("poll before", ready(client));
    result("bind with a short name", sys(SYS_bind, client, &name, 8));
    name.sin_family = AF_UNIX;
    result("bind with another family", sys(SYS_bind, client, &name, sizeof(name)));
    name = at(0);
    name.sin_addr.s_addr = htonl(0x08080808);
    result("bind to another's address", sys(SYS_bind, client, &name, sizeof(name)));
    listening = bound(SOCK_STREAM);
    name = name_of(listening);
    holds("a port was chosen", name.sin_port != 0);
    result("bind again", sys(SYS_bind, listening, &name, sizeof(name)));
    result("bind to a taken port", sys(SYS_bind, client, &name, sizeof(name)));
    result("connect to who does not listen", connected(client, listening));
    result("listen", sys(SYS_listen, listening, 5));
    result("is it listening", option(listening, SOL_SOCKET, SO_ACCEPTCONN));
    result("poll of a listener", ready(listening));
    result("connect", connected(client, listening));
    result("poll of a listener that is called", ready_then(listening));
    result("connect again", connected(client, listening));
    result("peer", sys(SYS_getpeername, client, &peer, &bytes));
    holds("the listener's", memcmp(&peer, &name, 8) == 0);
    ends[1] = (int)sys(SYS_accept4, listening, &peer, &bytes, SOCK_NONBLOCK);
    name = name_of(client);
    holds("accepted from it", memcmp(&peer, &name, 8) == 0);
    result("it does not wait", sys(SYS_read, ends[1], &name, 1));
    ends[0] = client;
    unpair();
}

static void moving(void)
{
    char words[64] = { 0 };
    int unread = -1;

    pair();
    result("poll of nothing", ready(ends[0]));
    result("sent", sent(ends[0], "hello ", 0));
    result("written", sys(SYS_write, ends[0], "world", 5));
    arrived(ends[1], 11);
    sys(SYS_ioctl, ends[1], FIONREAD, &unread);
    result("unread", unread);
    result("poll", ready(ends[1]));
    result("peek", got(ends[1], words, sizeof(words), MSG_PEEK));
    result("some", got(ends[1], words, 5, 0));
    result("the rest", sys(SYS_read, ends[1], words, sizeof(words)));
    holds("in order", memcmp(words, " world", 6) == 0);
    result("nothing more", got(ends[1], words, sizeof(words), MSG_DONTWAIT));
    result("out of band", got(ends[1], words, 1, MSG_OOB));
    result("shut down, to send", sys(SYS_shutdown, ends[0], SHUT_WR));
    result("end of file", got(ends[1], words, sizeof(words), 0));
    result("poll of the other end", ready(ends[1]));
    result("sent after that", sent(ends[0], "x", MSG_NOSIGNAL));
    result("the other way", sent(ends[1], "back", 0));
    result("all of it", got(ends[0], words, 4, MSG_WAITALL));
    sys(SYS_close, ends[1]);
    result("its end", got(ends[0], words, 4, 0));
    result("poll of both ended", ready(ends[0]));
    sys(SYS_close, ends[0]);
}

static void resetting(void)
{
    struct linger linger = { 1, 0 };
    char words[8];

    pair();
    sys(SYS_setsockopt, ends[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    sys(SYS_close, ends[0]);
    holds("poll of a reset end", (ready_then(ends[1]) & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
    result("reset", sys(SYS_read, ends[1], words, 1));
    result("then the end of it", sys(SYS_read, ends[1], words, 1));
    result("sent into it", sent(ends[1], "x", MSG_NOSIGNAL));
    result("peer of it", sys(SYS_getpeername, ends[1], words, &(socklen_t){ 8 }));
    sys(SYS_close, ends[1]);

    pair();
    sent(ends[0], "lost", 0);
    arrived(ends[1], 4);
    sys(SYS_close, ends[1]);
    ready_then(ends[0]);
    result("reset by what was not read", option(ends[0], SOL_SOCKET, SO_ERROR));
    result("only once", option(ends[0], SOL_SOCKET, SO_ERROR));
    sys(SYS_close, ends[0]);
}

static void options(void)
{
    int end = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);

    result("type", option(end, SOL_SOCKET, SO_TYPE));
    result("domain", option(end, SOL_SOCKET, SO_DOMAIN));
    result("protocol", option(end, SOL_SOCKET, SO_PROTOCOL));
    result("no delay", option(end, IPPROTO_TCP, TCP_NODELAY));
    result("set", option_set(end, IPPROTO_TCP, TCP_NODELAY, 7));
    result("no delay now", option(end, IPPROTO_TCP, TCP_NODELAY));
    result("keepalive after", option(end, IPPROTO_TCP, TCP_KEEPIDLE));
    result("keepalive at once", option_set(end, IPPROTO_TCP, TCP_KEEPIDLE, 0));
    result("keepalive after ten", option_set(end, IPPROTO_TCP, TCP_KEEPIDLE, 10));
    result("ten", option(end, IPPROTO_TCP, TCP_KEEPIDLE));
    result("interval", option(end, IPPROTO_TCP, TCP_KEEPINTVL));
    result("count", option(end, IPPROTO_TCP, TCP_KEEPCNT));
    result("time to live", option(end, IPPROTO_IP, IP_TTL));
    result("time to live of nothing", option_set(end, IPPROTO_IP, IP_TTL, 0));
    result("time to live of nine", option_set(end, IPPROTO_IP, IP_TTL, 9));
    result("nine", option(end, IPPROTO_IP, IP_TTL));
    result("receive room", option_set(end, SOL_SOCKET, SO_RCVBUF, 10000));
    result("twice", option(end, SOL_SOCKET, SO_RCVBUF));
    result("no such option", option(end, IPPROTO_TCP, 200));
    result("short", sys(SYS_setsockopt, end, IPPROTO_TCP, TCP_NODELAY, "x", 1));
    sys(SYS_close, end);
}

CONFORM(inet_stream)
{
    making();
    moving();
    resetting();
    options();
    sys(SYS_close, listening);
}
