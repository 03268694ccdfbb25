/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * requests.c: requests of conductorctl (control.h), and their answers in JSON (conductor.h). An answer about
 * nodes is a page of them: as many as fit into a message.
 */
#include "service/conductor/conductor.h"
#include "service/conductor/keys.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *state_of(const struct node *node)
{
    if (node_is_silent(node, conductor.asked))
        return "silent";
    return node->answer.state == ANSWER_STOPPED ? "stopped" : "running";
}

static void nodes_sum(struct json *answer)
{
    const struct registry *registry = &conductor.registry;
    unsigned running = 0, stopped = 0, silent = 0;
    uint64_t restarts = 0;

    for (unsigned i = 0; i < registry->places; i++) {
        const struct node *node = &registry->nodes[i];

        if (!node->is_known)
            continue;
        restarts += node->restarts;
        if (node_is_silent(node, conductor.asked))
            silent++;
        else if (node->answer.state == ANSWER_STOPPED)
            stopped++;
        else
            running++;
    }
    json_print(answer,
               ", \"nodes\": %u, \"nodes_expected\": %u, \"running\": %u, \"stopped\": %u, \"silent\": %u"
               ", \"restarts\": %" PRIu64,
               registry->count, conductor.nodes_expected, running, stopped, silent, restarts);
}

/* Writes counts of received frames, by what became of them. */
static void frames_sum(struct json *answer)
{
    static const char *const faults[BEAT_FAULTS] = { [BEAT_TRUNCATED] = "truncated",
                                                     [BEAT_OTHER_VERSION] = "other_version",
                                                     [BEAT_OTHER_KIND] = "other_kind",
                                                     [BEAT_FORGED] = "forged" };
    static const char *const places[REGISTRY_PLACES] = {
        [REGISTRY_OTHER_EPOCH] = "other_epoch",
        [REGISTRY_NOT_SENT] = "not_sent",
        [REGISTRY_LATE] = "late",
        [REGISTRY_DUPLICATE] = "duplicate",
        [REGISTRY_REPLACED] = "replaced",
        [REGISTRY_FULL] = "registry_full",
        [REGISTRY_FOLLOWS_OTHER] = "follow_newer_epoch",
    };
    const uint64_t *place = conductor.places;
    char address[NODE_ADDRESS_TEXT];

    conductor.dropped += wire_dropped(&conductor.wire);
    json_print(answer, ", \"answers\": %" PRIu64,
               place[REGISTRY_NEXT] + place[REGISTRY_NEW] + place[REGISTRY_REPLACED] +
                   place[REGISTRY_RESTARTED]);
    for (unsigned i = 0; i < BEAT_FAULTS; i++)
        if (faults[i])
            json_print(answer, ", \"%s\": %" PRIu64, faults[i], conductor.faults[i]);
    json_print(answer, ", \"absurd\": %" PRIu64,
               conductor.faults[BEAT_ABSURD] + place[REGISTRY_OTHER_ADDRESS]);
    for (unsigned i = 0; i < REGISTRY_PLACES; i++)
        if (places[i])
            json_print(answer, ", \"%s\": %" PRIu64, places[i], place[i]);
    json_print(answer, ", \"pages\": %" PRIu64 ", \"stray_pages\": %" PRIu64, conductor.pages,
               conductor.stray_pages);
    json_print(answer, ", \"dropped\": %" PRIu64 ", \"answers_per_loop_max\": %u", conductor.dropped,
               conductor.answers_per_loop_max);
    node_address_print(conductor.other_address, address);
    json_print(answer,
               ", \"own_beats\": %" PRIu64 ", \"other_conductors\": %" PRIu64 ", \"other_conductor\": \"%s\""
               ", \"other_beats_now\": %s, \"epochs_raised\": %" PRIu64,
               conductor.own_beats, conductor.other_beats, conductor.other_beats ? address : "",
               other_conductor_beats() ? "true" : "false", conductor.epochs_raised);
}

static void status_write(struct json *answer)
{
    uint64_t beats = conductor.sent + conductor.failed;
    const struct timeline *timeline = &conductor.timeline;

    json_print(answer, "{\"interface\": ");
    json_string(answer, conductor.interface);
    json_print(answer,
               ", \"epoch\": %" PRIu64 ", \"sequence\": %" PRIu64 ", \"period_ns\": %" PRIu64
               ", \"sent\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"left_out\": %" PRIu64
               ", \"late_max_ns\": %" PRIu64 ", \"late_mean_ns\": %" PRIu64
               ", \"realtime\": %s, \"memory_locked\": %s, \"last_error\": ",
               timeline->epoch_ns, conductor.sequence, is_beating() ? timeline->period_ns : 0, conductor.sent,
               conductor.failed, conductor.left_out, conductor.late_max_ns,
               beats ? conductor.late_sum_ns / beats : 0, conductor.is_fifo ? "true" : "false",
               conductor.is_locked ? "true" : "false");
    json_string(answer, conductor.last_error ? strerror(conductor.last_error) : "");
    json_print(answer, ", \"answer_every\": %u, \"last_command\": %u, \"waiting_commands\": %u",
               answer_every(UINT64_MAX), conductor.commands.last_number, conductor.commands.waiting_count);
    nodes_sum(answer);
    frames_sum(answer);
    leases_write(answer);
    json_print(answer, "}\n");
}

