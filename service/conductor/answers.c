/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answers.c: the frames that come (conductor.h): answers of nodes go to the registry and to welcomes, pages
 * of flight logs to the client that asks for them; beats of another conductor, and what nodes say of it, to
 * epochs.c. Many frames do not delay beats: at most ANSWERS_PER_LOOP are taken at a time, and frames for
 * which the system has no room are lost and counted.
 */
#include "service/conductor/conductor.h"
#include "service/conductor/keys.h"
#include "service/lib/say.h"
#include <string.h>

static void answer_heard(const struct wire_frame *frame, const struct answer *answer)
{
    const struct registry_moment now = { .epoch = conductor.timeline.epoch_ns,
                                         .sequence = conductor.sequence,
                                         .conductor_ns = conductor_now_ns(),
                                         .asked = conductor.asked,
                                         .last_command = conductor.commands.last_number };
    char address[NODE_ADDRESS_TEXT];
    struct node *node = NULL;
    enum registry_place place = registry_take(&conductor.registry, frame->from, answer, &now, &node);

    conductor.places[place]++;
    if (place == REGISTRY_FOLLOWS_OTHER)
        newer_epoch_heard(frame, answer);
    if (node) {
        welcomes_answer(&conductor.welcomes, &conductor.registry, node);
        leases_heard(node);
    }
    if (place == REGISTRY_NEW || place == REGISTRY_REPLACED || place == REGISTRY_RESTARTED)
        conductor.acknowledged_to = 0; /* it has not done the outstanding command */
    if (place == REGISTRY_RESTARTED) {
        node_address_print(node->address, address);
        say("node %s (%s) has restarted", node->answer.name, address);
    }
}

static void frame_heard(const struct wire_frame *frame)
{
    const unsigned kind = frame->bytes > 1 ? frame->payload[1] : BEAT_KIND_ANSWER;
    struct answer answer;
    struct beat beat;
    struct page page;
    enum beat_fault fault;

    if (kind == BEAT_KIND_BEAT)
        fault = beat_decode(frame->payload, frame->bytes, conductor.key, frame->from, &beat);
    else if (kind == BEAT_KIND_PAGE)
        fault = page_decode(frame->payload, frame->bytes, conductor.key, frame->from, &page);
    else if (kind == BEAT_KIND_KEY_REQUEST)
        fault = key_request_heard(frame);
    else
        fault = answer_decode(frame->payload, frame->bytes, conductor.key, frame->from, &answer);

    conductor.faults[fault]++;
    if (fault != BEAT_FINE || kind == BEAT_KIND_KEY_REQUEST)
        return;
    if (kind == BEAT_KIND_BEAT)
        other_beat_heard(frame, &beat);
    else if (kind == BEAT_KIND_PAGE)
        page_heard(frame->from, &page);
    else
        answer_heard(frame, &answer);
}

void answers_take(void)
{
    static struct wire_frame frame;
    unsigned count = 0;

    for (; count < ANSWERS_PER_LOOP && wire_receive(&conductor.wire, &frame) == 0; count++)
        if (frame.is_for_us)
            frame_heard(&frame);
    if (count > conductor.answers_per_loop_max)
        conductor.answers_per_loop_max = count;
}
