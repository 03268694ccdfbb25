/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keys.c: see keys.h.
 */
#include "service/conductor/keys.h"
#include "service/conductor/admissions.h"
#include "service/conductor/conductor.h"
#include "service/lib/key_file.h"
#include "service/lib/say.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ASKERS           (KEYS_SETS * KEYS_WAYS)
#define NEWS_PER_S       10               /* lines about new askers */
#define TRUSTED_FOR_NS   (30 * SECOND_NS) /* after its keys a node has this long to answer a beat */
#define PAGE_END_BYTES   64
#define FINGERPRINT_LAST (FINGERPRINT_BYTES - 1)

static struct asker {
    enum { ASKER_NONE, ASKER_EXPECTED, ASKER_WAITING, ASKER_ADMITTED } state; /* EXPECTED: has not asked */
    bool is_due, has_key;
    char fingerprint[FINGERPRINT_BYTES], name[ANSWER_NAME_BYTES];
    struct key_session session;     /* its key, once has_key */
    uint32_t number;                /* of its last request */
    uint64_t heard_ns, answered_ns; /* conductor time; 0: never */
} askers[ASKERS];

/* Askers that are due, in their order; each is there once. */
static uint16_t due[ASKERS];
static unsigned due_first, due_count;

static bool has_identity, trusts_first, is_rotating;
static uint8_t identity[CURVE_BYTES], public[CURVE_BYTES], next_master[KEY_BYTES];
static uint8_t set_key[SIPHASH_KEY_BYTES];

void keys_start(const uint8_t *secret, bool trusts)
{
    trusts_first = trusts;
    has_identity = secret != NULL;
    if (!secret)
        return;
    memcpy(identity, secret, sizeof(identity));
    curve_public(public, identity);
    if (getrandom(set_key, sizeof(set_key), 0) != sizeof(set_key))
        give_up(1, "no random numbers");
}

bool keys_are_given(void)
{
    return has_identity;
}

/* ---- The table ---- */

static struct asker *set_of(const uint8_t *address)
{
    return &askers[siphash(set_key, address, NODE_ADDRESS_BYTES) % KEYS_SETS * KEYS_WAYS];
}

static bool is_from(const struct asker *asker, const uint8_t *address)
{
    return asker->state != ASKER_NONE && memcmp(asker->session.address, address, NODE_ADDRESS_BYTES) == 0;
}

/* Finds the asker of an address and a fingerprint; NULL: there is none. */
static struct asker *asker_find(const uint8_t *address, const char *fingerprint)
{
    struct asker *set = set_of(address);

    for (unsigned i = 0; i < KEYS_WAYS; i++)
        if (is_from(&set[i], address) && strcmp(set[i].fingerprint, fingerprint) == 0)
            return &set[i];
    return NULL;
}

/* Adds an asker. If its set is full it replaces the one heard longest ago, of those that wait if any do. */
static struct asker *asker_add(const uint8_t *address, const char *fingerprint)
{
    struct asker *set = set_of(address), *oldest = set;

    for (unsigned i = 1; i < KEYS_WAYS && oldest->state != ASKER_NONE; i++) {
        const bool waits = set[i].state <= ASKER_WAITING, oldest_waits = oldest->state <= ASKER_WAITING;

        if (set[i].state == ASKER_NONE || (waits && !oldest_waits) ||
            (waits == oldest_waits && set[i].heard_ns < oldest->heard_ns))
            oldest = &set[i];
    }
    const bool was_due = oldest->is_due; /* its place in `due` stays */
    *oldest = (struct asker){ .is_due = was_due, .heard_ns = conductor_now_ns() };
    memcpy(oldest->session.address, address, NODE_ADDRESS_BYTES);
    memcpy(oldest->fingerprint, fingerprint, FINGERPRINT_LAST);
    return oldest;
}

/* ---- Admission ---- */

/* Returns whether an asker may be admitted at first sight: no node answers beats from its address, and no
 * other asker of the address has got keys just now and not answered a beat yet. */
