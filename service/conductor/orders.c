/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * orders.c: requests that are commands (conductor.h): queues them, checks when all nodes have done the
 * acknowledged command, and answers its client. Silent nodes are not waited for; the answer names them.
 */
#include "lib/bytes.h"
#include "service/conductor/access.h"
#include "service/conductor/conductor.h"
#include "service/conductor/keys.h"
#include "service/lib/control.h"
#include "service/lib/say.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WITHIN_S_DEFAULT 10
#define WITHIN_S_MAX     86400

/* Nodes release their logs if no page was asked for within this time: then the client or the conductor is
 * dead. If beats are slow, it is a number of beats. */
#define HOLD_LIMIT_S     60
#define HOLD_LIMIT_BEATS 10
#define RELEASE_WITHIN_S 10 /* time limit of a release if the client's connection is closed */

static char answer_text[CONTROL_ANSWER_BYTES];

/* Reads "one-way" or "within SECONDS". Returns the text after it; NULL if the seconds are wrong. */
static const char *protocol_read(const char *request, bool *is_acknowledged, uint64_t *within_s)
{
    *is_acknowledged = true;
    *within_s = WITHIN_S_DEFAULT;
    if (strncmp(request, "one-way ", 8) == 0) {
        *is_acknowledged = false;
        return request + 8;
    }
    if (strncmp(request, "within ", 7) == 0) {
        char *end;

        *within_s = strtoull(request + 7, &end, 10);
        return *end == ' ' && *within_s >= 1 && *within_s <= WITHIN_S_MAX ? end + 1 : NULL;
    }
    return request;
}

/* ---- Flight logs that are held ---- */

static bool is_hold(const struct command *command)
{
    return (command->wire.code & BEAT_CODE_MASK) == BEAT_HOLD;
}

/* Returns why this client may not hold or release logs, or NULL. */
static const char *hold_refusal(const struct command *command, unsigned client)
{
    if (conductor.holder && conductor.holder != client)
        return "the flight logs are held for another client";
    return command->is_answered ? "hold and release cannot be one-way" : NULL;
}

/* Queues hold or release. Returns as commands_add does. */
static int hold_add(struct command *command, unsigned client)
{
    const bool holds = strcmp(command->name, "hold") == 0;
    const uint64_t beats_s = HOLD_LIMIT_BEATS * conductor.timeline.period_ns / SECOND_NS;

    if (holds)
        store_be(command->wire.body, 4, beats_s > HOLD_LIMIT_S ? beats_s : HOLD_LIMIT_S);
    const int taken = commands_add(&conductor.commands, command);
    if (taken >= 0)
        conductor.holder = holds ? client : 0;
    return taken;
}

/* Queues a release. If there is no room, the nodes release their logs at their time limit. */
void orders_client_gone(unsigned client)
{
    struct command *outstanding = commands_outstanding(&conductor.commands), command;
    const char *why;

    if (!client || conductor.holder != client)
        return;
    conductor.holder = 0;
    if (outstanding && outstanding->client == client)
        commands_answered(&conductor.commands, false); /* no client waits for it now */
    if (command_read("release", true, &command, &why))
        return;
    command.deadline_ns = conductor_now_ns() + RELEASE_WITHIN_S * SECOND_NS;
    command.asked = conductor.asked;
    if (commands_add(&conductor.commands, &command) < 0 &&
        command_read("release", false, &command, &why) == 0)
        commands_add(&conductor.commands, &command);
}

/* ---- Rotation ---- */

static bool is_rotation(const struct command *command)
{
    return (command->wire.code & BEAT_CODE_MASK) == BEAT_REKEY;
}

/* Returns why no rotation can begin, or NULL: it has begun. */
static const char *rotation_refusal(const struct command *command)
{
    if (command->is_answered)
        return "rotate cannot be one-way";
    return commands_have(&conductor.commands, BEAT_REKEY) ? "a rotation is under way" : rotation_begin();
}

void orders_rotate(void)
{
    struct json answer = { .text = answer_text, .room = sizeof(answer_text) };

    if (order_take("within 60 rotate", 0, &answer))
        say("no new key: %s", answer_text);
}

/* ---- Requests ---- */

/* Enters whose command it is. Returns why it is refused, or NULL. */
static const char *command_refusal(struct command *command, unsigned client)
{
    command->client = client;
    command->is_user = client && access_is_user(&conductor.peer);
    command->uid = conductor.peer.who.uid;
    return commands_refusal(&conductor.commands, command);
}

