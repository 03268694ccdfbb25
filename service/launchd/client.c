/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client.c: connections of tacet-launchd (launchd.h). Each is greeted, and has GREETED_LIMIT_NS to ask for a
 * job; one connection at a time has the node's job. If all places are taken, a new connection replaces one
 * without a job, so that silent connections cannot keep others out.
 *
 * A connection ends by shutdown(2). What still comes is read and dropped for CLOSING_LIMIT_NS: to close a
 * socket with unread bytes resets the connection, and the other side would lose the last lines.
 */
#include "service/launchd/launchd.h"
#include "service/lib/tcp.h"
#include "service/lib/text.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CLIENTS_MAX      64
#define GREETED_LIMIT_NS 10000000000ULL /* time limit for the line that asks for a job */
#define CLOSING_LIMIT_NS 10000000000ULL
#define OUT_BYTES        (32 << 10) /* more than the lines of a job with a rank on each of 1,024 CPUs */
#define WHY_BYTES        480        /* length of a reason, which fits in a line */
#define ACCEPTS_PER_TURN 16
#define CHUNK_BYTES      65536
#define SILENCE_NS       (30 * SECOND_NS) /* the other machine counts as lost after this time */

enum client_state {
    FREE,
    GREETED, /* it may ask for a job */
    FED,     /* it sends its request or program */
    SERVED,  /* it has the job; it may say kill */
    CLOSING, /* queued lines are sent; input is dropped */
};

static struct client {
    struct watch watch; /* watches the client's socket */
    bool is_full;       /* the socket takes no bytes now; EPOLLOUT is watched, too */
    enum client_state state;
    uint64_t limit_ns; /* GREETED, CLOSING */
    uint64_t nonce;
    struct in_addr address;
    char line[LAUNCH_TICKET_LINE];
    size_t line_bytes;
    char out[OUT_BYTES];
    size_t out_bytes;
    bool is_shut;
} clients[CLIENTS_MAX];

static void client_close(struct client *client)
{
    const bool has_job = client->state == FED || client->state == SERVED;

    client->state = FREE;
    watch_close(&client->watch);
    if (has_job)
        job_lost();
}

static void client_watch(struct client *client, bool is_full)
{
    client->is_full = is_full;
    if (watch_try(&launchd.loop, &client->watch, EPOLLIN | (is_full ? EPOLLOUT : 0)))
        client_close(client);
}

/* Sends queued lines as far as the socket takes them. */
static void client_flush(struct client *client)
{
    while (client->out_bytes) {
        const ssize_t sent = send(client->watch.fd, client->out, client->out_bytes, MSG_NOSIGNAL);

        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!client->is_full)
                client_watch(client, true);
            return;
        }
        if (sent < 0) {
            client_close(client);
            return;
        }
        client->out_bytes -= (size_t)sent;
        memmove(client->out, client->out + sent, client->out_bytes);
    }
    if (client->is_full)
        client_watch(client, false);
    if (client->state == CLOSING && !client->is_shut) {
        client->is_shut = true;
        shutdown(client->watch.fd, SHUT_WR);
    }
}

static void client_add(struct client *client, const char *line)
{
    const size_t bytes = strlen(line);

    if (bytes > sizeof(client->out) - client->out_bytes)
        return; /* the other side does not read; a job's own lines always fit */
    memcpy(client->out + client->out_bytes, line, bytes);
    client->out_bytes += bytes;
}

void client_say(struct client *client, const char *format, ...)
{
    char line[LAUNCH_LINE_BYTES + 1];
    va_list arguments;

    if (!client)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    client_add(client, line);
}

void client_finish(struct client *client)
{
    if (!client)
        return;
    client->state = CLOSING;
    client->limit_ns = clock_now_ns() + CLOSING_LIMIT_NS;
}