static bool is_first(const struct asker *asker)
{
    const struct node *node = registry_node(&conductor.registry, asker->session.address);
    const struct asker *set = set_of(asker->session.address);
    const uint64_t now_ns = conductor_now_ns();

    if (node && !node_is_silent(node, conductor.asked))
        return false;
    for (unsigned i = 0; i < KEYS_WAYS; i++)
        if (&set[i] != asker && is_from(&set[i], asker->session.address) && set[i].answered_ns &&
            now_ns - set[i].answered_ns < TRUSTED_FOR_NS &&
            !(node && node->answer.start == set[i].session.start))
            return false;
    return true;
}

/* Has an admitted asker answered in its turn. */
static void answer_queue(struct asker *asker)
{
    if (asker->is_due)
        return;
    asker->is_due = true;
    due[(due_first + due_count++) % ASKERS] = (uint16_t)(asker - askers);
}

/* Logs an asker, unless there have been many in this second. */
static void asker_say(const struct asker *asker, const char *what)
{
    static uint64_t second, lines;
    const uint64_t now_s = clock_now_ns() / SECOND_NS;
    char address[NODE_ADDRESS_TEXT];

    lines = now_s == second ? lines + 1 : 1;
    second = now_s;
    if (lines > NEWS_PER_S)
        return;
    node_address_print(asker->session.address, address);
    say("node %s (%s) asks for its keys: %s; its fingerprint is %s", asker->name, address, what,
        asker->fingerprint);
}

static void asker_admit(struct asker *asker, const char *how)
{
    asker->state = ASKER_ADMITTED;
    admissions_changed();
    asker_say(asker, how);
    answer_queue(asker);
}

void beats_key_make(uint8_t key[KEY_BYTES], const uint8_t master[KEY_BYTES])
{
    key_derive(key, master, KEY_BEATS, NULL, 0);
}

static void ticket_key_make(uint8_t key[KEY_BYTES], const uint8_t master[KEY_BYTES],
                            const uint8_t address[NODE_ADDRESS_BYTES])
{
    char id[2 * NODE_ADDRESS_BYTES + 1];

    for (unsigned i = 0; i < NODE_ADDRESS_BYTES; i++)
        snprintf(id + 2 * i, 3, "%02x", address[i]);
    key_derive(key, master, KEY_TICKET, id, strlen(id));
}

/* Takes a request without a fault. `is_proved`: it is from the node that has this address's key. */
static void request_take_from(const uint8_t *address, const struct key_request *request, bool is_proved)
{
    char fingerprint[FINGERPRINT_BYTES];

    fingerprint_print(request->public, fingerprint);
    struct asker *asker = asker_find(address, fingerprint);
    const bool is_new = !asker || asker->state == ASKER_EXPECTED;
    if (!asker)
        asker = asker_add(address, fingerprint);
    if (is_new) {
        memcpy(asker->session.node, request->public, CURVE_BYTES);
        memcpy(asker->session.conductor, public, CURVE_BYTES);
    } else if (memcmp(asker->session.node, request->public, CURVE_BYTES) != 0) {
        return; /* another key with this beginning */
    }
    asker->session.start = request->start; /* an answer to a forged one is of no use */
    memcpy(asker->name, request->name, ANSWER_NAME_BYTES);
    asker->number = request->number;
    asker->heard_ns = conductor_now_ns();
    if (asker->state == ASKER_ADMITTED)
        answer_queue(asker);
    else if (is_proved || asker->state == ASKER_EXPECTED)
        asker_admit(asker, is_proved ? "it has those of now" : "it was admitted");
    else if (trusts_first && is_first(asker))
        asker_admit(asker, "admitted at first sight");
    else if (is_new)
        asker_say(asker, trusts_first ? "it waits, for its address is in use" : "it waits to be admitted");
    if (asker->state == ASKER_NONE)
        asker->state = ASKER_WAITING;
}

enum beat_fault key_request_heard(const struct wire_frame *frame)
{
    uint8_t ticket[KEY_BYTES];
    struct key_request request;
    const enum beat_fault fault = key_request_decode(frame->payload, frame->bytes, &request);

    if (fault != BEAT_FINE || !is_one_card_s(frame->from))
        return fault == BEAT_FINE ? BEAT_ABSURD : fault;
    ticket_key_make(ticket, conductor.master, frame->from);
    if (has_identity)
        request_take_from(frame->from, &request, key_request_proves(frame->payload, ticket));
    return BEAT_FINE;
}

