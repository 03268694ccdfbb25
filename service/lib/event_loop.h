/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_loop.h: calls a function when a descriptor is ready (epoll, level-triggered). A loop's own descriptor
 * can be watched by another loop: its descriptors then form a group that can be ignored as a whole. One
 * thread.
 */
#ifndef TACET_SERVICE_EVENT_LOOP_H
#define TACET_SERVICE_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define EVENT_LOOP_BATCH 64

struct event_loop;

/* A watched descriptor, the first member of its owner's struct. One loop at a time watches it. */
struct watch {
    int fd; /* -1: none */
    void (*ready)(struct watch *watch, uint32_t events);
    struct event_loop *loop; /* NULL: not watched */
};

struct event_loop {
    int epoll;
    int count, at; /* events in the current batch; the next one */
    struct epoll_event batch[EVENT_LOOP_BATCH];
};

/* Makes an empty loop. 0, or -1 with errno. */
int event_loop_open(struct event_loop *loop);

/* Watches watch->fd for `events` (EPOLLIN, …), or changes them. 0, or -1 with errno: out of memory. */
int watch_try(struct event_loop *loop, struct watch *watch, uint32_t events);

/* Does the same, but ends the program on failure: it would wait forever. */
void watch_set(struct event_loop *loop, struct watch *watch, uint32_t events);

/* Stops watching: ready is not called again, even if an event is pending. The watch may then be freed, and
 * its descriptor closed. */
void watch_drop(struct watch *watch);

/* Stops watching and closes the descriptor. */
void watch_close(struct watch *watch);

/* Waits up to `timeout_ms` (-1: without limit) and calls each ready watch once; false if none was ready. */
bool event_loop_turn(struct event_loop *loop, int timeout_ms);

#endif
