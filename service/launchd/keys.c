/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keys.c: the node's keys (launchd.h, docs/nettick.md "Keys after boot"): from a file, which SIGHUP and the
 * conductor's command have it read again, or from the conductor, as on a Tacet node. Keys that replace others
 * count from the first beat under them on.
 */
#include "service/launchd/launchd.h"
#include "lib/bytes.h"
#include "service/lib/options.h"
#include "service/lib/say.h"
#include "service/lib/wire.h"
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define PAUSE_NS     (SECOND_NS / 4)
#define PAUSE_NS_MAX (8 * SECOND_NS)
#define LOST_NS      (10 * SECOND_NS)

static struct {
    const char *path; /* NULL: the keys come from the conductor */
    const struct wire *wire;
    struct key_session session;
    bool waits;      /* it has asked for keys that have not come */
    uint32_t number; /* of the last request */
    uint64_t due_ns, pause_ns;
    bool has_first, has_next;
    struct node_keys next;
    uint64_t heard_ns; /* when a beat under the node's keys came, or it asked for others */
} keys;

static void random_take(void *bytes, size_t count)
{
    if (getrandom(bytes, count, 0) != (ssize_t)count)
        give_up(STATUS_WRONG, "getrandom: %s", strerror(errno));
}

void keys_from_file(const char *path)
{
    keys.path = path;
    key_file_read_node(path, &launchd.keys, STATUS_WRONG);
    launchd.has_key = keys.has_first = true;
}

/* Asks once more, at once. */
static void request_begin(void)
{
    keys.number++;
    keys.waits = true;
    keys.has_next = false;
    keys.due_ns = 0;
    keys.pause_ns = PAUSE_NS;
    keys.heard_ns = clock_now_ns();
}

void keys_from_conductor(const char *conductor)
{
    uint8_t secret[CURVE_BYTES];

    if (!hexadecimal_read(conductor, keys.session.conductor, CURVE_BYTES))
        give_up(STATUS_WRONG, "--conductor-key %s: it takes 64 hexadecimal digits (conductorctl keys)",
                conductor);
    random_take(secret, sizeof(secret));
    random_take(&launchd.keys, sizeof(launchd.keys)); /* so that no ticket fits before the keys have come */
    launchd.has_key = true;
    curve_public(keys.session.node, secret);
    const bool agrees = curve_agree(keys.session.key, secret, keys.session.conductor);
    wipe(secret, sizeof(secret));
    if (!agrees)
        give_up(STATUS_WRONG, "--conductor-key %s: no conductor has this public key", conductor);
}

void keys_open(const struct wire *wire, uint64_t start)
{
    char text[FINGERPRINT_BYTES];

    keys.wire = wire;
    memcpy(keys.session.address, wire->address, BEAT_ADDRESS_BYTES);
    keys.session.start = start;
    if (keys.path)
        return;
    request_begin();
    fingerprint_print(keys.session.node, text);
    say("waiting for keys from the conductor; this node's fingerprint is %s", text);
}

void keys_turn(void)
{
    const uint64_t now_ns = clock_now_ns();
    uint8_t payload[KEY_REQUEST_BYTES];
    struct key_request request = { .number = keys.number, .start = keys.session.start };

    if (!keys.waits)
        return;
    if (now_ns >= keys.due_ns) {
        memcpy(request.public, keys.session.node, CURVE_BYTES);
        memcpy(request.name, launchd.name, sizeof(request.name));
        key_request_encode(&request, keys.has_first ? launchd.keys.ticket : NULL, payload);
        wire_send(keys.wire, payload, sizeof(payload)); /* if this fails, it is sent again */
        keys.due_ns = now_ns + keys.pause_ns;
        keys.pause_ns = keys.pause_ns < PAUSE_NS_MAX ? 2 * keys.pause_ns : PAUSE_NS_MAX;
    }
    turn_by(keys.due_ns);
}

void keys_take(const uint8_t *payload, size_t bytes)
{
    struct node_keys taken;

    if (!keys.waits || key_answer_decode(&keys.session, keys.number, payload, bytes, &taken) != BEAT_FINE)
        return;
    keys.waits = false;
    if (keys.has_first)
        keys.next = taken;
    else
        launchd.keys = taken;
    keys.has_next = keys.has_first;
    if (!keys.has_first)
        say("the conductor's keys have come");
    keys.has_first = true;
    wipe(&taken, sizeof(taken));
}

bool keys_reload(void)
{
    struct node_keys taken;
    const char *why = key_file_load_node(keys.path, &taken);

    if (why) {
        say("the key %s: %s; the old keys stay", keys.path, why);
        return false;
    }
    keys.has_next = memcmp(&taken, &launchd.keys, sizeof(taken)) != 0;
    keys.next = taken;
    if (!keys.wire && keys.has_next)
        keys_advance(); /* without beats they count at once */
    wipe(&taken, sizeof(taken));
    return keys.has_next;
}

uint32_t keys_renew(void)
{
    if (keys.path)
        return keys_reload() ? 0 : ENOKEY;
    request_begin();
    return 0;
}

bool keys_have_next(void)
{
    return keys.has_next;
}

int keys_ticket_check(const struct launch_line *line, uint64_t nonce, struct message *why)
{
    int error = launch_ticket_check(line, launchd.has_key ? launchd.keys.ticket : NULL, nonce, launchd.id,
                                    beats_utc_s(), why);

    if (error && keys.has_next)
        error = launch_ticket_check(line, keys.next.ticket, nonce, launchd.id, beats_utc_s(), why);
    return error;
}

void keys_advance(void)
{
    launchd.keys = keys.next;
    keys.has_next = false;
    wipe(&keys.next, sizeof(keys.next));
}

enum beat_fault keys_beat_decode(const struct wire_frame *frame, struct beat *beat, bool *is_next)
{
    enum beat_fault fault = beat_decode(frame->payload, frame->bytes, launchd.keys.beats, frame->from, beat);

    *is_next = fault == BEAT_FORGED && keys.has_next;
    if (*is_next)
        fault = beat_decode(frame->payload, frame->bytes, keys.next.beats, frame->from, beat);
    if (fault == BEAT_FINE)
        keys.heard_ns = clock_now_ns();
    else if (fault == BEAT_FORGED && !keys.path && keys.has_first && clock_now_ns() - keys.heard_ns > LOST_NS)
        request_begin();
    return fault;
}
