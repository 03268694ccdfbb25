/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clients.c: the connections that requests come by (conductor.h), in a group of their own, so that idle ones
 * cost nothing. A client that waits for an answer is not read from meanwhile. The conductor never waits for a
 * client: one that does not take its answer is closed.
 *
 * A tacetrun stays connected while its job runs (its lease); other clients come and go. CLIENTS_RESERVED
 * places are never leases', so that conductorctl gets in. If all places are taken, the client that has been
 * idle for longest goes, unless it has a lease. A client beyond a limit is told so.
 */
#include "service/conductor/access.h"
#include "service/conductor/conductor.h"
#include "service/lib/control.h"
#include "service/lib/event_loop.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define DESCRIPTORS_OWN 32

/* A client's number says its place and is not used again, so that no answer reaches a later client there. */
static struct client {
    struct watch watch; /* first */
    unsigned number;    /* 0: the place is free */
    uid_t uid;
    bool waits; /* for an answer */
    bool has_lease;
    uint64_t heard_ns;
} clients[CLIENTS_MAX];

static struct event_loop group;
static unsigned places = CLIENTS_MAX, client_total;
static char answer_text[CONTROL_ANSWER_BYTES];

int clients_start(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit); /* if this fails, there are fewer places */
        getrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < CLIENTS_MAX + DESCRIPTORS_OWN)
            places = limit.rlim_cur < 2 * DESCRIPTORS_OWN ? DESCRIPTORS_OWN
                                                          : (unsigned)limit.rlim_cur - DESCRIPTORS_OWN;
    }
    return event_loop_open(&group) ? -1 : group.epoll;
}

static struct client *client_find(unsigned number)
{
    struct client *client = &clients[number % CLIENTS_MAX];

    return number && client->number == number ? client : NULL;
}

uint32_t client_uid(unsigned number)
{
    return client_find(number)->uid;
}

void client_lease_set(unsigned number, bool has)
{
    client_find(number)->has_lease = has;
}

bool user_has_all_rights(uint32_t uid)
{
    return uid == 0 || uid == geteuid();
}

unsigned clients_count(void)
{
    return client_total;
}

unsigned clients_leases_max(void)
{
    return places - CLIENTS_RESERVED;
}

static void client_close(struct client *client)
{
    const unsigned number = client->number;

    watch_close(&client->watch);
    client->number = 0;
    client_total--;
    conductor.polls[POLL_LISTENER].events = POLLIN;
    pages_client_gone(number);
    orders_client_gone(number);
    leases_client_gone(number);
}

/* ---- Answers ---- */

/* Sends a message, or closes the client if it does not take it. Reads from the client again after the last
 * message of an answer. */
static void message_send(struct client *client, const struct json *message, bool is_last)
{
    ssize_t sent = send(client->watch.fd, message->text, message->length, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0 || (size_t)sent != message->length) {
        client_close(client);
    } else if (is_last && client->waits) {
        client->waits = false;
        watch_try(&group, &client->watch, EPOLLIN);
    }
}

void client_answer(unsigned number, const struct json *answer)
{
    struct client *client = client_find(number);

    if (client)
        message_send(client, answer, true);
}

void client_part(unsigned number, const struct json *part)
{
    struct client *client = client_find(number);

    if (client)
        message_send(client, part, false);
}

bool client_tell(unsigned number, const struct json *news)
{
    const struct client *client = client_find(number);

    return client && send(client->watch.fd, news->text, news->length, MSG_DONTWAIT | MSG_NOSIGNAL) ==
                         (ssize_t)news->length;
}

/* ---- Requests ---- */

static void client_ready(struct watch *watch, uint32_t events)
{
    struct client *client = (struct client *)watch;
    struct json answer = { .text = answer_text, .room = sizeof(answer_text) };
    char request[CONTROL_REQUEST_BYTES];

    (void)events; /* one that waits for its answer is ready only if it has closed */
    beat_due();
    ssize_t bytes = client->waits ? 0 : recv(watch->fd, request, sizeof(request) - 1, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        client_close(client);
        return;
    }
    request[bytes] = '\0';
    request[strcspn(request, "\n")] = '\0';
    client->heard_ns = conductor_now_ns();
    if (peer_read(watch->fd, &conductor.peer)) {
        json_error(&answer, errno == ERANGE ? "you are in more than 256 groups" : strerror(errno));
        message_send(client, &answer, true);
    } else if (!access_check(&conductor.peer, request, &answer) ||
               request_take(request, client->number, &answer)) {
        message_send(client, &answer, true);
    } else {
        client->waits = true;
        watch_try(&group, watch, 0);
    }
}

void clients_serve(void)
{
    event_loop_turn(&group, 0);
}

/* ---- Clients that come ---- */

/* Returns a free place; that of the client which has been idle for longest if there is none; or NULL. */
static struct client *place_find(void)
{
    struct client *idle = NULL;

    for (unsigned i = 0; i < places; i++) {
        struct client *client = &clients[i];

        if (!client->number)
            return client;
        if (!client->waits && client->number != conductor.holder && !client->has_lease &&
            (!idle || client->heard_ns < idle->heard_ns))
            idle = client;
    }
    if (idle)
        client_close(idle);
    return idle;
}

static unsigned clients_of_user(uid_t uid)
{
    unsigned count = 0;

    for (unsigned i = 0; i < places; i++)
        count += clients[i].number && clients[i].uid == uid;
    return count;
}

/* Tells a client why it is not served, and closes its connection. */
static void refuse(int connection, const char *format, unsigned number)
{
    struct json answer = { .text = answer_text, .room = sizeof(answer_text) };
    char text[128];

    snprintf(text, sizeof(text), format, number);
    json_error(&answer, text);
    send(connection, answer.text, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL); /* or it sees the end only */
    close(connection);
}

void client_accept(void)
{
    static unsigned turns;
    struct ucred who = { .uid = (uid_t)-1 };
    socklen_t bytes = sizeof(who);
    const int connection =
        accept4(conductor.polls[POLL_LISTENER].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (connection < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            conductor.polls[POLL_LISTENER].events = 0; /* until a client leaves, or the next beat */
        return;
    }
    getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &bytes);
    if (!user_has_all_rights(who.uid) && clients_of_user(who.uid) >= CLIENTS_OF_USER_MAX) {
        refuse(connection, "refused: a user may have %u connections to the conductor", CLIENTS_OF_USER_MAX);
        return;
    }
    struct client *client = place_find();
    if (!client) {
        refuse(connection, "refused: the conductor serves %u connections, and all are in use", places);
        return;
    }
    *client = (struct client){ .watch = { .fd = connection, .ready = client_ready },
                               .uid = who.uid,
                               .heard_ns = conductor_now_ns() };
    if (watch_try(&group, &client->watch, EPOLLIN)) {
        close(connection);
        return;
    }
    turns = turns + 1 < UINT32_MAX / CLIENTS_MAX ? turns + 1 : 1;
    client->number = turns * CLIENTS_MAX + (unsigned)(client - clients);
    client_total++;
}
