/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_beat_frame.c: decodes any bytes as the payload of a beat, an answer, a page, a request for keys and
 * its answer: unchanged, and with the right sender and tag, to reach the checks after the tag's. A payload
 * that is accepted and encoded again must decode to the same.
 */
#include "fuzz.h"
#include "beat/answer_frame.h"
#include "beat/key_frame.h"
#include "beat/page_frame.h"
#include <string.h>

static const uint8_t key[SIPHASH_KEY_BYTES] = { 42 };
static const uint8_t sender[BEAT_ADDRESS_BYTES] = { 2, 84, 0, 0, 0, 1 };

static void tag(uint8_t *payload, size_t bytes)
{
    memcpy(payload + bytes - BEAT_END_BYTES, sender, sizeof(sender));
    uint64_t value = siphash(key, payload, bytes - BEAT_TAG_BYTES);

    for (unsigned i = 0; i < BEAT_TAG_BYTES; i++)
        payload[bytes - 1 - i] = (uint8_t)(value >> 8 * i);
}

/* Tries the bytes as an answer. The printable name must fit on a line. */
static void try_answer(const uint8_t *data, size_t bytes)
{
    uint8_t payload[BEAT_BYTES_MAX], again[ANSWER_BYTES];
    struct answer answer, second;

    memset(&answer, 0, sizeof(answer));
    memset(&second, 0, sizeof(second));
    answer_decode(data, bytes, key, sender, &answer);
    if (bytes < ANSWER_BYTES)
        return;
    memcpy(payload, data, bytes);
    tag(payload, ANSWER_BYTES);
    memset(&answer, 0, sizeof(answer));
    if (answer_decode(payload, bytes, key, sender, &answer) != BEAT_FINE)
        return;
    for (unsigned i = 0; answer.name[i]; i++)
        PROMISE(i < ANSWER_NAME_BYTES - 1 && answer.name[i] > ' ' && answer.name[i] < 0x7f);
    answer_encode(&answer, key, sender, again);
    PROMISE(answer_decode(again, sizeof(again), key, sender, &second) == BEAT_FINE);
    PROMISE(memcmp(&answer, &second, sizeof(answer)) == 0);
}

/* Tries the bytes as a page. Its data must lie inside the frame, and inside the file. */
static void try_page(const uint8_t *data, size_t bytes)
{
    uint8_t payload[BEAT_BYTES_MAX], again[PAGE_FRAME_BYTES];
    struct page page, second;

    memset(&page, 0, sizeof(page));
    memset(&second, 0, sizeof(second));
    page_decode(data, bytes, key, sender, &page);
    memcpy(payload, data, bytes);
    if (bytes >= PAGE_HEADER_BYTES + BEAT_END_BYTES) {
        size_t whole = (size_t)payload[2] << 8 | payload[3];

        if (whole <= bytes && whole >= PAGE_HEADER_BYTES + BEAT_END_BYTES)
            tag(payload, whole);
    }
    memset(&page, 0, sizeof(page));
    if (page_decode(payload, bytes, key, sender, &page) != BEAT_FINE)
        return;
    PROMISE(page.bytes <= PAGE_DATA_BYTES && page.data + page.bytes + BEAT_END_BYTES <= payload + bytes);
    PROMISE(page.size <= PAGE_LOG_BYTES_MAX && page.offset + page.bytes <= page.size);
    memcpy(again + PAGE_HEADER_BYTES, page.data, page.bytes);
    const size_t written = page_encode(&page, key, sender, again);
    PROMISE(page_decode(again, written, key, sender, &second) == BEAT_FINE);
    PROMISE(memcmp(page.data, second.data, page.bytes) == 0);
    second.data = page.data;
    PROMISE(memcmp(&page, &second, sizeof(page)) == 0);
}

/* Tries the bytes as a request for keys. */
static void try_key_request(const uint8_t *data, size_t bytes)
{
    uint8_t again[KEY_REQUEST_BYTES];
    struct key_request request;

    memset(&request, 0, sizeof(request));
    if (key_request_decode(data, bytes, &request) != BEAT_FINE)
        return;
    for (unsigned i = 0; request.name[i]; i++)
        PROMISE(i < ANSWER_NAME_BYTES - 1 && request.name[i] > ' ' && request.name[i] < 0x7f);
    key_request_encode(&request, NULL, again);
    PROMISE(memcmp(data, again, sizeof(again) - SIPHASH_128_BYTES) == 0);
}

/* Tries the bytes as an answer with keys: only one that the conductor made gives any. */
static void try_key_answer(const uint8_t *data, size_t bytes)
{
    static const struct key_session session = { .key = { 42 } };
    const struct node_keys keys = { { 1 }, { 2 } };
    uint8_t whole[KEY_ANSWER_BYTES];
    struct node_keys read;

    if (bytes < KEY_ANSWER_BYTES) {
        PROMISE(key_answer_decode(&session, 1, data, bytes, &read) == BEAT_TRUNCATED);
        return;
    }
    key_answer_encode(&session, 1, &keys, data + 8, whole);
    PROMISE((key_answer_decode(&session, 1, data, bytes, &read) == BEAT_FINE) ==
            (memcmp(data, whole, sizeof(whole)) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t payload[BEAT_BYTES_MAX], again[BEAT_BYTES_MAX];
    struct beat beat, second;

    if (bytes > sizeof(payload))
        return 0;
    try_answer(data, bytes);
    try_page(data, bytes);
    try_key_request(data, bytes);
    try_key_answer(data, bytes);
    memset(&beat, 0, sizeof(beat));
    memset(&second, 0, sizeof(second));
    beat_decode(data, bytes, key, sender, &beat);
    memcpy(payload, data, bytes);
    if (bytes >= BEAT_HEADER_BYTES + BEAT_END_BYTES) {
        size_t whole = (size_t)payload[2] << 8 | payload[3];

        if (whole <= bytes && whole >= BEAT_HEADER_BYTES + BEAT_END_BYTES)
            tag(payload, whole);
    }
    memset(&beat, 0, sizeof(beat));
    if (beat_decode(payload, bytes, key, sender, &beat) != BEAT_FINE)
        return 0;
    size_t written = beat_encode(&beat, key, sender, again, sizeof(again));
    PROMISE(written > 0 && written <= bytes);
    PROMISE(beat_decode(again, written, key, sender, &second) == BEAT_FINE);
    PROMISE(memcmp(&beat, &second, sizeof(beat)) == 0);
    return 0;
}
