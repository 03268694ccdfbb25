/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi.h: PMI-1's wire protocol, text lines through which the ranks of MPICH-like MPI libraries find each
 * other: reading requests, and the store of keys and values that ranks put. Portable C except for memory;
 * knows nothing of connections.
 *
 * Source: PMI-1 as described by Flux RFC 13.
 */
#ifndef TACET_SERVICE_PMI_H
#define TACET_SERVICE_PMI_H

#include "lib/format.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI_LINE_BYTES  2048 /* a request with its LF, at most */
#define PMI_NAME_BYTES  256  /* room for the store's name, a key or a value, with its NUL */
#define PMI_KEY_BYTES   64
#define PMI_VALUE_BYTES 1024
#define PMI_REPLY_BYTES 2048

enum pmi_command {
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
    PMI_REFUSED,     /* part of PMI-1, not supported: request.reply names the answer's command */
    PMI_SPAWN_BEGIN, /* a request of many lines, not supported: answered at its end */
    PMI_SPAWN_LINE,  /* one of its lines */
    PMI_SPAWN_END,
};

struct pmi_request {
    enum pmi_command command;
    uint32_t number;                   /* init's version, getbyidx's index, abort's exit code as an int */
    uint32_t subversion;               /* of init */
    const char *kvsname, *key, *value; /* pointers into the line */
    const char *reply;
};

/* Parses a NUL-terminated line (without LF) in place. `in_spawn`: the line comes between PMI_SPAWN_BEGIN and
 * PMI_SPAWN_END. 0, or -EINVAL and why. */
int pmi_request_read(char *line, bool in_spawn, struct pmi_request *request, struct message *why);

struct pmi_pair {
    char *key, *value;
};

/* The store. Each key is put once. */
struct pmi_store {
    struct pmi_pair **pairs; /* in the order in which they were put */
    uint32_t count, room;
    void *tree; /* the pairs by key (tsearch) */
};

/* Adds copies of a key and its value. 0; -EEXIST, -ENOMEM, or -EINVAL (empty key, key or value too long) and
 * why. */
int pmi_store_put(struct pmi_store *store, const char *key, const char *value, struct message *why);

/* Returns a key's value; NULL if there is no such key. */
const char *pmi_store_get(const struct pmi_store *store, const char *key);

void pmi_store_free(struct pmi_store *store);

/* Writes the value of the key PMI_process_mapping: `ranks` in blocks over `nodes`; if they do not divide
 * evenly the first nodes have one rank more. */
void pmi_mapping_print(char text[PMI_VALUE_BYTES], uint32_t nodes, uint32_t ranks);

#endif
