/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_loop.c: see event_loop.h.
 */
#include "service/lib/event_loop.h"
#include "service/lib/say.h"
#include "service/lib/status.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

int event_loop_open(struct event_loop *loop)
{
    loop->count = loop->at = 0;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    return loop->epoll < 0 ? -1 : 0;
}

int watch_try(struct event_loop *loop, struct watch *watch, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = watch };

    if (epoll_ctl(loop->epoll, watch->loop ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event))
        return -1;
    watch->loop = loop;
    return 0;
}

void watch_set(struct event_loop *loop, struct watch *watch, uint32_t events)
{
    if (watch_try(loop, watch, events))
        give_up(STATUS_FAILED, "cannot watch a descriptor: %s", strerror(errno));
}

void watch_drop(struct watch *watch)
{
    struct event_loop *loop = watch->loop;

    if (!loop)
        return;
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    for (int i = loop->at; i < loop->count; i++)
        if (loop->batch[i].data.ptr == watch)
            loop->batch[i].data.ptr = NULL;
    watch->loop = NULL;
}

void watch_close(struct watch *watch)
{
    watch_drop(watch);
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
}

bool event_loop_turn(struct event_loop *loop, int timeout_ms)
{
    loop->count = epoll_wait(loop->epoll, loop->batch, EVENT_LOOP_BATCH, timeout_ms);
    for (loop->at = 0; loop->at < loop->count;) {
        struct epoll_event *event = &loop->batch[loop->at++];
        struct watch *watch = event->data.ptr;

        if (watch)
            watch->ready(watch, event->events);
    }
    return loop->count > 0;
}