/* ---- Answers ---- */

/* Makes a node's keys. During a rotation a node that asks again gets those to come. */
static void keys_make(const struct asker *asker, struct node_keys *keys)
{
    const uint8_t *master = is_rotating && asker->number > 1 ? next_master : conductor.master;

    beats_key_make(keys->beats, master);
    ticket_key_make(keys->ticket, master, asker->session.address);
}

bool keys_are_due(void)
{
    return due_count != 0;
}

void keys_settle(void)
{
    uint8_t nonce[SEAL_NONCE_BYTES], payload[KEY_ANSWER_BYTES];
    struct node_keys keys;

    if (!due_count)
        return;
    struct asker *asker = &askers[due[due_first]];
    due_first = (due_first + 1) % ASKERS;
    due_count--;
    asker->is_due = false;
    if (asker->state != ASKER_ADMITTED)
        return; /* another asker has its place now */
    if (!asker->has_key && !curve_agree(asker->session.key, identity, asker->session.node)) {
        asker->state = ASKER_NONE;
        conductor.faults[BEAT_ABSURD]++;
        return;
    }
    asker->has_key = true;
    if (getrandom(nonce, sizeof(nonce), GRND_NONBLOCK) != sizeof(nonce))
        return; /* the node asks again */
    keys_make(asker, &keys);
    key_answer_encode(&asker->session, asker->number, &keys, nonce, payload);
    wipe(&keys, sizeof(keys));
    if (wire_send_to(&conductor.wire, asker->session.address, payload, sizeof(payload)) == 0)
        asker->answered_ns = conductor_now_ns();
}

/* ---- Requests of conductorctl ---- */

static void asker_write(struct json *answer, const struct asker *asker)
{
    static const char *const states[] = { [ASKER_EXPECTED] = "expected", [ASKER_WAITING] = "waiting" };
    char address[NODE_ADDRESS_TEXT];

    node_address_print(asker->session.address, address);
    json_print(answer, "{\"name\": ");
    json_string(answer, asker->name);
    json_print(answer,
               ", \"address\": \"%s\", \"fingerprint\": \"%s\", \"state\": \"%s\", \"heard_ns\": %" PRIu64
               "}",
               address, asker->fingerprint,
               asker->state == ASKER_ADMITTED ? (asker->answered_ns ? "answered" : "admitted")
                                              : states[asker->state],
               asker->heard_ns);
}

void keys_write(struct json *answer, unsigned long from)
{
    unsigned long place = from;
    bool is_first_one = true;

    json_print(answer, "{\"now_ns\": %" PRIu64 ", \"conductor_key\": \"", conductor_now_ns());
    for (unsigned i = 0; has_identity && i < CURVE_BYTES; i++)
        json_print(answer, "%02x", public[i]);
    json_print(answer, "\", \"nodes\": [");
    for (; place < ASKERS; place++) {
        const size_t before = answer->length;

        if (askers[place].state == ASKER_NONE)
            continue;
        json_print(answer, "%s", is_first_one ? "" : ", ");
        asker_write(answer, &askers[place]);
        if (answer->is_full || answer->room - answer->length < PAGE_END_BYTES) {
            json_cut(answer, before);
            break;
        }
        is_first_one = false;
    }
    json_print(answer, "], \"next\": %lu}\n", place < ASKERS ? place : 0);
}

/* Finds the address that a name or an Ethernet address means: of an asker with this fingerprint, or of a
 * known node. Returns false if there is none. */
static bool address_find(const char *name, const char *fingerprint, uint8_t address[NODE_ADDRESS_BYTES])
{
    const struct node *node;

    if (address_read(name, address))
        return true;
    for (unsigned i = 0; i < ASKERS; i++)
        if (askers[i].state != ASKER_NONE && strcmp(askers[i].name, name) == 0 &&
            strcmp(askers[i].fingerprint, fingerprint) == 0) {
            memcpy(address, askers[i].session.address, NODE_ADDRESS_BYTES);
            return true;
        }
    node = registry_find(&conductor.registry, name);
    if (node)
        memcpy(address, node->address, NODE_ADDRESS_BYTES);
    return node != NULL;
}

