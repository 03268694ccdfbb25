/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi_server.h: a PMI-1 server (pmi.h): ranks put keys, wait for each other in a barrier, and get the keys of
 * the others. It belongs to a program that starts ranks in its own way: the program hands connections over
 * and gets callbacks. All runs on the event loop's thread; a callback must not call the server.
 *
 * A client that violates the protocol is disconnected.
 */
#ifndef TACET_SERVICE_PMI_SERVER_H
#define TACET_SERVICE_PMI_SERVER_H

#include "service/lib/event_loop.h"
#include "service/lib/pmi.h"

#define PMI_RANK_NONE UINT32_MAX

struct pmi_client;

struct pmi_rank {
    bool is_in_pmi;   /* between init and finalize */
    bool is_finished; /* has sent finalize */
    uint32_t appnum;  /* number of the job's program that it runs */
    struct pmi_client *client;
};

struct pmi_server_calls {
    /* The rank's client has been disconnected. */
    void (*refused)(uint32_t rank, const char *why);

    /* A put has failed; the client stays connected. */
    void (*put_refused)(uint32_t rank, const char *why);

    /* The rank has sent abort: the job should end. */
    void (*aborted)(uint32_t rank, uint32_t code);
};

/* Initialised as { .loop = …, .calls = … }. */
struct pmi_server {
    struct event_loop *loop;
    const struct pmi_server_calls *calls;
    struct pmi_rank *ranks;
    uint32_t size, barrier_count; /* ranks; ranks that wait in the barrier */
    struct pmi_store store;
    char store_name[32];
};

/* Sets up the ranks, in blocks over the nodes, and the store's name. 0, or -ENOMEM and why. */
int pmi_server_open(struct pmi_server *server, const char *store_name, uint32_t nodes, uint32_t ranks,
                    struct message *why);

/* Takes over a rank's connection, with `count` bytes that have been read from it already, less than
 * PMI_LINE_BYTES. Returns false if out of memory: the caller then still owns the connection. */
bool pmi_server_connect(struct pmi_server *server, int connection, uint32_t rank, const char *bytes,
                        size_t count);

/* Handles the requests that a rank sent before its process ended. Must not be called from a callback. */
void pmi_server_drain(struct pmi_server *server, uint32_t rank);

#endif
