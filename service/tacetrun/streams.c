/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streams.c: connections from ranks. The first line, "stream SECRET RANK out" (or err, pmi: docs/jobs.md),
 * proves that a connection is a rank's, and says what for. Any other one is rejected with a message.
 *
 * A newcomer, whose first line has not come, may be a stranger. Strangers must not keep ranks out: a newcomer
 * has 5 s, there are few, the oldest goes if there is one too many or descriptors are exhausted, and the line
 * is read as soon as the connection is taken. Linux holds a connection back until its first bytes come.
 */
#include "service/tacetrun/tacetrun.h"
#include "service/lib/input.h"
#include "service/lib/output.h"
#include "service/lib/tcp.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGERS_SHOWN 8
#define STRANGERS_MAX   64 /* at once */
#define STRANGERS_MIN   8  /* at once, if descriptors are few */
#define ACCEPTED_MAX    64 /* in one turn of the event loop */
#define NEWCOMER_NS     (5 * SECOND_NS)
#define DEFER_S         1 /* for which Linux holds back a connection that says nothing */

/* A connection whose first line has not come yet. */
struct newcomer {
    struct watch watch; /* first */
    TAILQ_ENTRY(newcomer) of_newcomers;
    struct sockaddr_in from;
    uint64_t deadline_ns;
    char line[LAUNCH_LINE_BYTES];
    size_t bytes;
};

static struct watch listener = { .fd = -1 };
static TAILQ_HEAD(newcomers, newcomer) newcomers = TAILQ_HEAD_INITIALIZER(newcomers); /* the oldest first */
static uint32_t newcomer_count, strangers_max = STRANGERS_MIN; /* more once the job is chosen */
static unsigned strangers;                                     /* rejected so far */

static void input_connect(int connection)
{
    const int to = dup(connection); /* stream_begin takes over `connection` */

    if (to < 0)
        run_kill(STATUS_FAILED, "cannot pass standard input to rank %u: %s", run.plan.stdin_rank,
                 strerror(errno));
    else
        input_begin(&run.loop, to, run.plan.stdin_rank);
}

/* ---- Newcomers ---- */

static void newcomer_free(struct newcomer *newcomer)
{
    watch_drop(&newcomer->watch);
    TAILQ_REMOVE(&newcomers, newcomer, of_newcomers);
    newcomer_count--;
    free(newcomer);
}

static void newcomer_refuse(struct newcomer *newcomer, const char *why)
{
    char address[INET_ADDRSTRLEN] = "";

    inet_ntop(AF_INET, &newcomer->from.sin_addr, address, sizeof(address));
    if (strangers++ < STRANGERS_SHOWN)
        say("rejected a connection from %s:%u: %s%s", address, ntohs(newcomer->from.sin_port), why,
            strangers == STRANGERS_SHOWN ? "; further ones are not shown" : "");
    close(newcomer->watch.fd);
    newcomer_free(newcomer);
}

/* Returns NULL if the line is of a stream that is to come, or why it is not. */
static const char *stream_line_check(const char *text, struct stream_line *line)
{
    const char *why = stream_line_read(text, line);

    if (why)
        return why;
    if (line->secret != run.secret)
        return "its secret is not the job's";
    if (line->rank >= run.size)
        return "the job has no such rank";
    return run.ranks[line->rank].has_stream[line->kind] ? "this stream of the rank is already connected"
                                                        : NULL;
}

/* Gives a rank's connection to the output or the PMI server. Returns false if out of memory. */
static bool stream_take(int connection, const struct stream_line *line, const char *bytes, size_t count)
{
    if (line->kind == STREAM_PMI)
        return pmi_begin(connection, line->rank, bytes, count);
    tcp_keep(connection, 0); /* a dead node is detected through its own connection */
    if (line->kind == STREAM_OUT && line->rank == run.plan.stdin_rank)
        input_connect(connection);
    return stream_begin(connection, line->rank, line->kind == STREAM_ERR, bytes, count);
}

static void stream_line_take(struct newcomer *newcomer, char *feed)
{
    const char *rest = feed + 1;
    size_t rest_bytes = newcomer->bytes - (size_t)(rest - newcomer->line);
    int connection = newcomer->watch.fd;
    struct stream_line line;

    *feed = '\0';
    const char *why = stream_line_check(newcomer->line, &line);
    if (why) {
        newcomer_refuse(newcomer, why);
        return;
    }
    run.ranks[line.rank].has_stream[line.kind] = true;
    run.stream_counts[line.kind]++;
    watch_drop(&newcomer->watch);
    if (!stream_take(connection, &line, rest, rest_bytes)) {
        close(connection);
        run_kill(STATUS_FAILED, "no memory for the streams of rank %u", line.rank);
    }
    newcomer_free(newcomer);
}

