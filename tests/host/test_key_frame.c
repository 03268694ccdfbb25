/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_key_frame.c: requests for keys and their answers as frames: what is written is read again, and an
 * answer that was cut or changed, or that is for another node, start, request or conductor, gives no keys.
 */
#define _GNU_SOURCE
#include "check.h"
#include "beat/key_frame.h"
#include <string.h>

static uint64_t seed = 36;

static void fill(void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)check_random(&seed);
}

static struct key_request some_request(void)
{
    struct key_request request;

    memset(&request, 0, sizeof(request));
    fill(&request.start, sizeof(request.start));
    fill(request.public, sizeof(request.public));
    request.number = 1 + (uint32_t)check_random(&seed) % UINT32_MAX;
    snprintf(request.name, sizeof(request.name), "node%u", request.number % 1000);
    return request;
}

TEST(a_request_is_read_as_it_was_written)
{
    uint8_t payload[KEY_REQUEST_BYTES + 20];

    for (unsigned round = 0; round < 1000; round++) {
        const struct key_request request = some_request();
        struct key_request read;

        memset(&read, 0, sizeof(read));
        key_request_encode(&request, NULL, payload);
        CHECK_EQUAL(key_request_decode(payload, KEY_REQUEST_BYTES + round % 20, &read), BEAT_FINE);
        CHECK_EQUAL(memcmp(&read, &request, sizeof(read)), 0);
    }
}

TEST(a_request_that_no_node_sends_is_refused)
{
    uint8_t payload[KEY_REQUEST_BYTES];
    struct key_request request = some_request(), read;

    key_request_encode(&request, NULL, payload);
    for (size_t bytes = 0; bytes < KEY_REQUEST_BYTES; bytes++)
        CHECK_EQUAL(key_request_decode(payload, bytes, &read), BEAT_TRUNCATED);
    payload[0]++;
    CHECK_EQUAL(key_request_decode(payload, sizeof(payload), &read), BEAT_OTHER_VERSION);
    payload[0]--;
    payload[1] = BEAT_KIND_KEY_ANSWER;
    CHECK_EQUAL(key_request_decode(payload, sizeof(payload), &read), BEAT_OTHER_KIND);
    payload[1] = BEAT_KIND_KEY_REQUEST;
    payload[3]--;
    CHECK_EQUAL(key_request_decode(payload, sizeof(payload), &read), BEAT_TRUNCATED);
    request.name[0] = '\033';
    key_request_encode(&request, NULL, payload);
    CHECK_EQUAL(key_request_decode(payload, sizeof(payload), &read), BEAT_ABSURD);
    request = some_request();
    request.number = 0;
    key_request_encode(&request, NULL, payload);
    CHECK_EQUAL(key_request_decode(payload, sizeof(payload), &read), BEAT_ABSURD);
}

