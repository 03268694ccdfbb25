/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choice.c: which nodes get the job (tacetrun.h): the first idle ones of the list.
 *
 * A greeting holds for FRESH_NS, less than a node waits for a request; then tacetrun connects again. So the
 * choice may wait for a slow node as long as --within says, and no node has to wait for tacetrun. A node that
 * only computes hears no network: the conductor knows what runs there. With --wait-for-nodes, nodes that are
 * busy or cannot be reached are asked again every ASK_NS.
 *
 * Another job may get a chosen node first. Then, if no rank has begun, tacetrun gives its nodes back and
 * waits on for a random time: two jobs that each have a node of the other must not wait for each other.
 */
#include "service/tacetrun/tacetrun.h"
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* How long the choice waits for other nodes once enough are idle, or once too many are busy. */
#define CHOICE_PATIENCE_NS SECOND_NS
#define FRESH_NS           (3 * SECOND_NS)
#define ASK_NS             SECOND_NS
#define HEARD_NS           (SECOND_NS / 4) /* from a connection's start to the question to the conductor */
#define FAILURES_SHOWN     8

static struct node **listed; /* after the choice: all nodes, in the order of the list */
static uint32_t listed_count;
static uint64_t enough_ns; /* when enough nodes were idle */

static bool is_idle(const struct node *node)
{
    return node->state == NODE_READY && !node->is_busy;
}

/* Returns whether the choice still waits for what the node says. If the conductor has heard of a job there,
 * it does not wait long: the node may hear no network. */
static bool is_pending(const struct node *node)
{
    return node->state < NODE_READY && !(node->heard_job && run.now_ns - node->connect_ns > 2 * HEARD_NS);
}

static bool is_waiting(void)
{
    return run.plan.idle_ns && run.now_ns - run.greet_ns < run.plan.idle_ns;
}

/* ---- What keeps nodes from being chosen ---- */

/* Writes "busy with job N of USER", as far as that is known. */
static void busy_write(const struct node *node, char *text, size_t room)
{
    const uint32_t job = node->state == NODE_READY ? node->job : node->heard_job;
    const struct passwd *user = node->has_user ? getpwuid(node->user) : NULL;
    char name[64] = "";

    if (user)
        snprintf(name, sizeof(name), " of %s", user->pw_name);
    else if (node->has_user)
        snprintf(name, sizeof(name), " of user %" PRIu32, node->user);
    if (job)
        snprintf(text, room, "busy with job %" PRIu32 "%s", job, name);
    else
        snprintf(text, room, "busy: a job begins there");
}

/* Says what keeps a node from being chosen. */
static void obstacle_say(const struct node *node)
{
    char busy[128];

    busy_write(node, busy, sizeof(busy));
    if (is_pending(node))
        say("%s: no answer yet", node->name);
    else if (node->state <= NODE_READY)
        say("%s: %s", node->name, busy);
    else if (node->heard_job)
        say("%s: %s; the conductor says: %s", node->name, node->why, busy);
    else
        say("%s: %s", node->name, node->why);
}

static void obstacles_say(void)
{
    uint32_t shown = 0;

    for (uint32_t i = 0; i < nodes.count; i++)
        if (!is_idle(nodes.all[i]) && shown++ < FAILURES_SHOWN)
            obstacle_say(nodes.all[i]);
    if (shown > FAILURES_SHOWN)
        say("and %u more", shown - FAILURES_SHOWN);
}

static _Noreturn void choice_fail(uint32_t idle, uint32_t count)
{
    say("too few idle nodes: %u of %u are idle, and the job needs %u:", idle, nodes.count, count);
    obstacles_say();
    if (idle && !run.plan.nodes)
        give_up(STATUS_FAILED, "no job was started; -N %u runs on the idle nodes", idle);
    give_up(STATUS_FAILED, "no job was started");
}

static void wait_say(uint32_t idle, uint32_t count)
{
    static bool is_said;

    if (is_said)
        return;
    is_said = true;
    say("waiting for idle nodes, at most %" PRIu64 " s (--wait-for-nodes): %u of %u are idle, and the job "
        "needs %u:",
        run.plan.idle_ns / SECOND_NS, idle, nodes.count, count);
    obstacles_say();
}

/* Ends tacetrun if a chosen node wants a ticket that tacetrun cannot get. */
static void tickets_check(uint32_t count)
{
    if (run.plan.key_file || conductor_is_there())
        return;
    for (uint32_t i = 0; i < count; i++)
        if (nodes.all[i]->needs_ticket)
            give_up(STATUS_FAILED,
                    "%s wants a ticket, and no conductor answers at %s (%s): run tacetrun on the service "
                    "node, with --conductor SOCKET if its socket is elsewhere, or give the key with --key "
                    "FILE; no job was started",
                    nodes.all[i]->name, run.plan.conductor, strerror(run.conductor_error));
}

/* ---- The choice ---- */

static void ranks_make(uint32_t count)
{
    run.size = count;
    run.ranks = calloc(count, sizeof(run.ranks[0]));
    if (!run.ranks)
        give_up(STATUS_FAILED, "no memory for %u ranks", count);
    for (uint32_t i = 0; i < count; i++)
        run.ranks[i].status = -1;
}

