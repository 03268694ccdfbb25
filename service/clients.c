/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clients.c: the connections that requests come by (conductor.h). A client that waits for an answer is not
 * read from meanwhile. None makes the conductor wait: a client that does not take its answer is left.
 */
#include "service/conductor.h"
#include "service/control.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Who has each place: another number for each client, so that no answer reaches the one that came after. */
static unsigned serials[POLL_COUNT], last_serial;

static char answer_text[CONTROL_ANSWER_BYTES];

void clients_start(void)
{
    for (unsigned place = POLL_CLIENTS; place < POLL_COUNT; place++)
        conductor.polls[place] = (struct pollfd){ .fd = -1 };
}

static void client_close(unsigned place)
{
    close(conductor.polls[place].fd);
    conductor.polls[place].fd = -1;
    serials[place] = 0;
    conductor.polls[POLL_LISTENER].events = POLLIN;
}

static void answer_send(unsigned place, const struct json *answer)
{
    ssize_t sent = send(conductor.polls[place].fd, answer->text, answer->length, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0 || (size_t)sent != answer->length)
        client_close(place);
    else
        conductor.polls[place].events = POLLIN;
}

void client_answer(unsigned client, const struct json *answer)
{
    for (unsigned place = POLL_CLIENTS; client && place < POLL_COUNT; place++)
        if (serials[place] == client)
            answer_send(place, answer);
}

void client_serve(unsigned place)
{
    struct pollfd *client = &conductor.polls[place];
    struct json answer = { .text = answer_text, .room = sizeof(answer_text) };
    char request[CONTROL_REQUEST_BYTES];

    if (!client->events) { /* it waits for an answer, and has gone */
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
    if (request_take(request, serials[place], &answer))
        answer_send(place, &answer);
}

/* While all places are taken others wait in the socket's queue. */
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
