/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clients.c: the connections that requests come by (conductor.h). A client that waits for an answer is not
 * read from meanwhile. The conductor never waits for a client: one that does not take its answer is closed.
 */
#include "service/conductor/access.h"
#include "service/conductor/conductor.h"
#include "service/lib/control.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The number of the client at each place, 0: none. Each client has its own number, so that no answer reaches
 * a later client at the same place. */
static unsigned serials[POLL_COUNT], last_serial;

static char answer_text[CONTROL_ANSWER_BYTES];

void clients_start(void)
{
    for (unsigned place = POLL_CLIENTS; place < POLL_COUNT; place++)
        conductor.polls[place] = (struct pollfd){ .fd = -1 };
}

static void client_close(unsigned place)
{
    const unsigned client = serials[place];

    close(conductor.polls[place].fd);
    conductor.polls[place].fd = -1;
    serials[place] = 0;
    conductor.polls[POLL_LISTENER].events = POLLIN;
    pages_client_gone(client);
    orders_client_gone(client);
}

/* Sends a message, or closes the client if it does not take it. Reads from the client again after the last
 * message of an answer. */
static void message_send(unsigned place, const struct json *message, bool is_last)
{
    ssize_t sent =
        send(conductor.polls[place].fd, message->text, message->length, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0 || (size_t)sent != message->length)
        client_close(place);
    else if (is_last)
        conductor.polls[place].events = POLLIN;
}

static void client_send(unsigned client, const struct json *message, bool is_last)
{
    for (unsigned place = POLL_CLIENTS; client && place < POLL_COUNT; place++)
        if (serials[place] == client)
            message_send(place, message, is_last);
}

void client_answer(unsigned client, const struct json *answer)
{
    client_send(client, answer, true);
}

void client_part(unsigned client, const struct json *part)
{
    client_send(client, part, false);
}

void client_serve(unsigned place)
{
    struct pollfd *client = &conductor.polls[place];
    struct json answer = { .text = answer_text, .room = sizeof(answer_text) };
    char request[CONTROL_REQUEST_BYTES];

    if (!client->events) { /* it waits for an answer: so it has closed */
        client_close(place);
        return;
    }
    ssize_t bytes = recv(client->fd, request, sizeof(request) - 1, MSG_DONTWAIT);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        client_close(place);
        return;
    }
    request[bytes] = '\0';
    request[strcspn(request, "\n")] = '\0';
    client->events = 0;
    if (peer_read(client->fd, &conductor.peer)) {
        json_error(&answer, errno == ERANGE ? "you are in more than 256 groups" : strerror(errno));
        message_send(place, &answer, true);
        return;
    }
    if (!access_check(&conductor.peer, request, &answer) || request_take(request, serials[place], &answer))
        message_send(place, &answer, true);
}

/* Accepts a client. While all places are taken, clients wait in the socket's queue. */
void client_accept(void)
{
    unsigned place = POLL_CLIENTS;

    while (place < POLL_COUNT && conductor.polls[place].fd >= 0)
        place++;
    if (place == POLL_COUNT) {
        conductor.polls[POLL_LISTENER].events = 0;
        return;
    }
    int client = accept4(conductor.polls[POLL_LISTENER].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return;
    conductor.polls[place] = (struct pollfd){ .fd = client, .events = POLLIN };
    serials[place] = ++last_serial ? last_serial : ++last_serial;
}
