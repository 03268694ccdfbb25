/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node_keys.c: see node_keys.h. Owns all secrets of the node.
 */
#include "beat/node_keys.h"
#include "arch.h"
#include "debug/console.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "smp/spinlock.h"
#include "time/clock.h"

#define PAUSE_NS     (NS_PER_S / 4)
#define PAUSE_NS_MAX (8 * NS_PER_S)

static struct node_secrets first, *secrets = &first; /* until node_keys_hide */
static struct spinlock lock;                         /* while the secrets are open */
static bool is_hidden;
static uint32_t number;              /* of the last request */
static uint64_t pause_ns = PAUSE_NS; /* after the next one */
struct node_keys_state node_keys_state;

struct node_secrets *node_keys_open(void)
{
    spin_lock(&lock);
    if (is_hidden)
        arch_guard_page_open((uint64_t)secrets, true);
    return secrets;
}

void node_keys_close(void)
{
    if (is_hidden)
        arch_guard_page_open((uint64_t)secrets, false);
    spin_unlock(&lock);
}

void node_keys_hide(void *page, struct page_pool *pool)
{
    secrets = page;
    *secrets = first;
    wipe(&first, sizeof(first));
    arch_guard_page((uint64_t)page, pool);
    is_hidden = true;
}

/* Draws the secret. Returns false if the hardware has no random numbers. */
static bool secret_draw(uint8_t secret[CURVE_BYTES])
{
    for (unsigned i = 0; i < CURVE_BYTES; i += 8)
        if (!arch_random_strong((uint64_t *)(secret + i)))
            return false;
    return true;
}

static int session_make(const char *text, uint64_t start, struct message *why)
{
    uint8_t secret[CURVE_BYTES] __attribute__((aligned(8)));
    struct key_session *session = &first.session;

    if (!hexadecimal_read(text, session->conductor, CURVE_BYTES))
        return message_set(
            why, -EINVAL,
            "conductor_key= is the conductor's public key, 64 hexadecimal digits (conductorctl "
            "keys)");
    if (!secret_draw(secret))
        return message_set(
            why, -ENODEV,
            "conductor_key=: this CPU has no random numbers (x86_64: RDRAND, ppc64: DARN); use "
            "nettick_key=");
    curve_public(session->node, secret);
    session->start = start;
    const bool agrees = curve_agree(session->key, secret, session->conductor);
    wipe(secret, sizeof(secret));
    node_keys_state.come = node_keys_state.waits = true;
    number = 1;
    return agrees ? 0 : message_set(why, -EINVAL, "conductor_key= is no public key that a conductor has");
}

int node_keys_configure(const struct command_line *line, uint64_t start, struct message *why)
{
    const char *digits = command_line_option(line, "nettick_key"),
               *ticket = command_line_option(line, "ticket_key"),
               *conductor = command_line_option(line, "conductor_key");
    struct node_keys_state *state = &node_keys_state;

    state->has_keys = digits && hexadecimal_read(digits, first.now.beats, KEY_BYTES);
    state->has_ticket = ticket && hexadecimal_read(ticket, first.now.ticket, KEY_BYTES);
    if (digits && !state->has_keys)
        return message_set(why, -EINVAL, "nettick_key=, the conductor's key, must be 32 hexadecimal digits");
    if (ticket && !state->has_ticket)
        return message_set(why, -EINVAL, "ticket_key= must be 32 hexadecimal digits (conductorctl key)");
    if ((digits || ticket) && conductor)
        return message_set(why, -EINVAL,
                           "conductor_key= brings both keys: leave out nettick_key= and "
                           "ticket_key=");
    return conductor ? session_make(conductor, start, why) : 0;
}

bool node_keys_are_given(const struct command_line *line)
{
    return command_line_option(line, "nettick_key") || command_line_option(line, "ticket_key") ||
           command_line_option(line, "conductor_key");
}

void node_keys_card_set(const uint8_t address[BEAT_ADDRESS_BYTES])
{
    memcpy(node_keys_open()->session.address, address, BEAT_ADDRESS_BYTES);
    node_keys_close();
}

int node_keys_renew(void)
{
    struct node_keys_state *state = &node_keys_state;

    if (!state->come)
        return -ENOKEY;
    SPIN_GUARD(&lock);
    number++;
    state->has_next = false;
    state->waits = true;
    state->due_ns = 0;
    pause_ns = PAUSE_NS;
    return 0;
}

bool node_keys_request(const char *name, uint8_t payload[KEY_REQUEST_BYTES])
{
    struct key_request request = { .number = 0 };
    struct node_keys_state *state = &node_keys_state;
    const uint64_t now_ns = clock_now_ns();

    if (!state->waits || now_ns < state->due_ns)
        return false;
    const struct node_secrets *open = node_keys_open();
    state->due_ns = now_ns + pause_ns;
    pause_ns = pause_ns < PAUSE_NS_MAX ? 2 * pause_ns : PAUSE_NS_MAX;
    request.number = number;
    request.start = open->session.start;
    memcpy(request.public, open->session.node, CURVE_BYTES);
    for (unsigned i = 0; i + 1 < ANSWER_NAME_BYTES && name[i]; i++)
        request.name[i] = name[i];
    key_request_encode(&request, state->has_keys ? open->now.ticket : NULL, payload);
    node_keys_close();
    return true;
}

enum beat_fault node_keys_take(const uint8_t *payload, size_t bytes)
{
    struct node_keys_state *state = &node_keys_state;
    struct node_keys keys;

    if (!state->waits)
        return BEAT_OTHER_KIND; /* the conductor has answered twice */
    struct node_secrets *open = node_keys_open();
    const enum beat_fault fault = key_answer_decode(&open->session, number, payload, bytes, &keys);
    if (fault == BEAT_FINE) {
        *(state->has_keys ? &open->next : &open->now) = keys;
        state->has_next = state->has_keys;
        state->waits = false;
        state->has_keys = state->has_ticket = true;
    }
    node_keys_close();
    wipe(&keys, sizeof(keys));
    return fault;
}

void node_keys_advance(void)
{
    struct node_secrets *open = node_keys_open();

    open->now = open->next;
    node_keys_state.has_next = false;
    wipe(&open->next, sizeof(open->next));
    node_keys_close();
}

void node_keys_say(void)
{
    char text[FINGERPRINT_BYTES];

    fingerprint_print(node_keys_open()->session.node, text);
    node_keys_close();
    kernel_print("nettick: waiting for keys from the conductor; this node's fingerprint is %s\n", text);
}
