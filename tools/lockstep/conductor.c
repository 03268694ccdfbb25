/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conductor.c: the conductor of nodes whose time is virtual (docs/lockstep.md), as a library for Python
 * (beats.py). It uses the conductor's own beats, answers, registry, welcomes and commands
 * (service/conductor/conductor.h). Only their connection to a machine is replaced: the caller sets the clock,
 * passes and gets frames, and gets the outcomes of commands. There are no jobs of tacetrun.
 *
 * One conductor per process, used by one thread at a time.
 */
#include "service/conductor/conductor.h"
#include "service/conductor/keys.h"
#include "service/lib/control.h"
#include "service/lib/say.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FOR_PYTHON    __attribute__((visibility("default")))
#define HEADER_BYTES  14 /* header of an Ethernet frame: to, from, type */
#define ADDRESS_BYTES 6
#define OUTCOMES_MAX  (COMMANDS_WAITING_MAX + BEAT_COMMANDS_MAX + 1) /* between two calls of the caller */

struct conductor conductor;

static uint64_t virtual_ns; /* since the nodes' start */
static struct wire_frame heard;
static bool is_heard;
static struct {
    size_t bytes;
    uint8_t payload[BEAT_BYTES_MAX];
} sent;
static struct outcome {
    unsigned command; /* the caller's number */
    char text[CONTROL_ANSWER_BYTES];
} outcomes[OUTCOMES_MAX];
static unsigned outcome_count;

/* ---- Functions that the conductor's parts call ---- */

uint64_t conductor_now_ns(void)
{
    return timeline_conductor_ns(&conductor.timeline, virtual_ns);
}

void beat_timer_set(void)
{
    /* Nothing to do: the caller asks at each gate. */
}

int wire_send(const struct wire *wire, const uint8_t *payload, size_t bytes)
{
    (void)wire; /* there is only one */
    if (!bytes || bytes > sizeof(sent.payload)) {
        errno = EMSGSIZE;
        return -1;
    }
    memcpy(sent.payload, payload, bytes);
    sent.bytes = bytes;
    return 0;
}

int wire_receive(const struct wire *wire, struct wire_frame *frame)
{
    (void)wire;
    if (!is_heard) {
        errno = EAGAIN;
        return -1;
    }
    *frame = heard;
    is_heard = false;
    return 0;
}

void client_answer(unsigned command, const struct json *answer)
{
    struct outcome *outcome = &outcomes[outcome_count];

    if (outcome_count == OUTCOMES_MAX)
        return; /* cannot happen: no more commands can be pending */
    outcome->command = command;
    snprintf(outcome->text, sizeof(outcome->text), "%s", answer->text);
    outcome_count++;
}

/* Ignores a part of an answer: only requests for pages of flight logs have parts, and none are made here. */
void client_part(unsigned command, const struct json *part)
{
    (void)command;
    (void)part;
}

/* Nodes in lockstep have their keys from the command line. */
enum beat_fault key_request_heard(const struct wire_frame *frame)
{
    (void)frame;
    return BEAT_OTHER_KIND;
}

const char *rotation_begin(void)
{
    return "nodes in lockstep keep their key";
}

void rotation_end(bool is_done)
{
    (void)is_done;
}

bool access_is_user(const struct peer *peer)
{
    (void)peer; /* who runs the nodes commands them */
    return false;
}

void leases_heard(const struct node *node)
{
    (void)node; /* no job has a lease */
}

void leases_epoch_begin(void)
{
    /* As leases_excuse. */
}

void leases_excuse(void)
{
    /* Nothing to do: no job has a lease. */
}

/* ---- For Python ---- */

/* Begins. Conductor time is epoch_ns + virtual time; the first beat is due at the first multiple of the
 * period in conductor time at or after first_ns of virtual time. answer_every: as the conductor's
 * --answer-every; -1: about one a second. `nodes`: how many nodes do each command. */
FOR_PYTHON void lockstep_begin(uint64_t epoch_ns, const uint8_t key[SIPHASH_KEY_BYTES],
                               const uint8_t address[ADDRESS_BYTES], uint64_t period_ns, uint64_t first_ns,
                               int nodes_answer_every, unsigned nodes);
