/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c: connections to nodes, and the states of each (tacetrun.h). tacetrun connects to all named nodes,
 * waits for their greetings (choice.c), and sends each chosen one its request and the program as fast as it
 * takes them. Only the choice waits for a node, at most for --within. With --wait-for-nodes another job may
 * get a node first: so all nodes get the first line of their request, which claims them, before any gets the
 * rest.
 */
#include "service/lib/json.h"
#include "service/lib/key_file.h"
#include "service/lib/tcp.h"
#include "service/lib/text.h"
#include "service/lib/ticket.h"
#include "service/tacetrun/greeting.h"
#include "service/tacetrun/launch_writer.h"
#include "service/tacetrun/tacetrun.h"
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>

#define SEND_BYTES (1u << 20)      /* of the program in one call */
#define HOLD_NS    (SECOND_NS / 4) /* for nodes to refuse the first line of a request */

struct nodes nodes;

/* ---- The end of a node's part ---- */

/* Marks a node as failed. If nodes are chosen already, ends the job. */
__attribute__((format(printf, 2, 3))) static void node_fail(struct node *node, const char *format, ...)
{
    bool is_chosen = run.phase >= PHASE_RUN;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(node->why, sizeof(node->why), format, arguments);
    va_end(arguments);
    watch_close(&node->watch);
    node->state = NODE_FAILED;
    nodes.open -= is_chosen;
    if (is_chosen && run.is_killed)
        say("%s: %s", node->name, node->why);
    else if (is_chosen)
        run_kill(STATUS_FAILED, "%s: %s", node->name, node->why);
}

void node_is_dead(struct node *node, const char *why)
{
    if (node->state < NODE_ENDED)
        node_fail(node, "%s", why);
}

static void node_end(struct node *node)
{
    watch_close(&node->watch);
    node->state = NODE_ENDED;
    nodes.open--;
}

/* Ends the sending side, which the node takes as a kill; it closes the connection when it is free again. */
static void node_leave(struct node *node)
{
    shutdown(node->watch.fd, SHUT_WR);
    node->state = NODE_LEAVING;
    watch_set(&run.loop, &node->watch, EPOLLIN);
}

void node_again(struct node *node, uint64_t at_ns)
{
    if (node->state >= NODE_READY)
        node->deadline_ns = at_ns + run.plan.within_ns;
    watch_close(&node->watch);
    free(node->out);
    node->out = NULL;
    node->out_sent = 0;
    node->program_sent = 0;
    node->state = NODE_CONNECTING;
    node->again_ns = at_ns;
    node->line_bytes = 0;
    node->is_busy = false;
}

/* Returns whether a connection that ends like this is made again: nodes are not chosen yet, and the node has
 * listened, or is perhaps booting. */
static bool is_worth_again(const struct node *node, int error)
{
    return run.phase == PHASE_GREET && (node->state != NODE_CONNECTING || error == EHOSTUNREACH);
}

static void node_fail_socket(struct node *node, int error)
{
    if (is_worth_again(node, error)) {
        snprintf(node->why, sizeof(node->why), "%s",
                 error ? strerror(error) : "the node closes connections before it has a request");
        node_again(node, run.now_ns + AGAIN_NS);
        return;
    }
    if (error == ECONNREFUSED && node->state == NODE_CONNECTING)
        node_fail(node,
                  "connection refused at port %u: it does not wait for jobs; boot it with launch, or run "
                  "tacet-launchd",
                  ntohs(node->address.sin_port));
    else if (node->state != NODE_CONNECTING &&
             (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH))
        node_fail(node, "connection timed out: the node is dead, or its network is down");
    else if (node->state != NODE_CONNECTING && (error == ECONNRESET || error == EPIPE))
        node_fail(node, "connection reset: the node rebooted or ended the job");
    else
        node_fail(node, "%s", error ? strerror(error) : "the node closed the connection");
}

/* ---- Sending to a node ---- */

static void node_read(struct node *node);

static bool send_has_failed(struct node *node, ssize_t bytes)
{
    const int error = errno;

    if (bytes >= 0 || error == EAGAIN)
        return false;
    node_read(node); /* the node may have sent the reason */
    if (node->watch.fd >= 0 && node->state != NODE_LEAVING)
        node_fail_socket(node, error);
    return true;
}

/* Returns whether nodes get the first line alone for now. */
static bool requests_are_held(void)
{
    return run.plan.idle_ns && nodes.count > 1 && (!run.claimed_ns || run.now_ns - run.claimed_ns < HOLD_NS);
}

/* Sends as much of the request, then of the program, as the connection takes. True when all is sent or the
 * connection has ended. */
