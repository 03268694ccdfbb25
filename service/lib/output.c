/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c: see output.h.
 */
#include "service/lib/output.h"
#include "service/lib/say.h"
#include "service/lib/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PREFIX_BYTES 16

/* A rank's standard output or standard error. */
struct stream {
    struct watch watch; /* first */
    LIST_ENTRY(stream) of_sink;
    STAILQ_ENTRY(stream) of_waiting;
    uint32_t rank;
    struct sink *sink;
    char *bytes; /* LINE_PART_BYTES; NULL while it is empty */
    size_t begin, end;
    bool has_ended, is_waiting;
};

/* Standard output or standard error. */
struct sink {
    struct watch watch;        /* first; watched while the sink is full */
    struct event_loop streams; /* streams that lead here */
    struct watch streams_watch;
    LIST_HEAD(, stream) all;
    STAILQ_HEAD(, stream) waiting; /* streams with lines that had no room */
    char *pending;                 /* bytes that could not be written yet */
    size_t pending_begin, pending_end, pending_room;
    bool is_socket, is_closed;
};

static struct output output;
static struct sink sinks[2];
static struct sink *sink_out = &sinks[0], *sink_err = &sinks[1];
static uint32_t stream_count;

/* ---- Writing ---- */

static bool sink_is_full(const struct sink *sink)
{
    return sink->pending_end > 0;
}

static void sink_fail(struct sink *sink, int error)
{
    const char *name = sink == sink_out ? "standard output" : "standard error";
    char why[128];

    sink->is_closed = true;
    sink->pending_begin = sink->pending_end = 0;
    if (error == EPIPE)
        snprintf(why, sizeof(why), "the reader of %s has closed it", name);
    else
        snprintf(why, sizeof(why), "cannot write to %s: %s", name, strerror(error));
    output.failed(error == EPIPE ? STATUS_CLOSED : STATUS_FAILED, why);
}

/* Writes what the sink takes now. Returns the bytes written; -1 after sink_fail. */
static ssize_t sink_try(struct sink *sink, const struct iovec *parts, int count)
{
    struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count };
    ssize_t bytes = sink->is_socket ? sendmsg(sink->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : writev(sink->watch.fd, parts, count);

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

/* Writes the parts of a line in one call; keeps what is not taken. */
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
        watch_set(output.loop, &sink->watch, EPOLLOUT);
    }
}

static void error_write(const char *line)
{
    sink_put(sink_err, &(struct iovec){ .iov_base = (char *)line, .iov_len = strlen(line) }, 1);
}

/* ---- Lines ---- */

static void stream_free(struct stream *stream)
{
    watch_close(&stream->watch);
    LIST_REMOVE(stream, of_sink);
    free(stream->bytes);
    free(stream);
    stream_count--;
}

static void line_put(const struct stream *stream, const char *line, size_t bytes)
{
    char prefix[PREFIX_BYTES];
    struct iovec parts[3] = { { .iov_base = prefix }, { .iov_base = (char *)line, .iov_len = bytes } };
    int count = 2;

    if (!output.is_labelled) {
        sink_put(stream->sink, parts + 1, 1);
        return;
    }
    parts[0].iov_len = (size_t)snprintf(prefix, sizeof(prefix), "%u: ", stream->rank);
    if (line[bytes - 1] != '\n')
        parts[count++] = (struct iovec){ .iov_base = (char *)"\n", .iov_len = 1 };
    sink_put(stream->sink, parts, count);
}

/* Writes a stream's whole lines while there is room. May free the stream. */
static void stream_put(struct stream *stream)
{
    struct sink *sink = stream->sink;

    while (stream->begin < stream->end) {
        const char *line = stream->bytes + stream->begin;
        size_t left = stream->end - stream->begin;
        const char *feed = memchr(line, '\n', left);
        size_t bytes = feed ? (size_t)(feed - line) + 1 : left;

        if (!feed && !stream->has_ended && left < LINE_PART_BYTES)
            break;
        if (sink_is_full(sink)) {
            if (!stream->is_waiting) {
                STAILQ_INSERT_TAIL(&sink->waiting, stream, of_waiting);
                stream->is_waiting = true;
            }
            return;
        }
        line_put(stream, line, bytes);
        stream->begin += bytes;
    }
    if (stream->begin == stream->end) {
        free(stream->bytes);
        stream->bytes = NULL;
        stream->begin = stream->end = 0;
        if (stream->has_ended)
            stream_free(stream);
    }
}

