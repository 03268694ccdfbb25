/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_frame.c: see key_frame.h. Numbers are in network byte order.
 */
#include "beat/key_frame.h"
#include "lib/bytes.h"

enum {
    REQUEST_AT_NUMBER = 4,
    REQUEST_AT_START = 8,
    REQUEST_AT_PUBLIC = 16,
    REQUEST_AT_NAME = 48,
    REQUEST_AT_PROOF = 80
};
enum { ANSWER_AT_NUMBER = 4, ANSWER_AT_NONCE = 8, ANSWER_AT_KEYS = 20, ANSWER_AT_TAG = 52 };

_Static_assert(REQUEST_AT_NAME + ANSWER_NAME_BYTES == REQUEST_AT_PROOF &&
                   REQUEST_AT_PROOF + SIPHASH_128_BYTES == KEY_REQUEST_BYTES,
               "the proof follows the name, and ends a request");
_Static_assert(ANSWER_AT_KEYS + sizeof(struct node_keys) == ANSWER_AT_TAG &&
                   ANSWER_AT_TAG + SEAL_TAG_BYTES == KEY_ANSWER_BYTES,
               "the keys and the tag end an answer");

/* Checks version, kind and length of a frame of fixed length. */
static enum beat_fault head_check(const uint8_t *payload, size_t bytes, enum beat_kind kind, size_t whole)
{
    if (bytes < whole)
        return BEAT_TRUNCATED;
    if (payload[0] != BEAT_VERSION)
        return BEAT_OTHER_VERSION;
    if (payload[1] != kind)
        return BEAT_OTHER_KIND;
    return load_be16(payload + 2) == whole ? BEAT_FINE : BEAT_TRUNCATED;
}

/* ---- Requests ---- */

void key_request_encode(const struct key_request *request, const uint8_t *ticket,
                        uint8_t payload[KEY_REQUEST_BYTES])
{
    __builtin_memset(payload, 0, KEY_REQUEST_BYTES);
    beat_head_write(payload, BEAT_KIND_KEY_REQUEST, KEY_REQUEST_BYTES);
    store_be(payload + REQUEST_AT_NUMBER, 4, request->number);
    store_be(payload + REQUEST_AT_START, 8, request->start);
    __builtin_memcpy(payload + REQUEST_AT_PUBLIC, request->public, CURVE_BYTES);
    __builtin_memcpy(payload + REQUEST_AT_NAME, request->name, ANSWER_NAME_BYTES);
    if (ticket)
        siphash_128(payload + REQUEST_AT_PROOF, ticket, payload, REQUEST_AT_PROOF);
}

bool key_request_proves(const uint8_t payload[KEY_REQUEST_BYTES], const uint8_t ticket[KEY_BYTES])
{
    uint8_t proof[SIPHASH_128_BYTES], differs = 0;

    siphash_128(proof, ticket, payload, REQUEST_AT_PROOF);
    for (unsigned i = 0; i < sizeof(proof); i++)
        differs |= proof[i] ^ payload[REQUEST_AT_PROOF + i];
    return differs == 0;
}

enum beat_fault key_request_decode(const uint8_t *payload, size_t bytes, struct key_request *request)
{
    const enum beat_fault fault = head_check(payload, bytes, BEAT_KIND_KEY_REQUEST, KEY_REQUEST_BYTES);

    if (fault != BEAT_FINE)
        return fault;
    request->number = load_be32(payload + REQUEST_AT_NUMBER);
    request->start = load_be64(payload + REQUEST_AT_START);
    __builtin_memcpy(request->public, payload + REQUEST_AT_PUBLIC, CURVE_BYTES);
    __builtin_memcpy(request->name, payload + REQUEST_AT_NAME, ANSWER_NAME_BYTES);
    return request->number && answer_name_is_fine(request->name) ? BEAT_FINE : BEAT_ABSURD;
}

/* ---- Answers ---- */

/* What the tag covers in clear: the head of the payload with the number, then the rest of the session. */
struct bound {
    uint8_t head[ANSWER_AT_NONCE];
    uint8_t node[CURVE_BYTES], conductor[CURVE_BYTES], address[BEAT_ADDRESS_BYTES], start[8];
};

static void bound_make(struct bound *bound, const struct key_session *session, uint32_t number)
{
    beat_head_write(bound->head, BEAT_KIND_KEY_ANSWER, KEY_ANSWER_BYTES);
    store_be(bound->head + ANSWER_AT_NUMBER, 4, number);
    __builtin_memcpy(bound->node, session->node, CURVE_BYTES);
    __builtin_memcpy(bound->conductor, session->conductor, CURVE_BYTES);
    __builtin_memcpy(bound->address, session->address, BEAT_ADDRESS_BYTES);
    store_be(bound->start, 8, session->start);
}

void key_answer_encode(const struct key_session *session, uint32_t number, const struct node_keys *keys,
                       const uint8_t nonce[SEAL_NONCE_BYTES], uint8_t payload[KEY_ANSWER_BYTES])
{
    struct bound bound;

    bound_make(&bound, session, number);
    __builtin_memcpy(payload, bound.head, sizeof(bound.head));
    __builtin_memcpy(payload + ANSWER_AT_NONCE, nonce, SEAL_NONCE_BYTES);
    __builtin_memcpy(payload + ANSWER_AT_KEYS, keys, sizeof(*keys));
    seal(session->key, nonce, &bound, sizeof(bound), payload + ANSWER_AT_KEYS, sizeof(*keys),
         payload + ANSWER_AT_TAG);
}

enum beat_fault key_answer_decode(const struct key_session *session, uint32_t number, const uint8_t *payload,
                                  size_t bytes, struct node_keys *keys)
{
    const enum beat_fault fault = head_check(payload, bytes, BEAT_KIND_KEY_ANSWER, KEY_ANSWER_BYTES);
    struct bound bound;

    if (fault != BEAT_FINE)
        return fault;
    bound_make(&bound, session, number);
    __builtin_memcpy(keys, payload + ANSWER_AT_KEYS, sizeof(*keys));
    return load_be32(payload + ANSWER_AT_NUMBER) == number &&
                   unseal(session->key, payload + ANSWER_AT_NONCE, &bound, sizeof(bound), keys, sizeof(*keys),
                          payload + ANSWER_AT_TAG)
               ? BEAT_FINE
               : BEAT_FORGED;
}

void fingerprint_print(const uint8_t public[CURVE_BYTES], char text[FINGERPRINT_BYTES])
{
    for (unsigned i = 0; i < 20; i++) {
        *text++ = "0123456789abcdef"[public[i / 2] >> (i % 2 ? 0 : 4) & 15];
        if (i % 5 == 4)
            *text++ = i == 19 ? '\0' : '-';
    }
}