bool order_take(const char *request, unsigned client, struct json *answer)
{
    bool is_acknowledged;
    uint64_t within_s;
    const char *text = protocol_read(request, &is_acknowledged, &within_s), *why = NULL;
    struct command command;

    if (!text)
        json_error(answer, "within takes 1 to 86400 seconds");
    else if (command_read(text, is_acknowledged, &command, &why))
        json_error(answer, why ? why
                               : "unknown request; known are: status, rate HZ, nodes FROM, keys FROM, "
                                 "admit NODE FINGERPRINT, rotate, remove NAME, "
                                 "ticket NONCE ID JOB, job begin NODES, key ID, page ADDRESS OFFSET COUNT, "
                                 "stop, continue, kill, count, "
                                 "trace, rating, services, hold, release");
    else if (is_hold(&command) && (why = hold_refusal(&command, client)))
        json_error(answer, why);
    else if ((why = command_refusal(&command, client)))
        json_error(answer, why);
    else if (!is_beating())
        json_error(answer,
                   "no beats are sent, so none can carry the command; start them with: conductorctl rate HZ");
    else if (is_rotation(&command) && (why = rotation_refusal(&command)))
        json_error(answer, why);
    else {
        command.deadline_ns = conductor_now_ns() + within_s * SECOND_NS;
        command.asked = conductor.asked;
        int taken =
            is_hold(&command) ? hold_add(&command, client) : commands_add(&conductor.commands, &command);

        if (taken >= 0 && is_acknowledged)
            return false;
        if (taken >= 0)
            json_print(answer, "{\"command\": \"%s\", \"number\": %u}\n", command.name,
                       conductor.commands.last_number);
        else
            json_error(answer,
                       is_acknowledged
                           ? "too many commands wait until the one under way is acknowledged; try again later"
                           : "beats are full: 16 commands are under way; try again later");
    }
    return true;
}

/* ---- Which nodes have done it ---- */

enum reply { REPLY_DONE, REPLY_FAILED, REPLY_MISSING, REPLY_SILENT, REPLIES };

/* Returns whether a silent node counts as killed by this command: a killed node does not answer, so one that
 * was heard when the command was requested has ended. Not if a job's number is given: nodes that take jobs
 * stay when a job is killed. */
static bool is_killed(const struct node *node, const struct command *command)
{
    return (command->wire.code & BEAT_CODE_MASK) == BEAT_KILL && !command->wire.bytes &&
           !node_is_silent(node, command->asked);
}

static enum reply reply_of(const struct node *node, const struct command *command)
{
    const uint32_t number = command->wire.number;

    if (node->answer.done > number)
        return REPLY_DONE; /* its result is unknown: the answer has a later command's */
    if (node->answer.done == number && node->answer.result)
        return REPLY_FAILED;
    if (node->answer.done == number && (!is_rotation(command) || node->answer.has_next_keys))
        return REPLY_DONE;
    if (!node_is_silent(node, conductor.asked))
        return REPLY_MISSING;
    return is_killed(node, command) ? REPLY_DONE : REPLY_SILENT;
}

/* Returns the first place from `place` on whose node is waited for, or registry->places. */
static unsigned missing_find(unsigned place, const struct command *command)
{
    const struct registry *registry = &conductor.registry;

    while (place < registry->places &&
           !(registry->nodes[place].is_known && reply_of(&registry->nodes[place], command) == REPLY_MISSING))
        place++;
    return place;
}

/* Returns whether all nodes have replied. Begins at the node that was waited for last, because most calls
 * find that it still has not replied. At the end it checks all nodes again: one before it that was silent may
 * have answered. */
static bool all_have_replied(const struct command *command)
{
    static uint32_t last_number;
    unsigned *place = &conductor.acknowledged_to;

    if (last_number != command->wire.number)
        *place = 0;
    last_number = command->wire.number;
    *place = missing_find(*place, command);
    if (*place >= conductor.registry.places)
        *place = missing_find(0, command);
    return conductor.registry.count && conductor.registry.count >= conductor.nodes_expected &&
           *place >= conductor.registry.places;
}

/* Writes a list of the nodes with this reply, as many as fit into `room` bytes. */
static void list_write(struct json *answer, const char *name, enum reply reply, const struct command *command,
                       size_t room)
{
    const struct registry *registry = &conductor.registry;
    size_t end = answer->length + room;
    bool is_first = true;

    json_print(answer, ", \"%s\": [", name);
    for (unsigned i = 0; i < registry->places && answer->length < end; i++) {
        const struct node *node = &registry->nodes[i];
        char address[NODE_ADDRESS_TEXT];

        if (!node->is_known || reply_of(node, command) != reply)
            continue;
        node_address_print(node->address, address);
        json_print(answer, "%s{\"name\": ", is_first ? "" : ", ");
        json_string(answer, node->answer.name);
        json_print(answer, ", \"address\": \"%s\", \"result\": %u}", address,
                   reply == REPLY_FAILED ? node->answer.result : 0);
        is_first = false;
    }
    json_print(answer, "]");
}

