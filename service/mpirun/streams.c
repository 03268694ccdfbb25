/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streams.c: what ranks write, to standard output and standard error, a line at a time: no line ends up
 * within another one; a line of more than LINE_PART_BYTES comes in parts. Where one of the two is full, what
 * it has not taken waits in memory, a line or so, and the ranks' streams that lead there are left alone as a
 * group: their ranks block in the end, and nothing else does.
 *
 * And the other way: the terminal's input for one of the ranks.
 */
#include "service/mpirun/mpirun.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PREFIX_BYTES 16

struct stream {
    struct watch watch;          /* first */
    struct stream *next, **link; /* of all of its sink */
    struct sink *sink;
    uint32_t rank;
    char *bytes; /* LINE_PART_BYTES of them, or NULL where there is nothing */
    size_t count;
    bool has_ended;
};

struct sink {
    struct watch watch;        /* first; for the time in which it is full */
    struct event_loop streams; /* that lead here */
    struct watch streams_watch;
    struct stream *all;
    const char *name;
    char *pending; /* what it has not taken */
    size_t pending_begin, pending_end, pending_room;
    bool is_closed;
};

static struct sink sinks[2] = { { .name = "the standard output" }, { .name = "the standard error" } };
static struct sink *sink_out = &sinks[0], *sink_err = &sinks[1];
static uint32_t stream_count;

/* ---- Writing ---- */

static bool sink_is_full(const struct sink *sink)
{
    return sink->pending_end > 0;
}

static void sink_fail(struct sink *sink, int error)
{
    sink->is_closed = true;
    sink->pending_begin = sink->pending_end = 0;
    if (error == EPIPE)
        run_end(REASON_TOLD, PMI_RANK_NONE, STATUS_CLOSED, "nobody reads %s any more; the job ends",
                sink->name);
    else
        run_end(REASON_TOLD, PMI_RANK_NONE, STATUS_FAILED, "%s cannot be written: %s; the job ends",
                sink->name, strerror(error));
}

/* What it takes now; -1 where that is a failure, and it has been dealt with. */
static ssize_t sink_try(struct sink *sink, const struct iovec *parts, int count)
{
    ssize_t bytes = writev(sink->watch.fd, parts, count);

    if (bytes >= 0)
        return bytes;
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    sink_fail(sink, errno);
    return -1;
}

static void sink_keep(struct sink *sink, const char *bytes, size_t count)
{
    if (sink->pending_room - sink->pending_end < count) {
        size_t room = 2 * sink->pending_room + count;
        char *grown = realloc(sink->pending, room);

        if (!grown) {
            sink_fail(sink, ENOMEM);
            return;
        }
        sink->pending = grown;
        sink->pending_room = room;
    }
    memcpy(sink->pending + sink->pending_end, bytes, count);
    sink->pending_end += count;
}

/* The parts of one line: one write; what is not taken is kept. */
static void sink_put(struct sink *sink, const struct iovec *parts, int count)
{
    ssize_t taken = 0;

    if (sink->is_closed)
        return;
    if (!sink_is_full(sink) && (taken = sink_try(sink, parts, count)) < 0)
        return;
    for (int i = 0; i < count && !sink->is_closed; i++) {
        size_t skipped = (size_t)taken < parts[i].iov_len ? (size_t)taken : parts[i].iov_len;

        taken -= (ssize_t)skipped;
        if (skipped < parts[i].iov_len)
            sink_keep(sink, (const char *)parts[i].iov_base + skipped, parts[i].iov_len - skipped);
    }
    if (sink_is_full(sink) && !sink->watch.loop) {
        watch_drop(&sink->streams_watch);
        watch_set(&run.loop, &sink->watch, EPOLLOUT);
    }
}

void error_write(const char *text)
{
    sink_put(sink_err, &(struct iovec){ .iov_base = (char *)text, .iov_len = strlen(text) }, 1);
}

/* ---- Lines ---- */

static void stream_free(struct stream *stream)
{
    watch_close(&stream->watch);
    *stream->link = stream->next;
    if (stream->next)
        stream->next->link = stream->link;
    free(stream->bytes);
    free(stream);
    stream_count--;
}

