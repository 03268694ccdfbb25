/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c: which nodes there are: those of --nodelist, of TACET_NODES, or those that the conductor knows; and
 * the addresses of names, looked up side by side (getaddrinfo_a), for no longer than --within.
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

/* ---- Those that the conductor knows ---- */

static void node_take(const char *object)
{
    char raw[NODE_NAME_BYTES], name[NODE_NAME_BYTES], state[16], ipv4[32];
    struct in_addr address;

    text_clean(json_member_text(object, "name", raw, sizeof(raw)), name, sizeof(name));
    json_member_text(object, "state", state, sizeof(state));
    json_member_text(object, "ipv4", ipv4, sizeof(ipv4));
    if (strcmp(state, "silent") == 0)
        say("%s is silent, says the conductor: the job goes without it", name);
    else if (inet_pton(AF_INET, ipv4, &address) == 1 && address.s_addr)
        node_add(*name && !strchr(name, ':') ? name : ipv4, &address);
}

static void page_take(void *context, const char *answer)
{
    char request[32];

    (void)context;
    if (!answer || !json_member(answer, "nodes"))
        give_up(STATUS_FAILED, "the conductor has not said which nodes it knows: name them with -w");
    for (const char *node = json_first(json_member(answer, "nodes")); node; node = json_next(node))
        node_take(node);
    const uint64_t from = json_number(answer, "next");
    if (from) {
        snprintf(request, sizeof(request), "nodes %" PRIu64, from);
        conductor_request(request, page_take, NULL);
        return;
    }
    if (!nodes.count)
        give_up(STATUS_FAILED, "the conductor at %s knows no node that is not silent: name some with -w",
                run.plan.conductor);
    names_done();
}

/* ---- Those that are named here ---- */

static void list_part(const char *list, const char *from)
{
    char *copy = strdup(list), *rest = NULL;

    for (char *at = copy ? strtok_r(copy, BLANKS, &rest) : NULL; at; at = strtok_r(NULL, BLANKS, &rest))
        node_add(at, NULL);
    free(copy);
    if (!nodes.count)
        give_up(STATUS_FAILED, "%s names no node: it takes names, as node1,node2", from);
}

static bool is_interrupted(void)
{
    sigset_t pending;

    sigpending(&pending);
    return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) || sigismember(&pending, SIGHUP);
}

/* Looks names up all at once; those that have none by the deadline fail for themselves. */
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
        give_up(STATUS_FAILED, "names cannot be looked up: %s", strerror(errno));
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
            snprintf(node->why, sizeof(node->why), "it has no address: %s",
                     error == EAI_INPROGRESS ? "nobody answers for the name in time" : gai_strerror(error));
        else
            node->address.sin_addr =
                ((const struct sockaddr_in *)(const void *)requests[i].ar_result->ai_addr)->sin_addr;
    }
    /* Requests that are still under way use this memory until the process ends. */
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
