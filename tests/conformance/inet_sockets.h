/* SPDX-License-Identifier: BSD-2-Clause */
/* inet_sockets.h: what the tests of AF_INET share: both ends on loopback, ports that the kernel chooses. */
#ifndef INET_SOCKETS_H
#define INET_SOCKETS_H

#include "conform.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static inline struct sockaddr_in at(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = port,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static inline struct sockaddr_in name_of(int end)
{
    struct sockaddr_in name = { 0 };
    socklen_t bytes = sizeof(name);

    sys(SYS_getsockname, end, &name, &bytes);
    return name;
}

/* A socket at a port of its own. */
static inline int bound(int type)
{
    struct sockaddr_in name = at(0);
    int end = (int)sys(SYS_socket, AF_INET, type, 0);

    sys(SYS_bind, end, &name, sizeof(name));
    return end;
}

static inline long connected(int end, int to)
{
    struct sockaddr_in name = name_of(to);

    return sys(SYS_connect, end, &name, sizeof(name));
}

static inline long sent(int end, const char *words, int flags)
{
    return sys(SYS_sendto, end, words, strlen(words), flags, NULL, 0);
}

static inline long got(int end, char *words, size_t room, int flags)
{
    return sys(SYS_recvfrom, end, words, room, flags, NULL, NULL);
}

static inline long ready(int end)
{
    struct pollfd set = { end, POLLIN | POLLOUT | POLLRDHUP, 0 };

    sys(SYS_poll, &set, 1, 0);
    return set.revents;
}

/* The same, once something has come from the other end: a thread of the kernel's may be on its way with it,
 * and one can write all the time. */
static inline long ready_then(int end)
{
    struct pollfd set = { end, POLLIN | POLLRDHUP, 0 };

    sys(SYS_poll, &set, 1, 10000);
    return ready(end);
}

static inline long option(int end, int level, int which)
{
    int value = -1;
    socklen_t bytes = sizeof(value);
    long error = sys(SYS_getsockopt, end, level, which, &value, &bytes);

    return error ? error : value;
}

static inline long option_set(int end, int level, int which, int value)
{
    return sys(SYS_setsockopt, end, level, which, &value, sizeof(value));
}

#endif