static void line_put(const struct stream *stream, const char *line, size_t bytes)
{
    char prefix[PREFIX_BYTES];
    struct iovec parts[3] = { { .iov_base = prefix }, { .iov_base = (char *)line, .iov_len = bytes } };
    int count = 2;

    if (!run.plan.is_labelled) {
        sink_put(stream->sink, parts + 1, 1);
        return;
    }
    parts[0].iov_len = (size_t)snprintf(prefix, sizeof(prefix), "%u: ", stream->rank);
    if (line[bytes - 1] != '\n')
        parts[count++] = (struct iovec){ .iov_base = (char *)"\n", .iov_len = 1 };
    sink_put(stream->sink, parts, count);
}

/* Writes the whole lines that there are; the last one, too, where nothing follows. The stream may be freed.
 */
static void lines_put(struct stream *stream)
{
    size_t begin = 0;

    while (begin < stream->count) {
        const char *line = stream->bytes + begin;
        size_t left = stream->count - begin;
        const char *feed = memchr(line, '\n', left);
        size_t bytes = feed ? (size_t)(feed - line) + 1 : left;

        if (!feed && !stream->has_ended && left < LINE_PART_BYTES)
            break;
        line_put(stream, line, bytes);
        begin += bytes;
    }
    stream->count -= begin;
    if (stream->count) {
        memmove(stream->bytes, stream->bytes + begin, stream->count);
    } else {
        free(stream->bytes);
        stream->bytes = NULL;
    }
    if (stream->has_ended)
        stream_free(stream);
}

/* How much there was: 0 where it has ended, and is freed; -1: nothing now. */
static ssize_t stream_read(struct stream *stream)
{
    if (!stream->bytes && !(stream->bytes = malloc(LINE_PART_BYTES))) {
        run_end(REASON_TOLD, PMI_RANK_NONE, STATUS_FAILED, "no memory for the output of rank %u",
                stream->rank);
        stream_free(stream);
        return 0;
    }
    ssize_t bytes = read(stream->watch.fd, stream->bytes + stream->count, LINE_PART_BYTES - stream->count);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return -1;
    if (bytes > 0)
        stream->count += (size_t)bytes;
    else
        stream->has_ended = true;
    lines_put(stream);
    return bytes > 0 ? bytes : 0;
}

static void stream_ready(struct watch *watch, uint32_t events)
{
    struct stream *stream = (struct stream *)watch;

    (void)events; /* an error is the end as well, and read says so */
    if (!sink_is_full(stream->sink))
        stream_read(stream);
}

static void streams_ready(struct watch *watch, uint32_t events)
{
    struct sink *sink = (struct sink *)((char *)watch - offsetof(struct sink, streams_watch));

    (void)events;
    event_loop_turn(&sink->streams, 0);
}

/* It takes bytes again: what waits goes first, then its streams are read again. */
static void sink_ready(struct watch *watch, uint32_t events)
{
    struct sink *sink = (struct sink *)watch;
    struct iovec part = { .iov_base = sink->pending + sink->pending_begin,
                          .iov_len = sink->pending_end - sink->pending_begin };
    ssize_t bytes = sink_try(sink, &part, 1);

    (void)events;
    if (bytes > 0)
        sink->pending_begin += (size_t)bytes;
    if (sink->pending_begin < sink->pending_end)
        return;
    sink->pending_begin = sink->pending_end = 0;
    watch_drop(&sink->watch);
    watch_set(&run.loop, &sink->streams_watch, EPOLLIN);
}

bool stream_begin(int pipe, uint32_t rank, bool is_err)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    struct sink *sink = is_err ? sink_err : sink_out;

    if (!stream)
        return false;
    fcntl(pipe, F_SETFL, O_NONBLOCK); /* this end's alone: the rank writes to another one */
    *stream = (struct stream){ .watch = { .fd = pipe, .ready = stream_ready }, .rank = rank, .sink = sink };
    stream->next = sink->all;
    stream->link = &sink->all;
    if (sink->all)
        sink->all->link = &stream->next;
    sink->all = stream;
    stream_count++;
    watch_set(&sink->streams, &stream->watch, EPOLLIN);
    return true;
}

