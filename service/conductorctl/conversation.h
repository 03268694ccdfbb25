/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conversation.h: conductorctl's connection to the conductor (control.h). Each request waits for its answer
 * before the next one.
 */
#ifndef TACET_SERVICE_CONVERSATION_H
#define TACET_SERVICE_CONVERSATION_H

struct conversation {
    const char *path;
    int socket;   /* -1: not connected yet */
    char *answer; /* the last one; NULL before the first */
};

/* Sends a request, connecting first if necessary, and waits for its answer for `within_s` seconds. Returns
 * the answer, or prints why there is none and returns NULL. */
const char *conversation_ask(struct conversation *conversation, const char *request, unsigned within_s);

/* Waits for the next message of an answer that has several. Returns as conversation_ask does. */
const char *conversation_next(struct conversation *conversation);

#endif
