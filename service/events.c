/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c: see events.h.
 */
#include "service/events.h"
#include <assert.h>
#include <poll.h>
#include <time.h>

static struct pollfd polls[EVENTS_MAX];
static struct {
    void (*ready)(void *of);
    void *of;
} watchers[EVENTS_MAX];
static unsigned count;
static uint64_t until_ns = UINT64_MAX;

void events_watch(int descriptor, short wanted, void (*ready)(void *of), void *of)
{
    assert(count < EVENTS_MAX);
    polls[count] = (struct pollfd){ .fd = descriptor, .events = wanted };
    watchers[count].ready = ready;
    watchers[count++].of = of;
}

void events_at(uint64_t when_ns)
{
    if (when_ns < until_ns)
        until_ns = when_ns;
}

uint64_t events_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void events_wait(void)
{
    const uint64_t now_ns = events_now_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    const struct timespec limit = { .tv_sec = (time_t)(left_ns / 1000000000),
                                    .tv_nsec = (long)(left_ns % 1000000000) };
    const unsigned watched = count;

    if (ppoll(polls, watched, until_ns == UINT64_MAX ? NULL : &limit, NULL) > 0)
        for (unsigned i = 0; i < watched; i++)
            if (polls[i].revents)
                watchers[i].ready(watchers[i].of);
    count = 0;
    until_ns = UINT64_MAX;
}
