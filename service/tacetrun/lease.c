/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.c: the job's lease (docs/jobs.md): gets the job's number from the conductor, names the job's nodes to
 * it, and hears from it which of them are dead. If tacetrun ends before the job has ended on all nodes, the
 * conductor ends it there.
 */
#include "service/lib/control.h"
#include "service/lib/json.h"
#include "service/tacetrun/tacetrun.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define WITHOUT_JOB_NS (10 * SECOND_NS) /* for the node's own report of its end */

static void (*begun)(uint32_t job);
static bool is_held;         /* the conductor has the lease */
static uint32_t named;       /* nodes that the conductor knows */
static uint32_t to_be_named; /* after the request that is under way */

/* Appends names of nodes to a request, as many as fit. */
static void nodes_append(char text[CONTROL_REQUEST_BYTES])
{
    size_t length = strlen(text);

    for (to_be_named = named; to_be_named < nodes.count; to_be_named++) {
        const struct node *node = nodes.all[to_be_named];
        char word[INET_ADDRSTRLEN + sizeof(node->said_name) + 2], address[INET_ADDRSTRLEN] = "";

        inet_ntop(AF_INET, &node->address.sin_addr, address, sizeof(address));
        const int bytes =
            snprintf(word, sizeof(word), " %s%s%s", address, node->said_name[0] ? "/" : "", node->said_name);
        if (length + (size_t)bytes >= CONTROL_REQUEST_BYTES - 1)
            break;
        memcpy(text + length, word, (size_t)bytes + 1);
        length += (size_t)bytes;
    }
}

static void error_say(const char *answer)
{
    char error[128];

    json_member_text(answer, "error", error, sizeof(error));
    say("the conductor does not watch this job: %s", error);
    is_held = false;
    conductor_keep(false);
}

static void nodes_named(void *context, const char *answer);

static void nodes_name(void)
{
    char text[CONTROL_REQUEST_BYTES] = "job nodes";

    if (named == nodes.count)
        return;
    nodes_append(text);
    conductor_request_first(text, nodes_named);
}

static void nodes_named(void *context, const char *answer)
{
    (void)context;
    if (answer && json_member(answer, "error")) {
        error_say(answer);
        return;
    }
    if (!answer)
        return; /* the conductor is gone: resumed when it is back */
    named = to_be_named;
    nodes_name();
}

static void job_numbered(void *context, const char *answer)
{
    const uint32_t job = answer ? (uint32_t)json_number(answer, "job") : 0;

    (void)context;
    is_held = job != 0;
    run.job = job;
    if (is_held) {
        conductor_keep(true);
        named = to_be_named;
        nodes_name();
    } else if (answer) {
        error_say(answer);
    }
    begun(job);
}

void lease_begin(void (*has_begun)(uint32_t job))
{
    char text[CONTROL_REQUEST_BYTES] = "job begin";

    begun = has_begun;
    named = 0;
    nodes_append(text);
    conductor_request(text, job_numbered, NULL);
}

void lease_resume(void)
{
    char text[CONTROL_REQUEST_BYTES];

    if (!is_held)
        return;
    named = 0;
    snprintf(text, sizeof(text), "job resume %u", run.job);
    nodes_append(text);
    conductor_request_first(text, nodes_named);
}

void lease_end(void)
{
    if (is_held)
        conductor_tell("job end");
    is_held = false;
}

void lease_event(const char *event)
{
    char what[16];
    const uint64_t place = json_number(event, "node");

    if (place >= nodes.count)
        return;
    json_member_text(event, "event", what, sizeof(what));
    if (strcmp(what, "silent") == 0)
        node_is_dead(nodes.all[place],
                     "the node is dead or cut off: it no longer answers the conductor's beats");
    else if (strcmp(what, "restarted") == 0)
        node_is_dead(nodes.all[place], "the node has restarted, without the job");
    else if (strcmp(what, "without") == 0 && nodes.all[place]->state == NODE_RUNNING)
        nodes.all[place]->without_ns = run.now_ns + WITHOUT_JOB_NS;
}