/* Reads a stream and writes its lines. Returns false if nothing has come. May free the stream. */
static bool stream_read(struct stream *stream)
{
    char why[64];

    if (!stream->bytes && !(stream->bytes = malloc(LINE_PART_BYTES))) {
        snprintf(why, sizeof(why), "no memory for the output of rank %u", stream->rank);
        output.failed(STATUS_FAILED, why);
        stream->has_ended = true;
        stream_put(stream);
        return true;
    }
    memmove(stream->bytes, stream->bytes + stream->begin, stream->end - stream->begin);
    stream->end -= stream->begin;
    stream->begin = 0;
    ssize_t bytes = read(stream->watch.fd, stream->bytes + stream->end, LINE_PART_BYTES - stream->end);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (bytes > 0)
        stream->end += (size_t)bytes;
    else
        stream->has_ended = true; /* or has failed: the writer has gone */
    stream_put(stream);
    return true;
}

static void stream_ready(struct watch *watch, uint32_t events)
{
    struct stream *stream = (struct stream *)watch;

    (void)events; /* read reports an error as the end */
    if (!sink_is_full(stream->sink) && !stream->is_waiting)
        stream_read(stream);
}

static void streams_ready(struct watch *watch, uint32_t events)
{
    struct sink *sink = (struct sink *)((char *)watch - offsetof(struct sink, streams_watch));

    (void)events;
    event_loop_turn(&sink->streams, 0);
}

/* Writes the bytes that wait for room; when all are written, watches the sink's streams again. */
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
    while (!STAILQ_EMPTY(&sink->waiting) && !sink_is_full(sink)) {
        struct stream *stream = STAILQ_FIRST(&sink->waiting);

        STAILQ_REMOVE_HEAD(&sink->waiting, of_waiting);
        stream->is_waiting = false;
        stream_put(stream);
    }
    if (sink_is_full(sink))
        return;
    watch_drop(&sink->watch);
    watch_set(output.loop, &sink->streams_watch, EPOLLIN);
}

bool stream_begin(int fd, uint32_t rank, bool is_err, const char *bytes, size_t count)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    struct sink *sink = is_err ? sink_err : sink_out;

    if (!stream || (count && !(stream->bytes = malloc(LINE_PART_BYTES)))) {
        free(stream);
        return false;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK); /* affects only this end */
    stream->watch = (struct watch){ .fd = fd, .ready = stream_ready };
    stream->rank = rank;
    stream->sink = sink;
    stream->end = count;
    if (count)
        memcpy(stream->bytes, bytes, count);
    LIST_INSERT_HEAD(&sink->all, stream, of_sink);
    stream_count++;
    watch_set(&sink->streams, &stream->watch, EPOLLIN);
    stream_put(stream);
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

        for (struct stream *stream = LIST_FIRST(&sinks[i].all); stream; stream = next) {
            next = LIST_NEXT(stream, of_sink);
            if (sink_is_full(stream->sink) || stream->is_waiting || stream_read(stream))
                continue;
            stream->has_ended = true;
            stream_put(stream);
        }
    }
}

bool output_is_written(void)
{
    return !sink_is_full(sink_out) && !sink_is_full(sink_err);
}

/* ---- The two ---- */

/* Opens a pipe or terminal again for non-blocking writes, since other processes may share the descriptor's
 * modes. Returns the descriptor itself if that fails. */
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

    sink->is_socket = S_ISSOCK(status->st_mode);
    sink->watch = (struct watch){ .fd = may_block ? descriptor_unblocked(descriptor) : descriptor,
                                  .ready = sink_ready };
    STAILQ_INIT(&sink->waiting);
    if (event_loop_open(&sink->streams))
        give_up(STATUS_FAILED, "epoll: %s", strerror(errno));
    sink->streams_watch = (struct watch){ .fd = sink->streams.epoll, .ready = streams_ready };
    watch_set(output.loop, &sink->streams_watch, EPOLLIN);
}

/* Uses one sink for both if they are the same file, so that lines are not mixed. */
void output_open(const struct output *of)
{
    struct stat out = { 0 }, err = { 0 };

    output = *of;
    fstat(STDOUT_FILENO, &out);
    fstat(STDERR_FILENO, &err);
    sink_open(&sinks[0], STDOUT_FILENO, &out);
    if (out.st_dev == err.st_dev && out.st_ino == err.st_ino)
        sink_err = sink_out;
    else
        sink_open(&sinks[1], STDERR_FILENO, &err);
    say_begin(say_program(), error_write);
}