/* Chooses the first `count` idle nodes and gives them ranks in blocks; disconnects the others. */
static void nodes_choose(uint32_t count)
{
    uint32_t chosen = 0, first = 0;

    if (!run.ranks)
        ranks_make(run.plan.ranks ? run.plan.ranks : count);
    listed = nodes.all;
    listed_count = nodes.count;
    nodes.all = calloc(count, sizeof(struct node *));
    if (!nodes.all)
        give_up(STATUS_FAILED, "no memory for %u nodes", count);
    for (uint32_t i = 0; i < listed_count; i++) {
        struct node *node = listed[i];

        if (chosen == count || !is_idle(node)) {
            watch_close(&node->watch);
            continue;
        }
        node->first = first;
        node->ranks = run.size / count + (chosen < run.size % count);
        first += node->ranks;
        nodes.all[chosen++] = node;
    }
    nodes.count = nodes.open = count;
}

/* Connects again to nodes that have waited too long for a request, and to those that are to be asked again.
 */
static void greetings_renew(void)
{
    for (uint32_t i = 0; i < nodes.count; i++) {
        struct node *node = nodes.all[i];
        const uint64_t age_ns =
            run.now_ns - (node->state == NODE_READY ? node->greeted_ns : node->connect_ns);
        const bool asks = is_waiting() && node->has_address && age_ns > ASK_NS;

        if (is_idle(node) ? age_ns > FRESH_NS : node->state >= NODE_READY && asks)
            node_again(node, run.now_ns);
    }
}

/* Asks the conductor once for the jobs on nodes if a node does not answer soon. */
static void heard_ask(void)
{
    static bool is_asked;
    bool is_slow = false;

    for (uint32_t i = 0; i < nodes.count; i++)
        is_slow =
            is_slow || (nodes.all[i]->state < NODE_READY && run.now_ns - nodes.all[i]->connect_ns > HEARD_NS);
    if (is_asked || !is_slow || !conductor_is_there())
        return;
    is_asked = true;
    names_heard();
}

/* Returns whether the choice can be made: no node is pending; or `count` nodes are idle, and nodes before the
 * last of them are not pending or have been waited for; or too many are busy.
 * *idle: the idle nodes so far. */
static bool choice_is_possible(uint32_t count, uint32_t *idle)
{
    bool is_early_pending = false;
    uint32_t pending = 0, busy = 0;

    *idle = 0;
    for (uint32_t i = 0; i < nodes.count; i++) {
        const struct node *node = nodes.all[i];

        *idle += is_idle(node);
        pending += is_pending(node);
        busy += node->state <= NODE_READY && !is_idle(node) && !is_pending(node);
        is_early_pending = is_early_pending || (is_pending(node) && *idle < count);
    }
    if (*idle >= count && !enough_ns)
        enough_ns = run.now_ns;
    if (busy > nodes.count - count)
        return !pending || run.now_ns - run.greet_ns > CHOICE_PATIENCE_NS;
    return !pending || (*idle >= count && (!is_early_pending || run.now_ns - enough_ns > CHOICE_PATIENCE_NS));
}

void choice_try(void)
{
    const struct plan *plan = &run.plan;
    uint32_t count = plan->nodes ? plan->nodes : nodes.count, idle;

    if (plan->ranks && plan->ranks < count)
        count = plan->ranks;
    if (count > nodes.count && nodes.skipped)
        give_up(STATUS_FAILED, "-N %u: there are only %u nodes that the conductor hears, and %u silent ones",
                count, nodes.count, nodes.skipped);
    if (count > nodes.count)
        give_up(STATUS_FAILED, "-N %u: there are only %u nodes", count, nodes.count);
    greetings_renew();
    heard_ask();
    if (!choice_is_possible(count, &idle))
        return;
    if (idle < count && is_waiting()) {
        wait_say(idle, count);
        return;
    }
    if (idle < count)
        choice_fail(idle, count);
    if (plan->stdin_rank != LAUNCH_RANK_NONE && plan->stdin_rank >= (plan->ranks ? plan->ranks : count))
        give_up(STATUS_FAILED, "-i %u: ranks are 0 to %u", plan->stdin_rank, count - 1);
    nodes_choose(count);
    tickets_check(count);
    run_launch();
}

/* ---- A chosen node that another job has got ---- */

/* Returns whether no rank can have begun: no node has said so, and no stream has come. */
static bool is_unbegun(void)
{
    for (uint32_t i = 0; i < nodes.count; i++)
        if (nodes.all[i]->state >= NODE_RUNNING)
            return false;
    for (unsigned kind = 0; kind < STREAM_KINDS; kind++)
        if (run.stream_counts[kind])
            return false;
    return true;
}

bool choice_again(void)
{
    uint64_t random;

    if (run.phase != PHASE_RUN || run.is_killed || !is_waiting() || !is_unbegun() ||
        getrandom(&random, sizeof(random), 0) != sizeof(random) ||
        getrandom(&run.secret, sizeof(run.secret), 0) != sizeof(run.secret))
        return false;
    lease_end();
    conductor_drop();
    free(nodes.all);
    nodes.all = listed;
    nodes.count = listed_count;
    nodes.open = 0;
    run.phase = PHASE_GREET;
    run.job = 0;
    run.claimed_ns = enough_ns = 0;
    for (uint32_t i = 0; i < nodes.count; i++)
        if (nodes.all[i]->has_address)
            node_again(nodes.all[i], run.now_ns + random % AGAIN_NS);
    return true;
}
