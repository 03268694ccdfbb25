/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c: the list of nodes, from --nodelist, TACET_NODES, or the conductor; and their addresses, looked up
 * in parallel (getaddrinfo_a) within --within.
 */
#include "service/lib/json.h"
#include "service/lib/text.h"
#include "service/tacetrun/tacetrun.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n,"

static void (*names_done)(void);

/* ---- Nodes from the conductor ---- */

/* Takes the job that the conductor has heard of, and its user; none of a silent node, which may be dead. */
static void job_take(struct node *node, const char *object)
{
    char state[16];

    if (strcmp(json_member_text(object, "state", state, sizeof(state)), "silent") == 0)
        return;
    node->heard_job = (uint32_t)json_number(object, "job");
    node->has_user = json_member(object, "uid");
    node->user = (uint32_t)json_number(object, "uid");
}

static void node_take(const char *object)
{
    char raw[NODE_NAME_BYTES], name[NODE_NAME_BYTES], state[16], ipv4[32];
    struct in_addr address;

    text_clean(json_member_text(object, "name", raw, sizeof(raw)), name, sizeof(name));
    json_member_text(object, "state", state, sizeof(state));
    json_member_text(object, "ipv4", ipv4, sizeof(ipv4));
    if (strcmp(state, "silent") == 0) {
        say("skipping %s: the conductor reports it as silent", name);
        nodes.skipped++;
    } else if (inet_pton(AF_INET, ipv4, &address) == 1 && address.s_addr) {
        node_add(*name && !strchr(name, ':') ? name : ipv4, &address);
        job_take(nodes.all[nodes.count - 1], object);
    }
}

static void page_take(void *context, const char *answer)
{
    char request[32];

    (void)context;
    if (!answer || !json_member(answer, "nodes"))
        give_up(STATUS_FAILED, "the conductor did not send its list of nodes: name nodes with -w");
    for (const char *node = json_first(json_member(answer, "nodes")); node; node = json_next(node))
        node_take(node);
    const uint64_t from = json_number(answer, "next");
    if (from) {
        snprintf(request, sizeof(request), "nodes %" PRIu64, from);
        conductor_request(request, page_take, NULL);
        return;
    }
    if (!nodes.count)
        give_up(STATUS_FAILED, "the conductor at %s knows only silent nodes, or none: name nodes with -w",
                run.plan.conductor);
    names_done();
}

static void heard_take(void *context, const char *answer)
{
    char request[32], ipv4[INET_ADDRSTRLEN];
    struct in_addr address;

    for (const char *object = json_first(json_member(answer ? answer : "", "nodes")); object;
         object = json_next(object)) {
        json_member_text(object, "ipv4", ipv4, sizeof(ipv4));
        for (uint32_t i = 0; i < nodes.count && inet_pton(AF_INET, ipv4, &address) == 1; i++)
            if (nodes.all[i]->state < NODE_READY && nodes.all[i]->address.sin_addr.s_addr == address.s_addr)
                job_take(nodes.all[i], object);
    }
    const uint64_t from = json_number(answer ? answer : "", "next");
    snprintf(request, sizeof(request), "nodes %" PRIu64, from);
    if (from && run.phase == PHASE_GREET)
        conductor_request(request, heard_take, context);
}

void names_heard(void)
{
    conductor_request("nodes 0", heard_take, NULL);
}

/* ---- Nodes named by the user ---- */

static void list_part(const char *list, const char *from)
{
    char *copy = strdup(list), *rest = NULL;

    for (char *at = copy ? strtok_r(copy, BLANKS, &rest) : NULL; at; at = strtok_r(NULL, BLANKS, &rest))
        node_add(at, NULL);
    free(copy);
    if (!nodes.count)
        give_up(STATUS_FAILED, "%s names no node: expected names, as node1,node2", from);
}

static bool is_interrupted(void)
{
    sigset_t pending;

    sigpending(&pending);
    return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) || sigismember(&pending, SIGHUP);
}

/* Looks up all names at once. A node whose address is not found by the deadline gets a reason in
 * node->why. */
static void names_resolve(void)
{
    static const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct gaicb *requests = calloc(nodes.count, sizeof(*requests)),
                 **list = calloc(nodes.count, sizeof(*list));
    uint64_t deadline_ns = run.now_ns + run.plan.within_ns;
    int count = 0;

    if (!requests || !list)
        give_up(STATUS_FAILED, "no memory for %u names", nodes.count);
    for (uint32_t i = 0; i < nodes.count; i++) {
        requests[i] = (struct gaicb){ .ar_name = nodes.all[i]->host, .ar_request = &hints };
        if (!nodes.all[i]->has_address)
            list[count++] = &requests[i];
    }
    if (count && getaddrinfo_a(GAI_NOWAIT, list, count, NULL))
        give_up(STATUS_FAILED, "cannot look up names: %s", strerror(errno));
    for (uint32_t i = 0; i < nodes.count; i++) {
        struct node *node = nodes.all[i];
        const struct gaicb *pending[] = { &requests[i] };

        while (!node->has_address && gai_error(&requests[i]) == EAI_INPROGRESS &&
               clock_now_ns() < deadline_ns && !is_interrupted())
            gai_suspend(pending, 1, &(struct timespec){ .tv_nsec = TICK_MS * 1000000L });
        int error = node->has_address ? 0 : gai_error(&requests[i]);
        if (node->has_address)
            continue;
        node->has_address = !error;
        if (error)
            snprintf(node->why, sizeof(node->why), "cannot look up its address: %s",
                     error == EAI_INPROGRESS ? "timed out (--within)" : gai_strerror(error));
        else
            node->address.sin_addr =
                ((const struct sockaddr_in *)(const void *)requests[i].ar_result->ai_addr)->sin_addr;
    }
    /* Unfinished requests use this memory, so it is not freed. */
}

void names_find(void (*done)(void))
{
    const char *from_environment = getenv("TACET_NODES");

    names_done = done;
    if (run.plan.names)
        list_part(run.plan.names, "-w");
    else if (from_environment && *from_environment)
        list_part(from_environment, "TACET_NODES");
    if (nodes.count) {
        names_resolve();
        done();
    } else if (conductor_is_there()) {
        conductor_request("nodes 0", page_take, NULL);
    } else {
        give_up(STATUS_FAILED,
                "no nodes: name them with -w node1,node2, in TACET_NODES, or run a conductor (none at %s)",
                run.plan.conductor);
    }
}