static const char *error_of(const unsigned counts[REPLIES], bool is_resting)
{
    if (counts[REPLY_MISSING] || (is_resting && !counts[REPLY_DONE]))
        return is_resting ? "beats were stopped before all nodes had done the command"
                          : "not all nodes have done the command in time";
    if (conductor.registry.count < conductor.nodes_expected)
        return "fewer nodes have answered than the conductor's --nodes expects";
    if (counts[REPLY_FAILED])
        return "nodes could not do the command";
    if (counts[REPLY_SILENT])
        return "silent nodes were not waited for";
    return counts[REPLY_DONE] ? NULL : "no node has answered the conductor yet";
}

static void outstanding_answer(const struct command *command, bool is_resting)
{
    struct json answer = { .text = answer_text, .room = sizeof(answer_text) };
    const struct registry *registry = &conductor.registry;
    uint32_t number = command->wire.number;
    unsigned counts[REPLIES] = { 0 };

    for (unsigned i = 0; i < registry->places; i++)
        if (registry->nodes[i].is_known)
            counts[reply_of(&registry->nodes[i], command)]++;
    const char *error = error_of(counts, is_resting);

    if (is_rotation(command)) {
        const bool is_done = !counts[REPLY_MISSING] && !counts[REPLY_FAILED] && !is_resting;

        rotation_end(is_done);
        if (!is_done)
            say("no new key: %s", error);
    }
    json_print(&answer, "{");
    if (error)
        json_print(&answer, "\"error\": \"%s\", ", error);
    json_print(&answer,
               "\"command\": \"%s\", \"number\": %u, \"beats\": %u, \"first_beat_ns\": %" PRIu64
               ", \"done\": %u, \"failed\": %u, \"missing\": %u, \"silent\": %u",
               command->name, number, command->beats, command->first_beat_ns, counts[REPLY_DONE],
               counts[REPLY_FAILED], counts[REPLY_MISSING], counts[REPLY_SILENT]);
    size_t room = sizeof(answer_text) / 4;
    list_write(&answer, "failed_nodes", REPLY_FAILED, command, room);
    list_write(&answer, "missing_nodes", REPLY_MISSING, command, room);
    list_write(&answer, "silent_nodes", REPLY_SILENT, command, room);
    json_print(&answer, "}\n");
    client_answer(command->client, &answer);
}

static void waiting_answer(const struct command *command, const char *error)
{
    struct json answer = { .text = answer_text, .room = sizeof(answer_text) };

    json_error(&answer, error);
    client_answer(command->client, &answer);
}

/* Answers and drops all commands, because no beats are sent: beats that start hours later must not carry
 * them. */
static void orders_drop(void)
{
    struct commands *commands = &conductor.commands;
    struct command *outstanding = commands_outstanding(commands), command;

    if (outstanding)
        outstanding_answer(outstanding, true);
    while (commands_expired(commands, UINT64_MAX, &command))
        waiting_answer(&command, "beats were stopped before any has carried the command");
    commands->carried_count = 0;
}

void orders_settle(void)
{
    struct commands *commands = &conductor.commands;
    uint64_t now_ns = conductor_now_ns();
    struct command *outstanding, command;

    if (!conductor.timeline.period_ns)
        orders_drop();
    while (commands_expired(commands, now_ns, &command))
        waiting_answer(&command, "timed out while it waited for the commands before it; it was not sent");
    outstanding = commands_outstanding(commands);
    if (!outstanding)
        return;
    bool is_over = outstanding->deadline_ns <= now_ns;
    if (!is_over && !(outstanding->beats && all_have_replied(outstanding)))
        return;
    command = *outstanding;
    commands_answered(commands, is_over); /* first, because sending may close its client */
    outstanding_answer(&command, false);
}

int orders_timeout_ms(void)
{
    uint64_t deadline_ns = commands_deadline_ns(&conductor.commands), now_ns = conductor_now_ns();

    if (deadline_ns == UINT64_MAX)
        return -1;
    return deadline_ns <= now_ns ? 0 : (int)((deadline_ns - now_ns) / 1000000 + 1);
}
