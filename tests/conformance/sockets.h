/* SPDX-License-Identifier: BSD-2-Clause */
/* sockets.h: what the tests of pairs of sockets share. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include "conform.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

static int ends[2];
static inline void made(const char *what, int type)
{
    result(what, sys(SYS_socketpair, AF_UNIX, type, 0, ends));
}

static inline void closed(void)
{
    sys(SYS_close, ends[0]);
    sys(SYS_close, ends[1]);
}

static inline long sent(int end, const char *words, int flags)
{
    return sys(SYS_sendto, end, words, strlen(words), flags, NULL, 0);
}

static inline long got(int end, char *words, size_t room, int flags)
{
    memset(words, 0, room);
    return sys(SYS_recvfrom, end, words, room - 1, flags, NULL, NULL);
}

static inline long ready(int end)
{
    struct pollfd set = { end, POLLIN | POLLOUT, 0 };

    sys(SYS_poll, &set, 1, 0);
    return set.revents;
}

static inline void messages(int type)
{
    char words[32], a[3], b[3];
    struct iovec two[2] = { { "abc", 3 }, { "de", 2 } }, places[2] = { { a, 3 }, { b, 1 } };
    struct msghdr message = { .msg_iov = two, .msg_iovlen = 2 };
    int unread = -1;

    made("made", type);
    result("first", sent(ends[0], "first", 0));
    result("empty", sys(SYS_sendto, ends[0], "", 0, 0, NULL, 0));
    result("two places", sys(SYS_sendmsg, ends[0], &message, 0));
    sys(SYS_ioctl, ends[1], FIONREAD, &unread);
    result("unread", unread);
    result("peek at the first", got(ends[1], words, 4, MSG_PEEK));
    result("its length", got(ends[1], words, 4, MSG_PEEK | MSG_TRUNC));
    result("received", got(ends[1], words, sizeof(words), 0));
    result("the empty one", got(ends[1], words, sizeof(words), 0));
    message.msg_iov = places;
    result("into two places", sys(SYS_recvmsg, ends[1], &message, 0));
    result("flags", message.msg_flags);
    holds("in order", memcmp(a, "abc", 3) == 0 && b[0] == 'd');
    result("the rest is lost", got(ends[1], words, sizeof(words), MSG_DONTWAIT));
    result("too long", sys(SYS_sendto, ends[0], words, 16 << 20, 0, NULL, 0));
    sys(SYS_shutdown, ends[1], SHUT_RD);
    result("sent to who does not want it", sent(ends[0], "x", MSG_NOSIGNAL));
    closed();
}

#endif