static bool all_is_sent(struct node *node)
{
    const bool is_held = requests_are_held();
    const size_t out_end = is_held ? node->out_line : node->out_bytes;
    ssize_t bytes = 0;

    while (node->out_sent < out_end) {
        bytes = send(node->watch.fd, node->out + node->out_sent, out_end - node->out_sent,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
        if (bytes <= 0)
            return send_has_failed(node, bytes);
        node->out_sent += (size_t)bytes;
    }
    if (is_held) {
        watch_set(&run.loop, &node->watch, EPOLLIN); /* requests_release */
        return false;
    }
    if (node->program_sent < run.program_bytes) {
        off_t from = (off_t)node->program_sent;

        bytes = sendfile(node->watch.fd, run.program, &from, SEND_BYTES);
        if (bytes == 0)
            node_fail(node, "%s became shorter while it was sent", run.plan.program[0]);
        if (bytes <= 0)
            return bytes == 0 || send_has_failed(node, bytes);
        node->program_sent += (uint64_t)bytes;
    }
    return node->program_sent == run.program_bytes;
}

static void node_send(struct node *node)
{
    node->deadline_ns = run.now_ns + run.plan.within_ns;
    if (!all_is_sent(node) || node->watch.fd < 0)
        return;
    free(node->out);
    node->out = NULL;
    node->state = NODE_STARTING;
    watch_set(&run.loop, &node->watch, EPOLLIN);
}

/* Fills in the request for a node. `size` has `room` bytes and holds one of its variables. */
static void request_fill(struct launch_request *request, const struct node *node, char *size, size_t room)
{
    const struct plan *plan = &run.plan;
    const char *name = strrchr(plan->program[0], '/') + 1;

    snprintf(size, room, "PMI_SIZE=%u", run.size);
    *request = (struct launch_request){ .job = run.job,
                                        .ranks = node->ranks,
                                        .first = node->first,
                                        .size = run.size,
                                        .cpus = plan->cpus,
                                        .port = run.port,
                                        .secret = run.secret,
                                        .stdin_rank = plan->stdin_rank,
                                        .path = plan->is_sent ? name : plan->program[0],
                                        .program_bytes = run.program_bytes,
                                        .directory = plan->directory,
                                        .argument_count = plan->argument_count,
                                        .variable_count = plan->variable_count + 1,
                                        .variables = { size },
                                        .number_count = 1,
                                        .numbers = { "PMI_RANK" } };
    memcpy(request->arguments, plan->program, plan->argument_count * sizeof(char *));
    memcpy(request->variables + 1, plan->variables, plan->variable_count * sizeof(char *));
}

/* Starts sending "launch BYTES TICKET" and the request. A ticket begins with the job's number and its user.
 */
static void node_launch(struct node *node, const char *ticket)
{
    static struct launch_request request;
    static char bytes[LAUNCH_REQUEST_BYTES];
    char size[32], line[LAUNCH_TICKET_LINE + 64];

    request_fill(&request, node, size, sizeof(size));
    size_t count = launch_request_write(&request, bytes, sizeof(bytes));
    if (!count) {
        node_fail(node, "arguments and environment exceed the %u bytes of a request", LAUNCH_REQUEST_BYTES);
        return;
    }
    size_t line_bytes = (size_t)snprintf(line, sizeof(line), "launch %zu %s\n", count, ticket);
    node->out = malloc(line_bytes + count);
    if (!node->out) {
        node_fail(node, "no memory for its request");
        return;
    }
    memcpy(node->out, line, line_bytes);
    memcpy(node->out + line_bytes, bytes, count);
    node->out_line = line_bytes;
    node->out_bytes = line_bytes + count;
    node->state = NODE_SENDING;
    watch_set(&run.loop, &node->watch, EPOLLIN | EPOLLOUT);
}

static void ticket_answered(void *context, const char *answer)
{
    struct node *node = context;
    char ticket[LAUNCH_TICKET_LINE], error[128];

    if (node->state != NODE_TICKET)
        return;
    json_member_text(answer ? answer : "", "ticket", ticket, sizeof(ticket));
    json_member_text(answer ? answer : "", "error", error, sizeof(error));
    if (*ticket && strspn(ticket, "0123456789abcdef,- ") == strlen(ticket))
        node_launch(node, ticket);
    else if (*error)
        node_fail(node, "the conductor refused a ticket: %s", error);
    else
        node_fail(node, "the node wants a ticket, and the conductor at %s makes none", run.plan.conductor);
}

/* Launches the job on a chosen node; gets a ticket first if the node requires one. */
static void node_begin(struct node *node)
{
    char text[LAUNCH_TICKET_LINE];
    const struct ticket ticket = { .master = node->needs_ticket ? run.key : NULL,
                                   .nonce = node->nonce,
                                   .id = node->id,
                                   .job = run.job,
                                   .who = &run.user,
                                   .now_s = (uint64_t)time(NULL) };
    uint64_t silence_ns = run.plan.silence_ns;

    if (silence_ns == SILENCE_DEFAULT)
        silence_ns = node->is_tacet ? 0 : 10 * SECOND_NS;
    tcp_keep(node->watch.fd, silence_ns);
    node->deadline_ns = run.now_ns + run.plan.within_ns;
    if (!node->needs_ticket || run.plan.key_file) {
        ticket_write(&ticket, text);
        node_launch(node, text);
    } else {
        node->state = NODE_TICKET;
        snprintf(text, sizeof(text), "ticket %016" PRIx64 " %s %" PRIu32, node->nonce, node->id, run.job);
        conductor_request(text, ticket_answered, node);
    }
}

/* ---- Receiving from a node ---- */

/* Connects again for a ticket of now, once, if the node has refused one that was perhaps made before a
 * rotation of keys. Returns false if that is not so. */
static bool ticket_renew(struct node *node, const char *why)
{
    if (strncmp(why, "the ticket is wrong", 19) != 0 || node->has_new_ticket || !node->needs_ticket ||
        run.phase != PHASE_RUN || run.is_killed)
        return false;
    if (run.plan.key_file)
        key_file_load(run.plan.key_file, run.key); /* if this fails, the key stays */
    node->has_new_ticket = true;
    node_again(node, run.now_ns);
    return true;
}

/* Handles a refusal, or a node that has become busy. A node that ranks have been given has to end them first:
 * the next tacetrun finds it idle. */
static void node_refused(struct node *node, const char *text)
{
    char why[200];

    text_clean(text, why, sizeof(why));
    if (ticket_renew(node, why))
        return;
    if (strncmp(why, "busy", 4) == 0 && choice_again()) {
        say("%s: %s; waiting for idle nodes again (--wait-for-nodes)", node->name, why);
    } else if (node->state < NODE_STARTING) {
        node_fail(node, "%s", why);
    } else {
        node_leave(node);
        if (run.is_killed)
            say("%s: %s", node->name, why);
        else
            run_kill(STATUS_FAILED, "%s: %s", node->name, why);
    }
}

static void greeting_take(struct node *node, char *line)
{
    struct greeting greeting;
    char why[sizeof(node->why)];

    if (!greeting_read(line, &greeting, why, sizeof(why))) {
        node_fail(node, "%s", why);
        return;
    }
    node->nonce = greeting.nonce;
    node->needs_ticket = greeting.needs_ticket;
    node->is_busy = greeting.is_busy;
    node->is_tacet = greeting.is_tacet;
    node->job = greeting.job;
    node->user = greeting.user;
    node->has_user = greeting.has_user;
    strcpy(node->id, greeting.id);
    snprintf(node->said_name, sizeof(node->said_name), "%s", greeting.name);
    node->state = NODE_READY;
    node->greeted_ns = run.now_ns;
    if (run.phase == PHASE_RUN && node->is_busy)
        node_refused(node, "busy: another job has begun there");
    else if (run.phase == PHASE_RUN)
        node_begin(node); /* ticket_renew */
}

/* Handles "rank R STATUS" and "end STATUS". */
static void running_take(struct node *node, const char *line)
{
    uint32_t number, status;
    const char *end;
    char clean[64];

    if (strncmp(line, "rank ", 5) == 0 && decimal_read(line + 5, &end, UINT32_MAX, &number) && *end == ' ' &&
        decimal_read(end + 1, &end, 255, &status) && !*end && number - node->first < node->ranks &&
        run.ranks[number].status < 0) {
        run_rank_ended(number, (int)status);
        return;
    }
    if (strncmp(line, "end ", 4) != 0 || !decimal_read(line + 4, &end, 255, &status) || *end) {
        node_fail(node, "unexpected message \"%s\"", text_clean(line, clean, sizeof(clean)));
        return;
    }
    node_end(node);
    for (number = node->first; number < node->first + node->ranks; number++)
        if (run.ranks[number].status < 0)
            run_rank_ended(number, (int)status);
}

static void line_take(struct node *node, char *line)
{
    char clean[64];

    if (node->state == NODE_LEAVING)
        return; /* it may have been sent before the node was told */
    if (node->state == NODE_READY && run.phase == PHASE_GREET)
        node_again(node, run.now_ns + AGAIN_NS); /* its time for a request is over */
    else if (strncmp(line, "refused ", 8) == 0)
        node_refused(node, line + 8);
    else if (node->state == NODE_GREETING)
        greeting_take(node, line);
    else if (node->state == NODE_RUNNING)
        running_take(node, line);
    else if (node->state == NODE_STARTING && strcmp(line, "started") == 0)
        node->state = NODE_RUNNING;
    else
        node_fail(node, "unexpected message \"%s\"", text_clean(line, clean, sizeof(clean)));
}

/* Handles the complete lines that have come. */
static void lines_take(struct node *node)
{
    char *at = node->line, *end = node->line + node->line_bytes, *feed;

    while (node->state < NODE_ENDED && node->watch.fd >= 0 && (feed = memchr(at, '\n', (size_t)(end - at)))) {
        *feed = '\0';
        line_take(node, at);
        at = feed + 1;
    }
    if (node->watch.fd < 0)
        return;
    node->line_bytes = (size_t)(end - at);
    memmove(node->line, at, node->line_bytes);
    if (node->state < NODE_ENDED && node->line_bytes == sizeof(node->line))
        node_fail(node, "the node sent a line of more than %d characters", LAUNCH_LINE_BYTES - 1);
}

static void node_read(struct node *node)
{
    ssize_t bytes = recv(node->watch.fd, node->line + node->line_bytes, sizeof(node->line) - node->line_bytes,
                         MSG_DONTWAIT);

    if (bytes < 0 && errno == EAGAIN)
        return;
    if (bytes <= 0 && node->state == NODE_LEAVING)
        node_end(node);
    else if (bytes <= 0)
        node_fail_socket(node, bytes ? errno : 0);
    if (bytes <= 0)
        return;
    node->line_bytes += (size_t)bytes;
    lines_take(node);
}

static void node_ready(struct watch *watch, uint32_t events)
{
    struct node *node = (struct node *)watch;
    socklen_t bytes = sizeof(int);
    int error = 0;

    if (node->state == NODE_CONNECTING) {
        if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) || error) {
            node_fail_socket(node, error ? error : errno);
            return;
        }
        node->state = NODE_GREETING;
        watch_set(&run.loop, watch, EPOLLIN);
        return;
    }
    /* Read first: the node may have refused a request that is still being sent. */
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        node_read(node);
    if ((events & EPOLLOUT) && node->state == NODE_SENDING)
        node_send(node);
}

