/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_loop.h: descriptors, and what is called when they are ready (epoll, level-triggered). A loop's
 * descriptor is itself a descriptor that can be watched by another loop: a group that is left alone as a
 * whole. One thread.
 */
#ifndef TACET_SERVICE_EVENT_LOOP_H
#define TACET_SERVICE_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define EVENT_LOOP_BATCH 64

struct event_loop;

/* The first member of what it belongs to. A descriptor is watched by one loop at a time. */
struct watch {
    int fd; /* -1: none */
    void (*ready)(struct watch *watch, uint32_t events);
    struct event_loop *loop; /* NULL: not watched */
};

struct event_loop {
    int epoll;
    int count, at; /* of the batch that is being worked through */
    struct epoll_event batch[EVENT_LOOP_BATCH];
};

/* 0, or -1 with errno. */
int event_loop_open(struct event_loop *loop);

/* Watches watch->fd, or changes for what. 0, or -1 with errno: there is no memory for it. */
int watch_try(struct event_loop *loop, struct watch *watch, uint32_t events);

/* The same for programs that end where that cannot be: they would wait forever. */
void watch_set(struct event_loop *loop, struct watch *watch, uint32_t events);

/* It is called no more, even if it is ready already: it may be freed, and its descriptor closed. */
void watch_drop(struct watch *watch);

/* Drops it and closes its descriptor. */
void watch_close(struct watch *watch);

/* Waits so long, -1 without end, and calls what is ready, once each; false where nothing was. */
bool event_loop_turn(struct event_loop *loop, int timeout_ms);

#endif