void client_refuse(struct client *client, const char *format, ...)
{
    char why[WHY_BYTES], clean[WHY_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    client_say(client, "refused %s", text_clean(why, clean, sizeof(clean)));
    client_finish(client);
}

struct in_addr client_address(const struct client *client)
{
    return client->address;
}

/* ---- Lines that come ---- */

/* Handles the line that asks for a job. */
static void ask_heard(struct client *client, const char *text)
{
    static struct launch_line line; /* large */
    struct message why;

    if (launch_line_read(text, &line, &why) || keys_ticket_check(&line, client->nonce, &why))
        client_refuse(client, "%s", why.text);
    else if (!job_take(client, &line))
        client_refuse(client, "busy with job %" PRIu32, job_number());
    else
        client->state = FED;
}

static void line_heard(struct client *client, const char *line)
{
    if (client->state != SERVED)
        ask_heard(client, line);
    else if (strcmp(line, "kill") == 0)
        job_kill();
    else
        job_fail("%.40s: tacetrun may say only kill while its job runs", line);
}

/* Takes bytes up to the end of a line. Returns how many. */
static size_t line_feed(struct client *client, const char *bytes, size_t count)
{
    const char *end = memchr(bytes, '\n', count);
    const size_t taken = end ? (size_t)(end - bytes) + 1 : count;

    if (client->line_bytes + taken > sizeof(client->line) ||
        (!end && client->line_bytes + taken == sizeof(client->line))) {
        if (client->state == SERVED)
            job_fail("the line is too long: at most %u characters", LAUNCH_TICKET_LINE - 1);
        else
            client_refuse(client, "the line is too long: at most %u characters", LAUNCH_TICKET_LINE - 1);
        return count;
    }
    memcpy(client->line + client->line_bytes, bytes, taken);
    client->line_bytes += taken;
    if (end) {
        client->line[client->line_bytes - 1] = '\0';
        client->line_bytes = 0;
        line_heard(client, client->line);
    }
    return taken;
}

static void client_feed(struct client *client, const char *bytes, size_t count)
{
    while (count) {
        size_t taken = count; /* CLOSING: drops all */

        if (client->state == FED && (taken = job_feed(bytes, count)) == 0)
            client->state = SERVED;
        if (client->state == GREETED || client->state == SERVED)
            taken = line_feed(client, bytes, count);
        bytes += taken;
        count -= taken;
    }
}

/* ---- Events ---- */

static void client_ready(struct watch *watch, uint32_t events)
{
    static char chunk[CHUNK_BYTES];
    struct client *client = (struct client *)watch;

    (void)events; /* clients_turn sends; recv says if the connection is lost */
    const ssize_t bytes = recv(client->watch.fd, chunk, sizeof(chunk), 0);
    if (bytes > 0)
        client_feed(client, chunk, (size_t)bytes);
    else if (bytes == 0 || (errno != EAGAIN && errno != EINTR))
        client_close(client);
}

void clients_turn(void)
{
    const uint64_t now = clock_now_ns();

    for (struct client *client = clients; client < clients + CLIENTS_MAX; client++) {
        if (client->state == GREETED && now >= client->limit_ns)
            client_refuse(client, "no request has come within %llu s", GREETED_LIMIT_NS / 1000000000);
        if (client->state != FREE)
            client_flush(client);
        if (client->state == CLOSING && now >= client->limit_ns)
            client_close(client);
        if (client->state == GREETED || client->state == CLOSING)
            turn_by(client->limit_ns);
    }
}

static bool is_visitor(const struct client *client)
{
    return client->state == GREETED || client->state == CLOSING;
}

static unsigned visitors_from(struct in_addr address)
{
    unsigned count = 0;

    for (const struct client *client = clients; client < clients + CLIENTS_MAX; client++)
        count += is_visitor(client) && client->address.s_addr == address.s_addr;
    return count;
}

/* Returns a free place. If all are taken, closes a connection without a job, the oldest of the host that has
 * most, so no host keeps the others out. */
static struct client *place_find(void)
{
    struct client *closed = NULL;
    unsigned most = 0;

    for (struct client *client = clients; client < clients + CLIENTS_MAX; client++) {
        const unsigned count = is_visitor(client) ? visitors_from(client->address) : 0;

        if (client->state == FREE)
            return client;
        if (count > most || (count && count == most && client->limit_ns < closed->limit_ns)) {
            closed = client;
            most = count;
        }
    }
    client_close(closed);
    return closed;
}

static void greet(struct client *client)
{
    struct sysinfo memory = { 0 };
    struct utsname system;
    char job[40] = "";

    sysinfo(&memory);
    uname(&system);
    if (!job_is_over())
        snprintf(job, sizeof(job), " job=%" PRIu32 " uid=%u", job_number(), job_user());
    client_say(client,
               "tacet-launch %u %016" PRIx64 " %s cpus=%u memory_mib=%llu state=%s%s name=%s id=%s "
               "system=%s-%s",
               LAUNCH_VERSION, client->nonce, launchd.has_key ? "ticket" : "open", launchd.cpus.count,
               (unsigned long long)memory.totalram * memory.mem_unit >> 20, job_is_over() ? "idle" : "busy",
               job, launchd.name, launchd.id, system.sysname, system.release);
}

/* Accepts and greets a connection. Returns false if no connection waits. */
static bool client_accept(int listener)
{
    struct sockaddr_in from;
    socklen_t bytes = sizeof(from);
    uint64_t nonce;
    const int socket = accept4(listener, (struct sockaddr *)&from, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (socket < 0)
        return false;
    if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce)) { /* does not wait: main has waited for seeds */
        close(socket);
        return true;
    }
    struct client *client = place_find();
    client->state = GREETED;
    client->watch = (struct watch){ .fd = socket, .ready = client_ready };
    client->limit_ns = clock_now_ns() + GREETED_LIMIT_NS;
    client->nonce = nonce;
    client->address = from.sin_addr;
    client->line_bytes = client->out_bytes = 0;
    client->is_shut = false;
    tcp_keep(socket, SILENCE_NS);
    greet(client);
    client_watch(client, false);
    return true;
}

void clients_accept(int listener)
{
    for (unsigned i = 0; i < ACCEPTS_PER_TURN && client_accept(listener); i++)
        continue;
}
