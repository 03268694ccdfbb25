/* SPDX-License-Identifier: BSD-2-Clause */
/* socketpair.c: two sockets that are connected to each other: as files, and what they say of themselves. */
#include "sockets.h"

#include <sys/epoll.h>
#include <sys/un.h>

static long option(int end, int level, int name)
{
    int value = -1, room = sizeof(value);
    long error = sys(SYS_getsockopt, end, level, name, &value, &room);

    return error ? error : value;
}

CONFORM(socketpair)
{
    static char much[4096];
    struct sockaddr_un name = { 0 };
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    struct stat status;
    socklen_t room = sizeof(name);
    char link[32], leads[64] = "";
    int on = 1;

    result("made", sys(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
    result("closed on exec", sys(SYS_fcntl, ends[0], F_GETFD));
    result("flags", sys(SYS_fcntl, ends[1], F_GETFL));
    result("type", option(ends[0], SOL_SOCKET, SO_TYPE));
    result("error", option(ends[0], SOL_SOCKET, SO_ERROR));
    result("domain", option(ends[0], SOL_SOCKET, SO_DOMAIN));
    result("protocol", option(ends[0], SOL_SOCKET, SO_PROTOCOL));
    result("listening", option(ends[0], SOL_SOCKET, SO_ACCEPTCONN));
    holds("a buffer",
          option(ends[0], SOL_SOCKET, SO_SNDBUF) > 0 && option(ends[0], SOL_SOCKET, SO_RCVBUF) > 0);
    result("no such option", option(ends[0], SOL_SOCKET, 1000));
    result("no such level", option(ends[0], 1000, 1));
    result("own name", sys(SYS_getsockname, ends[0], &name, &room));
    result("its length", room);
    result("its family", name.sun_family);
    room = sizeof(name);
    result("the other's name", sys(SYS_getpeername, ends[0], &name, &room));
    result("its length too", room);
    result("fstat", sys(SYS_fstat, ends[0], &status));
    result("its mode", status.st_mode);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", ends[0]);
    sys(SYS_readlink, link, leads, sizeof(leads) - 1);
    leads[8] = '\0';
    text("where its link leads", leads);
    result("opened by its link", sys(SYS_open, link, O_RDWR));
    result("sought", sys(SYS_lseek, ends[0], 0, SEEK_CUR));
    while (sys(SYS_write, ends[0], much, sizeof(much)) > 0)
        ;
    result("full", sys(SYS_write, ends[0], much, 1));
    result("poll of the full one", ready(ends[0]));
    int set = (int)sys(SYS_epoll_create1, 0);
    result("in a set", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, ends[1], &event));
    result("an edge", sys(SYS_epoll_wait, set, &event, 1, 0));
    result("no other", sys(SYS_epoll_wait, set, &event, 1, 0));
    while (sys(SYS_read, ends[1], much, sizeof(much)) > 0)
        ;
    result("poll of the empty one", ready(ends[0]));
    sys(SYS_write, ends[0], "1", 1);
    result("a new edge", sys(SYS_epoll_wait, set, &event, 1, 0));
    on = 0;
    result("to wait again", sys(SYS_ioctl, ends[0], FIONBIO, &on));
    result("flags then", sys(SYS_fcntl, ends[0], F_GETFL));
    result("to an address", sys(SYS_sendto, ends[0], "x", 1, 0, &name, sizeof(name)));
    result("from nobody's", sys(SYS_write, ends[0], NOWHERE, 1));
    closed();
    result("no such family", sys(SYS_socketpair, 200, SOCK_STREAM, 0, ends));
    result("no such type", sys(SYS_socketpair, AF_UNIX, 9, 0, ends));
    result("no such protocol", sys(SYS_socketpair, AF_UNIX, SOCK_STREAM, 77, ends));
    result("no such flag", sys(SYS_socketpair, AF_UNIX, SOCK_STREAM | 0x100, 0, ends));
    result("nobody's place", sys(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, NOWHERE));
    result("none of it is left", sys(SYS_close, 4));
    result("no socket", sys(SYS_sendto, 0, "x", 1, 0, NULL, 0));
    result("a closed descriptor", sys(SYS_recvfrom, 40, much, 1, 0, NULL, NULL));
}
