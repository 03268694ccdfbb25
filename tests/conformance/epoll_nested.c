/* SPDX-License-Identifier: BSD-2-Clause */
/* epoll_nested.c: sets of descriptors in sets, and sets that are polled. */
#include "conform.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#ifndef EPOLLEXCLUSIVE
#define EPOLLEXCLUSIVE (1u << 28)
#endif

static int set_made(void)
{
    return (int)sys(SYS_epoll_create1, 0);
}

static long add(int set, int file, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.fd = file };

    return sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, file, &event);
}

static long ready(int set, int timeout)
{
    struct epoll_event event[4];

    return sys(SYS_epoll_pwait, set, event, 4, timeout, NULL, SIGSET_BYTES);
}

static void event_set(int event, bool on)
{
    uint64_t value = 1;

    sys(on ? SYS_write : SYS_read, event, &value, 8);
}

static void *later_write(void *event)
{
    rest_ms(3);
    event_set(*(int *)event, true);
    return NULL;
}

static void two_levels(void)
{
    int outer = set_made(), inner = set_made(), event = (int)sys(SYS_eventfd2, 0, EFD_NONBLOCK);
    struct pollfd polled = { inner, POLLIN | POLLOUT, 0 };
    fd_set in;
    pthread_t thread;

    add(inner, event, EPOLLIN);
    result("a set in a set", add(outer, inner, EPOLLIN));
    result("again", add(outer, inner, EPOLLIN));
    result("nothing", ready(outer, 0));
    result("polled, nothing", sys(SYS_poll, &polled, 1, 0));
    pthread_create(&thread, NULL, later_write, &event);
    result("awaited through both", ready(outer, -1));
    pthread_join(thread, NULL);
    result("still", ready(outer, 0));
    result("polled", sys(SYS_poll, &polled, 1, 0));
    result("for", polled.revents);
    FD_ZERO(&in);
    FD_SET(inner, &in);
    result("selected", sys(SYS_select, inner + 1, &in, NULL, NULL, NULL));
    result("the inner one", ready(inner, 0));
    event_set(event, false);
    result("no more", ready(outer, 0));
    event_set(event, true);
    struct epoll_event none = { .events = 0 };
    sys(SYS_epoll_ctl, inner, EPOLL_CTL_MOD, event, &none);
    result("nothing is asked for", ready(outer, 0));
    none.events = EPOLLIN;
    sys(SYS_epoll_ctl, inner, EPOLL_CTL_MOD, event, &none);
    result("it is again", ready(outer, 0));
    sys(SYS_epoll_ctl, inner, EPOLL_CTL_DEL, event, NULL);
    result("removed", ready(outer, 0));
}

static void edges(void)
{
    int outer = set_made(), inner = set_made(), event = (int)sys(SYS_eventfd2, 0, EFD_NONBLOCK);
    int other = (int)sys(SYS_eventfd2, 0, EFD_NONBLOCK);

    add(inner, event, EPOLLIN);
    add(inner, other, EPOLLIN);
    add(outer, inner, EPOLLIN | EPOLLET);
    event_set(event, true);
    result("an edge", ready(outer, 0));
    result("no second", ready(outer, 0));
    event_set(other, true);
    result("one of another file", ready(outer, 0));
    result("again no second", ready(outer, 0));
    result("both are ready", ready(inner, 0));
}

static void circles(void)
{
    int sets[12];

    for (int i = 0; i < 12; i++)
        sets[i] = set_made();
    result("a circle of two: there", add(sets[0], sets[1], EPOLLIN));
    result("and back", add(sets[1], sets[0], EPOLLIN));
    result("one of three: down", add(sets[1], sets[2], EPOLLIN));
    result("and up", add(sets[2], sets[0], EPOLLIN));
    int depth = 0;
    for (int i = 3; i < 11 && add(sets[i + 1], sets[i], EPOLLIN) == 0; i++)
        depth++;
    result("levels", depth);
    struct epoll_event event;
    sys(SYS_epoll_ctl, sets[0], EPOLL_CTL_DEL, sets[1], &event);
    result("not back when it was removed", add(sets[1], sets[0], EPOLLIN));
}

static void exclusive(void)
{
    int set = set_made(), inner = set_made(), event = (int)sys(SYS_eventfd2, 0, 0);
    struct epoll_event change = { .events = EPOLLIN };

    result("a set, exclusively", add(set, inner, EPOLLIN | EPOLLEXCLUSIVE));
    result("once, exclusively", add(set, event, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT));
    result("exclusively", add(set, event, EPOLLIN | EPOLLEXCLUSIVE | EPOLLET));
    result("changed", sys(SYS_epoll_ctl, set, EPOLL_CTL_MOD, event, &change));
    event_set(event, true);
    result("ready", ready(set, 0));
    sys(SYS_epoll_ctl, set, EPOLL_CTL_DEL, event, &change);
    add(set, event, EPOLLIN);
    change.events |= EPOLLEXCLUSIVE;
    result("changed to be", sys(SYS_epoll_ctl, set, EPOLL_CTL_MOD, event, &change));
}

CONFORM(epoll_nested)
{
    two_levels();
    edges();
    circles();
    exclusive();
}