static void node_write(struct json *answer, const struct node *node)
{
    const struct answer *said = &node->answer;
    char address[NODE_ADDRESS_TEXT];
    uint32_t uid;

    node_address_print(node->address, address);
    json_print(answer, "{\"name\": ");
    json_string(answer, said->name);
    json_print(answer,
               ", \"address\": \"%s\", \"ipv4\": \"%u.%u.%u.%u\", \"state\": \"%s\", \"welcomed\": %s",
               address, said->address[0], said->address[1], said->address[2], said->address[3],
               state_of(node), said->is_welcomed ? "true" : "false");
    json_print(answer,
               ", \"cpus\": %u, \"ranks\": %u, \"job\": %u, \"booted_ns\": %" PRIu64 ", \"restarts\": %u"
               ", \"sequence\": %" PRIu64 ", \"heard_ns\": %" PRIu64 ", \"beats\": %" PRIu64
               ", \"lost\": %" PRIu64 ", \"error_ns\": %" PRId64 ", \"done\": %u, \"result\": %u",
               said->cpus, said->ranks, said->job, said->booted_ns, node->restarts, said->sequence,
               node->heard_ns, said->beats, said->lost, said->error_ns, said->done, said->result);
    if (said->job && job_owner(said->job, &uid))
        json_print(answer, ", \"uid\": %u", uid);
    json_print(answer,
               ", \"system_calls\": %" PRIu64 ", \"exceptions\": %" PRIu64 ", \"interrupts\": %" PRIu64
               ", \"switches\": %" PRIu64 "}",
               said->system_calls, said->exceptions, said->interrupts, said->switches);
}

#define PAGE_END_BYTES 64 /* kept free after the last node of a page */

static void nodes_write(struct json *answer, unsigned long from)
{
    const struct registry *registry = &conductor.registry;
    unsigned long place = from;
    bool is_first = true;

    json_print(answer, "{\"now_ns\": %" PRIu64 ", \"nodes\": [", conductor_now_ns());
    for (; place < registry->places; place++) {
        size_t before = answer->length;

        if (!registry->nodes[place].is_known)
            continue;
        json_print(answer, "%s", is_first ? "" : ", ");
        node_write(answer, &registry->nodes[place]);
        if (answer->is_full || answer->room - answer->length < PAGE_END_BYTES) {
            json_cut(answer, before);
            break;
        }
        is_first = false;
    }
    json_print(answer, "], \"next\": %lu}\n", place < registry->places ? place : 0);
}

static void remove_do(const char *name, struct json *answer)
{
    if (strcmp(name, "--silent") == 0) {
        registry_remove_silent(&conductor.registry, conductor.asked);
        status_write(answer);
        return;
    }
    struct node *node = registry_find(&conductor.registry, name);

    if (!node) {
        json_error(answer, "no node of this name or Ethernet address is known");
        return;
    }
    registry_remove(&conductor.registry, node);
    status_write(answer);
}

bool request_take(const char *request, unsigned client, struct json *answer)
{
    if (strcmp(request, "status") == 0)
        status_write(answer);
    else if (strncmp(request, "rate ", 5) == 0 && rate_set(request + 5))
        status_write(answer);
    else if (strncmp(request, "rate ", 5) == 0)
        json_error(answer, "a rate is 0, or from 1/60 to 1000 beats a second");
    else if (strncmp(request, "nodes ", 6) == 0)
        nodes_write(answer, strtoul(request + 6, NULL, 10));
    else if (strncmp(request, "keys ", 5) == 0)
        keys_write(answer, strtoul(request + 5, NULL, 10));
    else if (strncmp(request, "admit ", 6) == 0)
        return keys_admit(request + 6, client, answer);
    else if (strncmp(request, "remove ", 7) == 0)
        remove_do(request + 7, answer);
    else if (strncmp(request, "ticket ", 7) == 0)
        ticket_answer(request + 7, answer);
    else if (strncmp(request, "key ", 4) == 0)
        keys_answer(request + 4, answer);
    else if (strncmp(request, "job ", 4) == 0)
        job_take(request + 4, client, answer);
    else if (strncmp(request, "page ", 5) == 0)
        return pages_take(request + 5, client, answer);
    else
        return order_take(request, client, answer);
    return true;
}