/* ---- All nodes ---- */

void node_add(const char *text, const struct in_addr *address)
{
    struct node *node = calloc(1, sizeof(*node)), **all = nodes.all;
    uint32_t port = LAUNCH_PORT;
    const char *colon = strchr(text, ':'), *end;
    size_t host_bytes = colon ? (size_t)(colon - text) : strlen(text);

    if ((nodes.count & (nodes.count - 1)) == 0)
        all = realloc(all, (nodes.count ? 2 * nodes.count : 1) * sizeof(struct node *));
    if (!node || !all)
        give_up(STATUS_FAILED, "no memory for more than %u nodes", nodes.count);
    nodes.all = all;
    if (!host_bytes || strlen(text) >= sizeof(node->name))
        give_up(STATUS_FAILED, "%s: a node's name has 1 to %zu characters", text, sizeof(node->name) - 1);
    if (colon && (!decimal_read(colon + 1, &end, UINT16_MAX, &port) || *end || !port))
        give_up(STATUS_FAILED, "%s: the port is not a number from 1 to 65535", text);
    strcpy(node->name, text);
    memcpy(node->host, text, host_bytes);
    node->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    node->has_address = address || inet_pton(AF_INET, node->host, &node->address.sin_addr) == 1;
    if (address)
        node->address.sin_addr = *address;
    node->watch = (struct watch){ .fd = -1, .ready = node_ready };
    for (uint32_t i = 0; i < nodes.count && !address; i++) /* nodes from the conductor may share a name */
        if (strcmp(all[i]->host, node->host) == 0 && all[i]->address.sin_port == node->address.sin_port)
            give_up(STATUS_FAILED, "%s is named twice", text);
    nodes.all[nodes.count++] = node;
}