/* Reads what has come of the first line. Returns whether the newcomer still is one. */
static bool newcomer_read(struct newcomer *newcomer)
{
    ssize_t bytes = recv(newcomer->watch.fd, newcomer->line + newcomer->bytes,
                         sizeof(newcomer->line) - newcomer->bytes, MSG_DONTWAIT);
    char *feed;

    if (bytes < 0 && errno == EAGAIN)
        return true;
    newcomer->bytes += bytes > 0 ? (size_t)bytes : 0;
    if (bytes <= 0)
        newcomer_refuse(newcomer, "it was closed before its first line came");
    else if ((feed = memchr(newcomer->line, '\n', newcomer->bytes)))
        stream_line_take(newcomer, feed);
    else if (newcomer->bytes == sizeof(newcomer->line))
        newcomer_refuse(newcomer, "its first line is too long");
    else
        return true;
    return false;
}

static void newcomer_ready(struct watch *watch, uint32_t events)
{
    (void)events; /* recv reports an error as the end */
    newcomer_read((struct newcomer *)watch);
}

bool newcomers_are_there(void)
{
    return !TAILQ_EMPTY(&newcomers);
}

/* ---- The listener ---- */

/* Returns how many newcomers there may be: streams that are still to come, and strangers. */
static uint32_t newcomers_max(void)
{
    uint32_t due = STREAM_KINDS * run.size;

    for (unsigned i = 0; i < STREAM_KINDS; i++)
        due -= run.stream_counts[i];
    return due + strangers_max;
}

/* Makes room for a connection that could not be accepted. If only time can, stops to listen until the next
 * tick. Returns whether to try again. */
static bool descriptors_are_short(int error)
{
    static bool is_said;

    if (newcomers_are_there()) {
        newcomer_refuse(TAILQ_FIRST(&newcomers),
                        "its first line has not come, and descriptors are exhausted");
        return true;
    }
    watch_drop(&listener);
    if (!is_said)
        say("cannot accept a connection: %s; trying again", strerror(error));
    is_said = true;
    return false;
}

static bool newcomer_accept(void)
{
    struct sockaddr_in from;
    socklen_t bytes = sizeof(from);
    int connection = accept4(listener.fd, (struct sockaddr *)&from, &bytes, SOCK_CLOEXEC);
    struct newcomer *newcomer;

    if (connection < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        return descriptors_are_short(errno);
    if (connection < 0)
        return false;
    newcomer = calloc(1, sizeof(*newcomer));
    if (!newcomer) {
        close(connection);
        return false;
    }
    newcomer->watch = (struct watch){ .fd = connection, .ready = newcomer_ready };
    newcomer->from = from;
    newcomer->deadline_ns = run.now_ns + NEWCOMER_NS;
    TAILQ_INSERT_TAIL(&newcomers, newcomer, of_newcomers);
    newcomer_count++;
    if (newcomer_read(newcomer))
        watch_set(&run.loop, &newcomer->watch, EPOLLIN);
    if (newcomer_count > newcomers_max())
        newcomer_refuse(TAILQ_FIRST(&newcomers), "its first line has not come, and newer connections wait");
    return true;
}

static void listener_ready(struct watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
    for (unsigned i = 0; i < ACCEPTED_MAX && newcomer_accept(); i++)
        ;
}

void streams_listen(void)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)run.plan.port) };

    listener = (struct watch){ .fd = tcp_listen(&here), .ready = listener_ready };
    if (listener.fd < 0)
        give_up(STATUS_FAILED, "cannot listen on port %u: %s", run.plan.port, strerror(errno));
    setsockopt(listener.fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &(int){ DEFER_S }, sizeof(int));
    watch_set(&run.loop, &listener, EPOLLIN);
    run.port = ntohs(here.sin_port);
}

void streams_reserve(rlim_t needed)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t spare = limit.rlim_cur - needed;
    if (spare > STRANGERS_MIN)
        strangers_max = spare < STRANGERS_MAX ? (uint32_t)spare : STRANGERS_MAX;
}

void streams_tick(void)
{
    const bool is_over = run.phase == PHASE_FINISH && run.now_ns - run.finish_ns > LAST_OUTPUT_NS;
    struct newcomer *newcomer;

    if (is_over) /* what nodes have sent is here by now */
        watch_close(&listener);
    else if (!listener.loop)
        watch_set(&run.loop, &listener, EPOLLIN);
    while ((newcomer = TAILQ_FIRST(&newcomers)) && (is_over || run.now_ns >= newcomer->deadline_ns))
        newcomer_refuse(newcomer, "its first line has not come in time");
}