TEST(only_the_key_for_tickets_proves_a_request)
{
    const uint8_t ticket[KEY_BYTES] = { 1, 2, 3 };
    uint8_t other[KEY_BYTES] = { 1, 2, 4 }, payload[KEY_REQUEST_BYTES];
    const struct key_request request = some_request();
    struct key_request read;

    key_request_encode(&request, NULL, payload);
    CHECK(!key_request_proves(payload, ticket));
    key_request_encode(&request, ticket, payload);
    CHECK_EQUAL(key_request_decode(payload, sizeof(payload), &read), BEAT_FINE);
    CHECK(key_request_proves(payload, ticket) && !key_request_proves(payload, other));
    for (size_t bit = 0; bit < 8 * KEY_REQUEST_BYTES; bit++) {
        payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(!key_request_proves(payload, ticket));
        payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static struct key_session some_session(void)
{
    struct key_session session;

    memset(&session, 0, sizeof(session));
    fill(session.node, sizeof(session.node));
    fill(session.conductor, sizeof(session.conductor));
    fill(session.address, sizeof(session.address));
    fill(&session.start, sizeof(session.start));
    fill(session.key, sizeof(session.key));
    return session;
}

TEST(an_answer_has_the_keys_and_does_not_show_them)
{
    uint8_t payload[KEY_ANSWER_BYTES + 20], nonce[SEAL_NONCE_BYTES];

    for (unsigned round = 0; round < 200; round++) {
        const struct key_session session = some_session();
        struct node_keys keys, read;

        fill(&keys, sizeof(keys));
        fill(nonce, sizeof(nonce));
        key_answer_encode(&session, 1 + round, &keys, nonce, payload);
        CHECK(!memmem(payload, KEY_ANSWER_BYTES, keys.beats, sizeof(keys.beats)));
        CHECK(!memmem(payload, KEY_ANSWER_BYTES, keys.ticket, sizeof(keys.ticket)));
        CHECK_EQUAL(key_answer_decode(&session, 1 + round, payload, KEY_ANSWER_BYTES + round % 20, &read),
                    BEAT_FINE);
        CHECK_EQUAL(memcmp(&read, &keys, sizeof(keys)), 0);
    }
}

TEST(an_answer_that_was_cut_or_changed_is_refused)
{
    uint8_t payload[KEY_ANSWER_BYTES], nonce[SEAL_NONCE_BYTES] = { 7 };
    const struct key_session session = some_session();
    struct node_keys keys = { { 1 }, { 2 } }, read;

    key_answer_encode(&session, 5, &keys, nonce, payload);
    for (size_t bytes = 0; bytes < KEY_ANSWER_BYTES; bytes++)
        CHECK_EQUAL(key_answer_decode(&session, 5, payload, bytes, &read), BEAT_TRUNCATED);
    for (size_t bit = 0; bit < 8 * KEY_ANSWER_BYTES; bit++) {
        payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(key_answer_decode(&session, 5, payload, sizeof(payload), &read) != BEAT_FINE);
        payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_EQUAL(key_answer_decode(&session, 5, payload, sizeof(payload), &read), BEAT_FINE);
}

TEST(an_answer_to_another_session_or_request_is_forged)
{
    uint8_t payload[KEY_ANSWER_BYTES], nonce[SEAL_NONCE_BYTES] = { 7 };
    const struct key_session session = some_session();
    struct node_keys keys = { { 1 }, { 2 } }, read;

    key_answer_encode(&session, 5, &keys, nonce, payload);
    CHECK_EQUAL(key_answer_decode(&session, 4, payload, sizeof(payload), &read), BEAT_FORGED);
    payload[7] = 4; /* its number is not all */
    CHECK_EQUAL(key_answer_decode(&session, 4, payload, sizeof(payload), &read), BEAT_FORGED);
    payload[7] = 5;
    for (size_t at = 0; at < sizeof(session); at++) {
        struct key_session other = session;

        ((uint8_t *)&other)[at] ^= 1;
        if (at >= offsetof(struct key_session, address) + BEAT_ADDRESS_BYTES &&
            at < offsetof(struct key_session, start))
            continue; /* between the members */
        CHECK_EQUAL(key_answer_decode(&other, 5, payload, sizeof(payload), &read), BEAT_FORGED);
    }
}

TEST(a_fingerprint_is_the_beginning_of_the_public_key)
{
    uint8_t public[CURVE_BYTES] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45 };
    char text[FINGERPRINT_BYTES];

    fingerprint_print(public, text);
    CHECK_TEXT(text, "01234-56789-abcde-f0123");
}

int main(void)
{
    RUN(a_request_is_read_as_it_was_written);
    RUN(a_request_that_no_node_sends_is_refused);
    RUN(only_the_key_for_tickets_proves_a_request);
    RUN(an_answer_has_the_keys_and_does_not_show_them);
    RUN(an_answer_that_was_cut_or_changed_is_refused);
    RUN(an_answer_to_another_session_or_request_is_forged);
    RUN(a_fingerprint_is_the_beginning_of_the_public_key);
    return check_report("key frame");
}
