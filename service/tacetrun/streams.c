/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streams.c: connections from ranks. The first line tells the rank and the purpose: "stream SECRET RANK out"
 * or "err" (docs/jobs.md), or PMI's "cmd=…". A connection with any other first line is rejected with a
 * message.
 */
#include "service/tacetrun/tacetrun.h"
#include "service/lib/input.h"
#include "service/lib/output.h"
#include "service/lib/tcp.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGERS_SHOWN 8
#define ACCEPTED_MAX    64 /* in one turn of the event loop */

/* A connection whose first line has not come yet. */
struct newcomer {
    struct watch watch; /* first */
    LIST_ENTRY(newcomer) of_newcomers;
    struct sockaddr_in from;
    uint64_t deadline_ns;
    char line[LAUNCH_LINE_BYTES];
    size_t bytes;
};

static struct watch listener = { .fd = -1 };
static LIST_HEAD(, newcomer) newcomers;
static unsigned strangers;

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
    LIST_REMOVE(newcomer, of_newcomers);
    free(newcomer);
}

void stranger_say(const struct sockaddr_in *from, const char *why)
{
    char address[INET_ADDRSTRLEN] = "";

    if (strangers++ >= STRANGERS_SHOWN)
        return;
    inet_ntop(AF_INET, &from->sin_addr, address, sizeof(address));
    say("rejected a connection from %s:%u: %s%s", address, ntohs(from->sin_port), why,
        strangers == STRANGERS_SHOWN ? "; further ones are not shown" : "");
}

static void newcomer_refuse(struct newcomer *newcomer, const char *why)
{
    stranger_say(&newcomer->from, why);
    close(newcomer->watch.fd);
    newcomer_free(newcomer);
}

/* Reads "stream SECRET RANK out|err". NULL, or why it is wrong. */
static const char *stream_line_read(const char *line, uint32_t *rank, bool *is_err)
{
    uint64_t secret;
    char which[4];
    int end = 0;

    if (sscanf(line, "stream %16" SCNx64 " %7" SCNu32 " %3s%n", &secret, rank, which, &end) != 3 || line[end])
        return "its first line is neither \"stream SECRET RANK out|err\" nor a PMI command";
    if (secret != run.secret)
        return "its secret is not the job's";
    *is_err = strcmp(which, "err") == 0;
    if (!*is_err && strcmp(which, "out") != 0)
        return "its stream is neither \"out\" nor \"err\"";
    if (*rank >= run.size)
        return "the job has no such rank";
    if (*is_err ? run.ranks[*rank].has_err : run.ranks[*rank].has_out)
        return "this stream of the rank is already connected";
    return NULL;
}

static void stream_line_take(struct newcomer *newcomer, char *feed)
{
    const char *rest = feed + 1;
    size_t rest_bytes = newcomer->bytes - (size_t)(rest - newcomer->line);
    int connection = newcomer->watch.fd;
    uint32_t rank;
    bool is_err;

    *feed = '\0';
    const char *why = stream_line_read(newcomer->line, &rank, &is_err);
    if (why) {
        newcomer_refuse(newcomer, why);
        return;
    }
    *(is_err ? &run.ranks[rank].has_err : &run.ranks[rank].has_out) = true;
    run.stream_count++;
    watch_drop(&newcomer->watch);
    tcp_keep(connection, 0); /* a dead node is detected through its own connection */
    if (!is_err && rank == run.plan.stdin_rank)
        input_connect(connection);
    if (!stream_begin(connection, rank, is_err, rest, rest_bytes)) {
        close(connection);
        run_kill(STATUS_FAILED, "no memory for the streams of rank %u", rank);
    }
    newcomer_free(newcomer);
}

static void newcomer_ready(struct watch *watch, uint32_t events)
{
    struct newcomer *newcomer = (struct newcomer *)watch;
    ssize_t bytes = recv(watch->fd, newcomer->line + newcomer->bytes,
                         sizeof(newcomer->line) - newcomer->bytes, MSG_DONTWAIT);

    (void)events;
    if (bytes < 0 && errno == EAGAIN)
        return;
    if (bytes <= 0) {
        newcomer_refuse(newcomer, "it was closed before its first line came");
        return;
    }
    newcomer->bytes += (size_t)bytes;
    char *feed = memchr(newcomer->line, '\n', newcomer->bytes);
    if (newcomer->bytes >= 4 && memcmp(newcomer->line, "cmd=", 4) == 0) {
        watch_drop(watch);
        pmi_begin(watch->fd, &newcomer->from, newcomer->line, newcomer->bytes);
        newcomer_free(newcomer);
    } else if (feed) {
        stream_line_take(newcomer, feed);
    } else if (newcomer->bytes == sizeof(newcomer->line)) {
        newcomer_refuse(newcomer, "its first line is too long");
    }
}

static bool newcomer_accept(void)
{
    struct sockaddr_in from;
    socklen_t bytes = sizeof(from);
    int connection = accept4(listener.fd, (struct sockaddr *)&from, &bytes, SOCK_CLOEXEC);
    struct newcomer *newcomer;

    if (connection < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        watch_drop(&listener);
        run_kill(STATUS_FAILED, "cannot accept the ranks' connections: %s", strerror(errno));
    }
    if (connection < 0)
        return false;
    newcomer = calloc(1, sizeof(*newcomer));
    if (!newcomer) {
        close(connection);
        return false;
    }
    newcomer->watch = (struct watch){ .fd = connection, .ready = newcomer_ready };
    newcomer->from = from;
    newcomer->deadline_ns = run.now_ns + run.plan.within_ns;
    LIST_INSERT_HEAD(&newcomers, newcomer, of_newcomers);
    watch_set(&run.loop, &newcomer->watch, EPOLLIN);
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
    watch_set(&run.loop, &listener, EPOLLIN);
    run.port = ntohs(here.sin_port);
}

void streams_tick(void)
{
    struct newcomer *next;

    for (struct newcomer *newcomer = LIST_FIRST(&newcomers); newcomer; newcomer = next) {
        next = LIST_NEXT(newcomer, of_newcomers);
        if (run.now_ns >= newcomer->deadline_ns)
            newcomer_refuse(newcomer, "its first line has not come in time (--within)");
    }
}

bool newcomers_are_there(void)
{
    return !LIST_EMPTY(&newcomers);
}
