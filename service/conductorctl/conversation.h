/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conversation.h: conductorctl's connection to the conductor: requests and answers, one after the other
 * (control.h).
 */
#ifndef TACET_SERVICE_CONVERSATION_H
#define TACET_SERVICE_CONVERSATION_H

struct conversation {
    const char *path;
    int socket;   /* -1: not connected yet */
    char *answer; /* the last one; NULL before it */
};

/* Sends a request, and waits for its answer so long: the answer, or NULL, and a line has said why. */
const char *conversation_ask(struct conversation *conversation, const char *request, unsigned within_s);

/* The next message of an answer that has several. */
const char *conversation_next(struct conversation *conversation);

#endif
