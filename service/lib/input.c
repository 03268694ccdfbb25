/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * input.c: see input.h. A regular file cannot be watched (epoll_ctl(2)), and need not be: it is always ready,
 * so only the rank's end is watched.
 */
#include "service/lib/input.h"
#include "service/lib/say.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct input {
    struct event_loop *loop;
    struct watch from, to; /* at most one is watched; none while this program is in the background */
    uint32_t rank;
    char bytes[65536];
    size_t begin, end;
} input = { .from = { .fd = -1 }, .to = { .fd = -1 } };

void input_stop(void)
{
    watch_drop(&input.from);
    watch_close(&input.to);
}

static void wait_for(struct watch *watch, struct watch *other, uint32_t events)
{
    watch_drop(other);
    watch_set(input.loop, watch, events);
}

/* Returns whether this process may read its terminal: its process group is in the foreground there, or the
 * input is not its controlling terminal. */
static bool is_in_foreground(void)
{
    const pid_t group = tcgetpgrp(STDIN_FILENO);

    return group < 0 || group == getpgrp();
}

/* Reads the next bytes when the rank has taken all earlier ones. Returns false if there are none now, or at
 * the end. */
static bool input_has_come(void)
{
    struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };

    if (!is_in_foreground()) {
        watch_drop(&input.from);
        watch_drop(&input.to);
        return false; /* input_tick resumes */
    }
    if (poll(&ready, 1, 0) == 0) {
        wait_for(&input.from, &input.to, EPOLLIN);
        return false;
    }
    const ssize_t bytes = read(STDIN_FILENO, input.bytes, sizeof(input.bytes));
    if (bytes > 0) {
        input.begin = 0;
        input.end = (size_t)bytes;
        return true;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (bytes < 0)
        say("cannot read standard input: %s; rank %u gets end of file", strerror(errno), input.rank);
    shutdown(input.to.fd, SHUT_WR); /* a socket may have another descriptor */
    input_stop();
    return false;
}

static void input_ready(struct watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
    if (input.begin == input.end && !input_has_come())
        return;
    const ssize_t bytes = write(input.to.fd, input.bytes + input.begin, input.end - input.begin);
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) {
        input_stop(); /* the rank has closed its input: the rest is discarded */
        return;
    }
    input.begin += bytes > 0 ? (size_t)bytes : 0;
    wait_for(&input.to, &input.from, EPOLLOUT);
}

void input_tick(void)
{
    if (input.to.fd >= 0 && !input.to.loop && !input.from.loop && is_in_foreground())
        watch_set(input.loop, &input.to, EPOLLOUT);
}

void input_begin(struct event_loop *loop, int fd, uint32_t rank)
{
    fcntl(fd, F_SETFL, O_NONBLOCK); /* affects only this end */
    input.loop = loop;
    input.rank = rank;
    input.from = (struct watch){ .fd = STDIN_FILENO, .ready = input_ready };
    input.to = (struct watch){ .fd = fd, .ready = input_ready };
    watch_set(loop, &input.to, EPOLLOUT);
}
