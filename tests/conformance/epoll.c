/* SPDX-License-Identifier: BSD-2-Clause */
/* epoll.c: a set of descriptors that the kernel keeps. */
#include "conform.h"

#include <sys/epoll.h>

CONFORM(epoll)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0x123456789a }, got[4];
    int ends[2] = { -1, -1 }, set = (int)sys(SYS_epoll_create1, EPOLL_CLOEXEC);
    uint64_t begin;

    result("made", set);
    sys(SYS_pipe2, ends, O_NONBLOCK);
    result("add", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, ends[0], &event));
    result("add again", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, ends[0], &event));
    result("nothing ready", sys(SYS_epoll_wait, set, got, 4, 0));
    begin = now_ns();
    result("for 3 ms", sys(SYS_epoll_wait, set, got, 4, 3));
    holds("not before they are over", now_ns() - begin >= 3000000);
    sys(SYS_write, ends[1], "12", 2);
    result("ready", sys(SYS_epoll_wait, set, got, 4, -1));
    holds("its data", got[0].data.u64 == 0x123456789a && got[0].events == EPOLLIN);
    result("still ready", sys(SYS_epoll_pwait, set, got, 4, -1, NULL, SIGSET_BYTES));
    event.events = EPOLLIN | EPOLLET;
    result("changed to edges", sys(SYS_epoll_ctl, set, EPOLL_CTL_MOD, ends[0], &event));
    result("one edge", sys(SYS_epoll_wait, set, got, 4, 0));
    result("no second", sys(SYS_epoll_wait, set, got, 4, 0));
    sys(SYS_write, ends[1], "3", 1);
    result("another write, another edge", sys(SYS_epoll_wait, set, got, 4, 0));
    event.events = EPOLLIN | EPOLLONESHOT;
    sys(SYS_epoll_ctl, set, EPOLL_CTL_MOD, ends[0], &event);
    result("one shot", sys(SYS_epoll_wait, set, got, 4, 0));
    result("and no more", sys(SYS_epoll_wait, set, got, 4, 0));
    result("remove", sys(SYS_epoll_ctl, set, EPOLL_CTL_DEL, ends[0], NULL));
    result("remove again", sys(SYS_epoll_ctl, set, EPOLL_CTL_DEL, ends[0], NULL));
    result("change what is not in it", sys(SYS_epoll_ctl, set, EPOLL_CTL_MOD, ends[0], &event));
    result("no such operation", sys(SYS_epoll_ctl, set, 9, ends[0], &event));
    result("add itself", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, set, &event));
    result("add a file", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, sys(SYS_open, TEXT, O_RDONLY), &event));
    result("add a closed descriptor", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, 40, &event));
    result("add to what is none", sys(SYS_epoll_ctl, ends[0], EPOLL_CTL_ADD, ends[1], &event));
    result("an event at nobody's", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, ends[0], NOWHERE));
    result("room for none", sys(SYS_epoll_wait, set, got, 0, 0));
    event.events = EPOLLIN;
    sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, ends[0], &event);
    sys(SYS_close, ends[1]);
    result("the writer has gone", sys(SYS_epoll_wait, set, got, 4, 0) * 100 + (long)got[0].events);
    result("to nobody's memory", sys(SYS_epoll_wait, set, NOWHERE, 4, 0));
    sys(SYS_close, ends[0]);
    result("a closed one is in it no more", sys(SYS_epoll_wait, set, got, 4, 0));
    result("epoll_create of no size", sys(SYS_epoll_create, 0));
    result("no such flag", sys(SYS_epoll_create1, 1));
}
