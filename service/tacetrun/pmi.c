/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi.c: tacetrun's PMI server (pmi_server.h): ranks connect over the network and send their number. A client
 * that violates the protocol is disconnected with a message; the job goes on until its rank ends.
 */
#include "service/lib/pmi_server.h"
#include "service/lib/tcp.h"
#include "service/tacetrun/tacetrun.h"
#include <stdio.h>

static void client_refused(uint32_t rank, const struct sockaddr_in *from, const char *why)
{
    if (rank == PMI_RANK_NONE)
        stranger_say(from, why);
    else
        say("rank %u on %s violates the PMI protocol: %s", rank, node_of_rank(rank)->name, why);
}

static void put_refused(uint32_t rank, const char *why)
{
    say("rank %u on %s: PMI put failed: %s", rank, node_of_rank(rank)->name, why);
}

static void rank_aborted(uint32_t rank, uint32_t code)
{
    run_kill(code & 0xff ? code & 0xff : 1, "rank %u on %s aborts the job with exit code %u", rank,
             node_of_rank(rank)->name, code);
}

static const struct pmi_server_calls calls = { .refused = client_refused,
                                               .put_refused = put_refused,
                                               .aborted = rank_aborted };
static struct pmi_server server = { .loop = &run.loop, .calls = &calls };

void pmi_begin(int connection, const struct sockaddr_in *from, const char *bytes, size_t count)
{
    tcp_keep(connection, 0);
    if (!pmi_server_connect(&server, connection, PMI_RANK_NONE, from, bytes, count))
        run_kill(STATUS_FAILED, "no memory for PMI");
}

void pmi_prepare(void)
{
    char store_name[32];
    struct message why;

    snprintf(store_name, sizeof(store_name), "job_%u", run.job);
    if (pmi_server_open(&server, store_name, nodes.count, run.size, &why))
        run_kill(STATUS_FAILED, "PMI: %s", why.text);
}

bool pmi_has_begun(uint32_t rank)
{
    return server.size && server.ranks[rank].is_in_pmi;
}
