/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conversation.c: see conversation.h.
 */
#include "service/conductorctl/conversation.h"
#include "service/lib/control.h"
#include "service/lib/say.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* Returns why no message has come; `bytes` is what recv has returned. */
static const char *why_silent(ssize_t bytes)
{
    if (!bytes)
        return "it has closed the connection";
    return errno == EAGAIN ? "timed out; it may be busy with other clients" : strerror(errno);
}

/* Waits for the next message and returns it. An error prints a line, and returns NULL. A signal does not end
 * the wait. A conductor that refuses the connection has said why before it closed it. */
static const char *answer_take(struct conversation *conversation)
{
    bool is_reset = false, again;
    ssize_t bytes;

    do {
        bytes = recv(conversation->socket, conversation->answer, CONTROL_ANSWER_BYTES - 1, 0);
        again = bytes < 0 && (errno == EINTR || (errno == ECONNRESET && !is_reset));
        is_reset = is_reset || (bytes < 0 && errno == ECONNRESET);
    } while (again);
    if (bytes <= 0) {
        say("the conductor at %s does not answer: %s", conversation->path, why_silent(bytes));
        return NULL;
    }
    conversation->answer[bytes] = '\0';
    return conversation->answer;
}

const char *conversation_ask(struct conversation *conversation, const char *request, unsigned within_s)
{
    const struct timeval limit = { .tv_sec = (time_t)within_s };

    if (!conversation->answer)
        conversation->answer = malloc(CONTROL_ANSWER_BYTES);
    if (!conversation->answer)
        return NULL;
    if (conversation->socket < 0)
        conversation->socket = control_connect(conversation->path);
    if (conversation->socket < 0) {
        if (errno == EACCES)
            say("the conductor's socket %s refuses you: %s; root, or its group (conductor --group), may ask",
                conversation->path, strerror(errno));
        else
            say("no conductor at %s: %s", conversation->path, strerror(errno));
        return NULL;
    }
    setsockopt(conversation->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    send(conversation->socket, request, strlen(request), MSG_NOSIGNAL); /* if it fails, there is no answer */
    return answer_take(conversation);
}

const char *conversation_next(struct conversation *conversation)
{
    return answer_take(conversation);
}
