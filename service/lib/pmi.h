/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi.h: PMI-1's wire protocol, the lines in which MPICH's kind of MPI libraries find each other: requests
 * read, and the keys and values that ranks put. Pure but for memory; knows nothing of connections.
 *
 * Sources: PMI-1 as Flux RFC 13 writes it down, and the handshake over a port (initack) as clients say it.
 */
#ifndef TACET_SERVICE_PMI_H
#define TACET_SERVICE_PMI_H

#include "lib/format.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI_LINE_BYTES  2048 /* a request with its LF, at most */
#define PMI_NAME_BYTES  256  /* of the store's name, of a key, of a value, each with its NUL */
#define PMI_KEY_BYTES   64
#define PMI_VALUE_BYTES 1024
#define PMI_REPLY_BYTES 2048

enum pmi_command {
    PMI_INITACK,
    PMI_INIT,
    PMI_GET_MAXES,
    PMI_GET_APPNUM,
    PMI_GET_MY_KVSNAME,
    PMI_GET_UNIVERSE_SIZE,
    PMI_PUT,
    PMI_GET,
    PMI_GETBYIDX,
    PMI_BARRIER_IN,
    PMI_FINALIZE,
    PMI_ABORT,
    PMI_REFUSED,     /* well known, and not offered: request.reply names the answer's command */
    PMI_SPAWN_BEGIN, /* a request of many lines, not offered: answered at its end */
    PMI_SPAWN_LINE,  /* one of those lines */
    PMI_SPAWN_END,
};

struct pmi_request {
    enum pmi_command command;
    uint32_t number;     /* initack's rank, init's version, getbyidx's index, abort's exit code */
    uint32_t subversion; /* of init */
    const char *kvsname, *key, *value; /* in the line's bytes */
    const char *reply;
};

/* Reads a line, without its LF and with a NUL, in place. `in_spawn`: between PMI_SPAWN_BEGIN and its end.
 * 0, or -EINVAL and why. */
int pmi_request_read(char *line, bool in_spawn, struct pmi_request *request, struct message *why);

struct pmi_pair {
    char *key, *value;
};

/* Keys are put once each. */
struct pmi_store {
    struct pmi_pair **pairs; /* in the order in which they were put */
    uint32_t count, room;
    void *tree; /* the same by key (tsearch) */
};

/* 0; -EEXIST, -ENOMEM, or -EINVAL for a key or value that is empty or too long; and why. */
int pmi_store_put(struct pmi_store *store, const char *key, const char *value, struct message *why);

/* The value, or NULL. */
const char *pmi_store_get(const struct pmi_store *store, const char *key);

void pmi_store_free(struct pmi_store *store);

/* How ranks lie on nodes, for the key PMI_process_mapping: `ranks` over `nodes` in blocks, the first nodes
 * with one more where they do not divide. */
void pmi_mapping_print(char text[PMI_VALUE_BYTES], uint32_t nodes, uint32_t ranks);

#endif
