/* SPDX-License-Identifier: BSD-2-Clause */
/* socket_file.c: what a socket is as a file. */
#include "sockets.h"

#include <sys/epoll.h>

CONFORM(socket_file)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET }, seen;
    struct stat status;
    char words[64] = "";
    int off = 0;

    made("made", SOCK_STREAM);
    result("status", sys(SYS_fstat, ends[0], &status));
    holds("is a socket", S_ISSOCK(status.st_mode));
    result("seek", sys(SYS_lseek, ends[0], 0, SEEK_SET));
    result("read at a place", sys(SYS_pread64, ends[0], words, 1, 0));
    result("flags", sys(SYS_fcntl, ends[0], F_GETFL));
    int set = (int)sys(SYS_epoll_create1, 0);
    result("watched", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, ends[1], &event));
    result("nothing", sys(SYS_epoll_wait, set, &seen, 1, 0));
    struct iovec two[2] = { { "ab", 2 }, { "cd", 2 } };
    int copy = (int)sys(SYS_dup, ends[0]);
    result("written", sys(SYS_writev, copy, two, 2));
    sys(SYS_close, copy);
    result("something", sys(SYS_epoll_wait, set, &seen, 1, 0));
    result("what", seen.events);
    result("once", sys(SYS_epoll_wait, set, &seen, 1, 0));
    char a[3] = "", b[3] = "";
    struct iovec places_two[2] = { { a, 1 }, { b, 2 } };
    result("read", sys(SYS_readv, ends[1], places_two, 2));
    holds("in order", a[0] == 'a' && b[1] == 'c');
    sys(SYS_close, ends[0]);
    result("the end", sys(SYS_epoll_wait, set, &seen, 1, 0));
    result("what it is", seen.events);
    sys(SYS_close, set);
    char link[32];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", ends[1]);
    sys(SYS_readlink, link, words, sizeof(words) - 1);
    holds("its name", memcmp(words, "socket:[", 8) == 0);
    result("opened by its name", sys(SYS_open, link, O_RDWR));
    result("blocking", sys(SYS_ioctl, ends[1], FIONBIO, &off));
    result("truncated", sys(SYS_ftruncate, ends[1], 0));
    sys(SYS_close, ends[1]);
}