static void node_connect(struct node *node)
{
    node->watch.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (node->watch.fd < 0)
        give_up(STATUS_FAILED, "cannot connect to %s: %s (ulimit -n)", node->name, strerror(errno));
    setsockopt(node->watch.fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    node->connect_ns = run.now_ns;
    if (connect(node->watch.fd, (struct sockaddr *)&node->address, sizeof(node->address)) &&
        errno != EINPROGRESS)
        node_fail_socket(node, errno);
    else
        watch_set(&run.loop, &node->watch, EPOLLOUT);
}

void nodes_connect(void)
{
    run.phase = PHASE_GREET;
    run.now_ns = run.greet_ns = clock_now_ns(); /* looking names up may have taken a while */
    for (uint32_t i = 0; i < nodes.count; i++) {
        nodes.all[i]->deadline_ns = run.now_ns + run.plan.within_ns;
        if (nodes.all[i]->has_address)
            node_connect(nodes.all[i]);
        else
            nodes.all[i]->state = NODE_FAILED; /* the look-up has set `why` */
    }
}

static void node_check_time(struct node *node)
{
    static const char *const states[] = { [NODE_CONNECTING] = "while connecting",
                                          [NODE_GREETING] = "waiting for its greeting",
                                          [NODE_TICKET] = "waiting for the conductor's ticket",
                                          [NODE_SENDING] = "while sending the request",
                                          [NODE_STARTING] = "waiting for its ranks to start" };
    char why[200];

    if (node->state == NODE_RUNNING && node->without_ns && run.now_ns >= node->without_ns)
        node_fail(node, "the node runs the job no longer, but has not reported its end");
    if (node->state < NODE_RUNNING && node->state != NODE_READY && run.now_ns >= node->deadline_ns) {
        snprintf(why, sizeof(why), "%s%.180s", node->why[0] ? ": " : "", node->why);
        node_fail(node, "timed out %s: no answer within %" PRIu64 " s (--within)%s", states[node->state],
                  run.plan.within_ns / SECOND_NS, why);
    }
    if (node->state == NODE_CONNECTING && node->watch.fd < 0 && run.now_ns >= node->again_ns)
        node_connect(node);
}

/* Notes when all nodes have the first line; lets the rest go. */
static void requests_release(void)
{
    bool are_claimed = run.job != 0;

    if (run.claimed_ns && run.now_ns - run.claimed_ns < HOLD_NS)
        return;
    for (uint32_t i = 0; i < nodes.count; i++) {
        struct node *node = nodes.all[i];

        are_claimed = are_claimed && (node->state > NODE_SENDING ||
                                      (node->state == NODE_SENDING && node->out_sent >= node->out_line));
        if (run.claimed_ns && node->state == NODE_SENDING)
            watch_set(&run.loop, &node->watch, EPOLLIN | EPOLLOUT);
    }
    if (are_claimed && !run.claimed_ns)
        run.claimed_ns = run.now_ns;
}

void nodes_tick(void)
{
    if (run.phase == PHASE_RUN && run.plan.idle_ns && nodes.count > 1)
        requests_release();
    if (run.phase == PHASE_GREET || run.phase == PHASE_RUN)
        for (uint32_t i = 0; i < nodes.count; i++)
            node_check_time(nodes.all[i]);
    if (run.phase == PHASE_GREET)
        choice_try();
}

void nodes_begin(void)
{
    for (uint32_t i = 0; i < nodes.count; i++)
        if (nodes.all[i]->state == NODE_READY && !run.is_killed)
            node_begin(nodes.all[i]);
}

void nodes_kill(void)
{
    for (uint32_t i = 0; i < nodes.count; i++) {
        struct node *node = nodes.all[i];

        if (node->state <= NODE_TICKET)
            node_end(node);
        else if (node->state < NODE_RUNNING)
            node_leave(node);
        else if (node->state == NODE_RUNNING && !node->is_kill_sent)
            node->is_kill_sent = send(node->watch.fd, "kill\n", 5, MSG_NOSIGNAL | MSG_DONTWAIT) == 5;
    }
}

bool nodes_are_running(void)
{
    for (uint32_t i = 0; i < nodes.count; i++)
        if (nodes.all[i]->state < NODE_RUNNING)
            return false;
    return true;
}

bool nodes_have_ended(void)
{
    for (uint32_t i = 0; i < nodes.count; i++)
        if (nodes.all[i]->state != NODE_ENDED)
            return false;
    return true;
}

const char *nodes_open_names(char *text, size_t room)
{
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < nodes.count && length < room; i++)
        if (nodes.all[i]->state < NODE_ENDED)
            length += (size_t)snprintf(text + length, room - length, "%s%s", length ? ", " : "",
                                       nodes.all[i]->name);
    if (length >= room)
        strcpy(text + room - 4, "...");
    return text;
}

const struct node *node_of_rank(uint32_t rank)
{
    uint32_t each = run.size / nodes.count, more = run.size % nodes.count, first = more * (each + 1);

    return nodes.all[rank < first ? rank / (each + 1) : more + (rank - first) / each];
}
