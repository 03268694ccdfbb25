/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi_server.h: PMI-1's server (pmi.h): ranks put keys, wait for each other in a barrier, and get what the
 * others have put. It belongs to a program that starts ranks, and knows nothing of how it does: connections
 * come from there, and what happens is told to it by callbacks. One thread, that of the event loop; a
 * callback does not call the server.
 *
 * A client that does not keep to the protocol is disconnected.
 */
#ifndef TACET_SERVICE_PMI_SERVER_H
#define TACET_SERVICE_PMI_SERVER_H

#include "service/lib/event_loop.h"
#include "service/lib/pmi.h"
#include <netinet/in.h>

#define PMI_RANK_NONE UINT32_MAX

struct pmi_client;

struct pmi_rank {
    bool is_in_pmi;   /* between init and finalize */
    bool is_finished; /* finalize has come */
    uint32_t appnum;  /* which of the job's programs it runs */
    struct pmi_client *client;
};

struct pmi_server_calls {
    /* The client is disconnected. `rank` is PMI_RANK_NONE where it has not said who it is: then `from`
     * counts. */
    void (*refused)(uint32_t rank, const struct sockaddr_in *from, const char *why);

    /* A key is not kept; the client goes on. */
    void (*put_refused)(uint32_t rank, const char *why);

    /* The rank wants the job to end. */
    void (*aborted)(uint32_t rank, uint32_t code);
};

/* Begins as { .loop = …, .calls = … }: until it is opened it has no ranks, and disconnects all who come. */
struct pmi_server {
    struct event_loop *loop;
    const struct pmi_server_calls *calls;
    struct pmi_rank *ranks;
    uint32_t size, barrier_count; /* ranks; those that wait in the barrier */
    struct pmi_store store;
    char store_name[32];
};

/* Ranks over nodes in blocks, and the name of what they put. 0, or -ENOMEM and why. */
int pmi_server_open(struct pmi_server *server, const char *store_name, uint32_t nodes, uint32_t ranks,
                    struct message *why);

/* A connection that has said so much. Whose it is, is known where the program has made it for a rank;
 * otherwise (PMI_RANK_NONE) it says so by initack. False without memory: the connection stays the caller's.
 */
bool pmi_server_connect(struct pmi_server *server, int connection, uint32_t rank,
                        const struct sockaddr_in *from, const char *bytes, size_t count);

/* The rank's process has ended: takes what it has said before. Not within a callback. */
void pmi_server_drain(struct pmi_server *server, uint32_t rank);

#endif
