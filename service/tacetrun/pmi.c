/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi.c: tacetrun's PMI server (pmi_server.h), on streams that ranks' nodes have opened. A client that
 * violates the protocol is disconnected with a message; the job goes on until its rank ends.
 */
#include "service/lib/pmi_server.h"
#include "service/tacetrun/tacetrun.h"
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

static void client_refused(uint32_t rank, const char *why)
{
    say("rank %u on %s violates the PMI protocol: %s", rank, node_of_rank(rank)->name, why);
}

static void put_refused(uint32_t rank, const char *why)
{
    say("rank %u on %s: PMI put failed: %s", rank, node_of_rank(rank)->name, why);
}

static void rank_aborted(uint32_t rank, uint32_t code)
{
    run_kill(code & 0xff ? code & 0xff : 1, "rank %u on %s aborts the job with exit code %d", rank,
             node_of_rank(rank)->name, (int)code);
}

static const struct pmi_server_calls calls = { .refused = client_refused,
                                               .put_refused = put_refused,
                                               .aborted = rank_aborted };
static struct pmi_server server = { .loop = &run.loop, .calls = &calls };

bool pmi_begin(int connection, uint32_t rank, const char *bytes, size_t count)
{
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    return pmi_server_connect(&server, connection, rank, bytes, count);
}

void pmi_prepare(void)
{
    char store_name[32];
    struct message why;

    if (server.size)
        return; /* choice_again: it has the same ranks */
    snprintf(store_name, sizeof(store_name), "job_%u", run.job);
    if (pmi_server_open(&server, store_name, nodes.count, run.size, &why))
        run_kill(STATUS_FAILED, "PMI: %s", why.text);
}

bool pmi_has_begun(uint32_t rank)
{
    return server.size && server.ranks[rank].is_in_pmi;
}

void pmi_tick(void)
{
    for (uint32_t i = 0; server.barrier_count && run.ended_count && i < run.size; i++) {
        const int status = run.ranks[i].status;

        if (status < 0)
            continue;
        run_kill(
            status ? status : 1, "rank %u on %s has ended %s, and %u others wait for it in PMI's barrier", i,
            node_of_rank(i)->name, server.ranks[i].is_finished ? "after MPI_Finalize" : "without MPI_Init",
            server.barrier_count);
        return;
    }
}