/* Sets virtual time. Commands whose time has run out get their outcomes. */
FOR_PYTHON void lockstep_time(uint64_t ns);
/* Handles a frame from a node, with its Ethernet header. */
FOR_PYTHON void lockstep_heard(const uint8_t *frame, size_t bytes);
/* Checks a command. NULL, or what is wrong with it; "" if there is no such command. */
FOR_PYTHON const char *lockstep_command_wrong(const char *text);
/* Gives a command, "stop", "one-way kill", "within 5 services 500", …; its outcome has this number. */
FOR_PYTHON void lockstep_command(const char *request, unsigned number);
/* Returns the conductor time of the next beat. */
FOR_PYTHON uint64_t lockstep_due(void);
/* Makes the payload of the beat that is due. Returns its bytes; 0 if none is due. */
FOR_PYTHON size_t lockstep_beat(uint8_t *payload, size_t room);
/* Takes an outcome, the conductor's JSON. Returns the command's number, or -1 if there is none. */
FOR_PYTHON int lockstep_outcome(char *text, size_t room);
/* Ends: no further beat follows, and pending commands get their outcomes. */
FOR_PYTHON void lockstep_end(void);

void lockstep_begin(uint64_t epoch_ns, const uint8_t key[SIPHASH_KEY_BYTES],
                    const uint8_t address[ADDRESS_BYTES], uint64_t period_ns, uint64_t first_ns,
                    int nodes_answer_every, unsigned nodes)
{
    say_begin("conductor", NULL);
    memset(&conductor, 0, sizeof(conductor));
    conductor.interface = "lockstep";
    conductor.timeline.epoch_ns = conductor.timeline.tai_ns = epoch_ns;
    conductor.answer_every = nodes_answer_every;
    conductor.nodes_expected = nodes;
    memcpy(conductor.key, key, sizeof(conductor.key));
    memcpy(conductor.wire.address, address, ADDRESS_BYTES);
    is_heard = false;
    outcome_count = 0;
    sent.bytes = 0;
    virtual_ns = 0;
    /* "After" a time there. */
    timeline_period_set(&conductor.timeline, period_ns, epoch_ns + first_ns - 1);
}

void lockstep_time(uint64_t ns)
{
    virtual_ns = ns;
    orders_settle();
}

void lockstep_heard(const uint8_t *frame, size_t bytes)
{
    if (bytes < HEADER_BYTES || bytes - HEADER_BYTES > sizeof(heard.payload) ||
        (frame[12] << 8 | frame[13]) != BEAT_ETHERTYPE)
        return;
    heard.is_for_us = memcmp(frame, conductor.wire.address, ADDRESS_BYTES) == 0 || (frame[0] & 1);
    memcpy(heard.from, frame + ADDRESS_BYTES, ADDRESS_BYTES);
    heard.bytes = bytes - HEADER_BYTES;
    memcpy(heard.payload, frame + HEADER_BYTES, heard.bytes);
    is_heard = true;
    answers_take();
}

const char *lockstep_command_wrong(const char *text)
{
    struct command command;
    const char *why;

    if (command_read(text, true, &command, &why) == 0)
        return NULL;
    return why ? why : "";
}

void lockstep_command(const char *request, unsigned number)
{
    static char text[CONTROL_ANSWER_BYTES];
    struct json answer = { .text = text, .room = sizeof(text) };

    text[0] = '\0';
    if (order_take(request, number, &answer))
        client_answer(number, &answer);
}

uint64_t lockstep_due(void)
{
    return conductor.timeline.due_ns;
}

size_t lockstep_beat(uint8_t *payload, size_t room)
{
    size_t bytes;

    beat_due();
    bytes = sent.bytes <= room ? sent.bytes : 0;
    memcpy(payload, sent.payload, bytes);
    sent.bytes = 0;
    return bytes;
}

int lockstep_outcome(char *text, size_t room)
{
    int command;

    if (!outcome_count)
        return -1;
    command = (int)outcomes[0].command;
    snprintf(text, room, "%s", outcomes[0].text);
    memmove(&outcomes[0], &outcomes[1], --outcome_count * sizeof(outcomes[0]));
    return command;
}

void lockstep_end(void)
{
    conductor.timeline.period_ns = 0;
    orders_settle();
}