uint32_t streams_count(void)
{
    return stream_count;
}

void streams_end(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct stream *next;

        for (struct stream *stream = sinks[i].all; stream; stream = next) {
            next = stream->next;
            if (sink_is_full(stream->sink) || stream_read(stream) >= 0)
                continue;
            stream->has_ended = true;
            lines_put(stream);
        }
    }
}

bool streams_are_written(void)
{
    return !sink_is_full(sink_out) && !sink_is_full(sink_err);
}

/* ---- The two sinks ---- */

/* Bytes are never waited for in a write: a pipe or terminal is opened once more, since others may share its
 * modes. */
static int descriptor_unblocked(int descriptor)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    int opened = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return opened < 0 ? descriptor : opened;
}

static void sink_open(struct sink *sink, int descriptor, const struct stat *status)
{
    bool may_block = S_ISFIFO(status->st_mode) || S_ISCHR(status->st_mode);

    sink->watch = (struct watch){ .fd = may_block ? descriptor_unblocked(descriptor) : descriptor,
                                  .ready = sink_ready };
    if (event_loop_open(&sink->streams))
        give_up(STATUS_FAILED, "epoll: %s", strerror(errno));
    sink->streams_watch = (struct watch){ .fd = sink->streams.epoll, .ready = streams_ready };
    watch_set(&run.loop, &sink->streams_watch, EPOLLIN);
}

/* Where both are one file, they are one sink, so that no line ends up within another. */
void streams_open(void)
{
    struct stat out = { 0 }, err = { 0 };

    fstat(STDOUT_FILENO, &out);
    fstat(STDERR_FILENO, &err);
    sink_open(&sinks[0], STDOUT_FILENO, &out);
    if (out.st_dev == err.st_dev && out.st_ino == err.st_ino)
        sink_err = sink_out;
    else
        sink_open(&sinks[1], STDERR_FILENO, &err);
}

/* ---- The terminal's input ---- */

static struct input {
    struct watch from, to;
    char bytes[4096];
    size_t begin, end;
} input = { .from = { .fd = -1 }, .to = { .fd = -1 } };

void input_stop(void)
{
    watch_drop(&input.from);
    watch_close(&input.to);
}

/* Only the terminal's foreground may read from it. */
static bool input_is_ours(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void input_to_ready(struct watch *watch, uint32_t events)
{
    ssize_t bytes = write(watch->fd, input.bytes + input.begin, input.end - input.begin);

    (void)events;
    if (bytes < 0 && errno != EAGAIN && errno != EINTR) {
        input_stop(); /* the rank reads no more: what is left is nobody's */
        return;
    }
    input.begin += bytes > 0 ? (size_t)bytes : 0;
    if (input.begin == input.end) {
        watch_drop(&input.to);
        watch_set(&run.loop, &input.from, EPOLLIN);
    }
}

static void input_from_ready(struct watch *watch, uint32_t events)
{
    struct pollfd ready = { .fd = watch->fd, .events = POLLIN };

    (void)events;
    if (!input_is_ours()) {
        watch_drop(watch); /* until the next tick that finds it in the foreground */
        return;
    }
    if (poll(&ready, 1, 0) == 0)
        return;
    ssize_t bytes = read(watch->fd, input.bytes, sizeof(input.bytes));
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        input_stop();
        return;
    }
    input.begin = 0;
    input.end = (size_t)bytes;
    watch_drop(watch);
    watch_set(&run.loop, &input.to, EPOLLOUT);
}

void input_tick(void)
{
    if (input.to.fd >= 0 && !input.to.loop && !input.from.loop && input_is_ours())
        watch_set(&run.loop, &input.from, EPOLLIN);
}

void input_begin(int pipe)
{
    fcntl(pipe, F_SETFL, O_NONBLOCK);
    input.from = (struct watch){ .fd = STDIN_FILENO, .ready = input_from_ready };
    input.to = (struct watch){ .fd = pipe, .ready = input_to_ready };
    input_tick();
}