bool keys_admit(const char *words, unsigned client, struct json *answer)
{
    char name[64], fingerprint[FINGERPRINT_BYTES + 1] = "";
    uint8_t address[NODE_ADDRESS_BYTES];
    int end = 0;

    if (sscanf(words, "%63s %24s%n", name, fingerprint, &end) != 2 || words[end] ||
        !fingerprint_is_valid(fingerprint))
        json_error(answer,
                   "admit takes a node's name or Ethernet address, and the fingerprint that its console "
                   "shows, as 01234-56789-abcde-f0123");
    else if (!has_identity)
        json_error(answer, "the conductor gives no keys: it was started without --identity FILE");
    else if (!admissions_have_room())
        json_error(answer, "too many admissions are being written; try again");
    else if (!address_find(name, fingerprint, address))
        json_error(answer, "no node of this name with this fingerprint has asked, and none of this name is "
                           "known: admit it by its Ethernet address");
    else {
        struct asker *asker = asker_find(address, fingerprint);

        if (!asker) {
            asker = asker_add(address, fingerprint);
            asker->state = ASKER_EXPECTED;
            admissions_changed();
        }
        if (asker->state == ASKER_WAITING)
            asker_admit(asker, "admitted by the administrator");
        asker_write(answer, asker);
        json_print(answer, "\n");
        return !admissions_answer(client, answer);
    }
    return true;
}

/* ---- Admissions on disk ---- */

unsigned keys_admitted(struct admission *all)
{
    unsigned count = 0;

    for (const struct asker *asker = askers; asker < askers + ASKERS; asker++) {
        if (asker->state != ASKER_EXPECTED && asker->state != ASKER_ADMITTED)
            continue;
        struct admission *to = &all[count++];

        *to = (struct admission){ .is_expected = asker->state == ASKER_EXPECTED,
                                  .heard_s = (uint32_t)(asker->heard_ns / SECOND_NS) };
        memcpy(to->address, asker->session.address, sizeof(to->address));
        memcpy(to->public, asker->session.node, sizeof(to->public));
        memcpy(to->fingerprint, asker->fingerprint, sizeof(to->fingerprint));
        memcpy(to->name, asker->name, sizeof(to->name));
    }
    return count;
}

void keys_restore(const struct admission *admission)
{
    char fingerprint[FINGERPRINT_BYTES];

    memcpy(fingerprint, admission->fingerprint, sizeof(fingerprint));
    if (!admission->is_expected)
        fingerprint_print(admission->public, fingerprint);
    if (asker_find(admission->address, fingerprint))
        return;
    struct asker *asker = asker_add(admission->address, fingerprint);
    asker->state = admission->is_expected ? ASKER_EXPECTED : ASKER_ADMITTED;
    if (asker->heard_ns / SECOND_NS > admission->heard_s)
        asker->heard_ns = admission->heard_s * SECOND_NS;
    memcpy(asker->session.node, admission->public, CURVE_BYTES);
    memcpy(asker->session.conductor, public, CURVE_BYTES);
    memcpy(asker->name, admission->name, ANSWER_NAME_BYTES);
}

/* ---- Rotation ---- */

const char *master_next(uint8_t master[KEY_BYTES])
{
    static char text[PATH_MAX + 128];
    uint8_t read[KEY_BYTES];
    const char *why = key_file_load(conductor.key_path, read);

    if (!why && memcmp(read, conductor.master, sizeof(read)) == 0)
        why = "it is the present one: write a new key into that file first";
    snprintf(text, sizeof(text), "the key %s: %s", conductor.key_path, why ? why : "");
    if (!why)
        memcpy(master, read, sizeof(read));
    wipe(read, sizeof(read));
    return why ? text : NULL;
}

const char *rotation_begin(void)
{
    const char *why = master_next(next_master);

    is_rotating = !why;
    return why;
}

void rotation_end(bool is_done)
{
    is_rotating = false;
    if (!is_done)
        return;
    memcpy(conductor.master, next_master, sizeof(conductor.master));
    beats_key_make(conductor.key, conductor.master);
    say("beats and tickets are under the new key; the old one has ended");
}
