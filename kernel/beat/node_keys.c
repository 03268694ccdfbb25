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

static struct secrets {
    struct node_key_pair keys;
    struct key_session session;
} first, *secrets = &first; /* until node_keys_hide */

static struct spinlock lock; /* while the secrets are open */
static bool is_hidden;
static uint8_t public[CURVE_BYTES];
static bool has_key, has_ticket, has_next, comes, waits; /* changed under the lock, read without it */
static uint32_t number;                                  /* of the last request */
static uint64_t due_ns, pause_ns = PAUSE_NS;             /* of the next request */

/* Reads hexadecimal digits, and nothing else. */
static bool hexadecimal_read(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < 2 * count; i++) {
        const unsigned digit = hexadecimal_digit(text[i]);

        if (digit > 15)
            return false;
        bytes[i / 2] = (uint8_t)(16U * bytes[i / 2] + digit);
    }
    return !text[2 * count];
}

static struct secrets *secrets_open(void)
{
    spin_lock(&lock);
    if (is_hidden)
        arch_guard_page_open((uint64_t)secrets, true);
    return secrets;
}

static void secrets_close(void)
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
    curve_public(public, secret);
    memcpy(session->node, public, CURVE_BYTES);
    session->start = start;
    const bool agrees = curve_agree(session->key, secret, session->conductor);
    wipe(secret, sizeof(secret));
    comes = waits = true;
    number = 1;
    return agrees ? 0 : message_set(why, -EINVAL, "conductor_key= is no public key that a conductor has");
}

int node_keys_configure(const struct command_line *line, uint64_t start, struct message *why)
{
    const char *digits = command_line_option(line, "nettick_key"),
               *ticket = command_line_option(line, "ticket_key"),
               *conductor = command_line_option(line, "conductor_key");

    has_key = digits && key_parse(digits, first.keys.now.beats);
    has_ticket = ticket && key_parse(ticket, first.keys.now.ticket);
    if (digits && !has_key)
        return message_set(why, -EINVAL, "nettick_key=, the conductor's key, must be 32 hexadecimal digits");
    if (ticket && !has_ticket)
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

bool node_keys_have(void)
{
    return __atomic_load_n(&has_key, __ATOMIC_ACQUIRE);
}

bool node_keys_have_ticket(void)
{
    return has_ticket;
}

bool node_keys_come(void)
{
    return comes;
}

void node_keys_card_set(const uint8_t address[BEAT_ADDRESS_BYTES])
{
    memcpy(secrets_open()->session.address, address, BEAT_ADDRESS_BYTES);
    secrets_close();
}

const struct node_key_pair *node_keys_open(void)
{
    return &secrets_open()->keys;
}

void node_keys_close(void)
{
    secrets_close();
}

bool node_keys_wait(void)
{
    return __atomic_load_n(&waits, __ATOMIC_RELAXED);
}

uint64_t node_keys_due_ns(void)
{
    return due_ns;
}

bool node_keys_have_next(void)
{
    return has_next;
}

int node_keys_renew(void)
{
    if (!comes)
        return -ENOKEY;
    SPIN_GUARD(&lock);
    number++;
    has_next = false;
    waits = true;
    due_ns = 0;
    pause_ns = PAUSE_NS;
    return 0;
}

bool node_keys_request(const char *name, uint8_t payload[KEY_REQUEST_BYTES])
{
    struct key_request request = { .number = 0 };
    const uint64_t now_ns = clock_now_ns();

    if (!waits || now_ns < due_ns)
        return false;
    const struct secrets *open = secrets_open();
    due_ns = now_ns + pause_ns;
    pause_ns = pause_ns < PAUSE_NS_MAX ? 2 * pause_ns : PAUSE_NS_MAX;
    request.number = number;
    request.start = open->session.start;
    memcpy(request.public, public, CURVE_BYTES);
    for (unsigned i = 0; i + 1 < ANSWER_NAME_BYTES && name[i]; i++)
        request.name[i] = name[i];
    key_request_encode(&request, has_key ? open->keys.now.ticket : NULL, payload);
    secrets_close();
    return true;
}

enum beat_fault node_keys_take(const uint8_t *payload, size_t bytes)
{
    struct secrets *open;
    struct node_keys keys;

    if (!node_keys_wait())
        return BEAT_OTHER_KIND; /* the conductor has answered twice */
    open = secrets_open();
    const enum beat_fault fault = key_answer_decode(&open->session, number, payload, bytes, &keys);
    if (fault == BEAT_FINE) {
        *(has_key ? &open->keys.next : &open->keys.now) = keys;
        has_next = has_key;
        waits = false;
        has_ticket = true;
        __atomic_store_n(&has_key, true, __ATOMIC_RELEASE);
    }
    secrets_close();
    wipe(&keys, sizeof(keys));
    return fault;
}

void node_keys_advance(void)
{
    struct secrets *open = secrets_open();

    open->keys.now = open->keys.next;
    has_next = false;
    wipe(&open->keys.next, sizeof(open->keys.next));
    secrets_close();
}

void node_keys_say(void)
{
    char text[FINGERPRINT_BYTES];

    fingerprint_print(public, text);
    kernel_print("nettick: waiting for keys from the conductor; this node's fingerprint is %s\n", text);
}
