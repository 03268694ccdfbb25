/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_page_frame.c: pages of flight logs as frames: what is written is read again, nothing that was cut or
 * changed passes, what no node sends is refused, and no kind of frame passes for another.
 */
#include "check.h"
#include "beat/answer_frame.h"
#include "beat/page_frame.h"
#include <string.h>

static const uint8_t key[SIPHASH_KEY_BYTES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const uint8_t sender[BEAT_ADDRESS_BYTES] = { 2, 84, 0, 0, 0, 1 };
static uint64_t seed = 19;

static uint64_t any(void)
{
    return check_random(&seed);
}

static struct page some_page(uint8_t payload[PAGE_FRAME_BYTES])
{
    struct page page;

    memset(&page, 0, sizeof(page));
    page.number = 1 + (uint32_t)any() % UINT32_MAX;
    page.epoch = 1 + any() % INT64_MAX;
    page.start = any();
    page.sequence = 1 + any() % INT64_MAX;
    page.local_ns = any();
    page.global_ns = any();
    page.drift = (int64_t)any();
    page.bytes = (uint16_t)(1 + any() % PAGE_DATA_BYTES);
    page.size = page.bytes + any() % (PAGE_LOG_BYTES_MAX - page.bytes + 1);
    page.offset = any() % (page.size - page.bytes + 1);
    page.data = payload + PAGE_HEADER_BYTES;
    for (unsigned i = 0; i < page.bytes; i++)
        payload[PAGE_HEADER_BYTES + i] = (uint8_t)any();
    return page;
}

TEST(a_page_is_read_as_it_was_written)
{
    uint8_t payload[PAGE_FRAME_BYTES + 20], data[PAGE_DATA_BYTES];

    for (unsigned round = 0; round < 2000; round++) {
        struct page page = some_page(payload), read;

        memset(&read, 0, sizeof(read));
        memcpy(data, page.data, page.bytes);
        const size_t bytes = page_encode(&page, key, sender, payload);
        CHECK_EQUAL(bytes, PAGE_HEADER_BYTES + page.bytes + BEAT_END_BYTES);
        CHECK_EQUAL(page_decode(payload, bytes + any() % 20, key, sender, &read), BEAT_FINE);
        CHECK_EQUAL(memcmp(&read, &page, sizeof(page)), 0);
        CHECK_EQUAL(memcmp(read.data, data, page.bytes), 0);
    }
}

TEST(what_is_cut_or_changed_is_refused)
{
    uint8_t payload[PAGE_FRAME_BYTES];
    struct page page = some_page(payload), read;

    page.bytes = 100;
    page.size = page.offset + 200;
    const size_t whole = page_encode(&page, key, sender, payload);
    for (size_t bytes = 0; bytes < whole; bytes++)
        CHECK_EQUAL(page_decode(payload, bytes, key, sender, &read), BEAT_TRUNCATED);
    for (unsigned bit = 0; bit < 8 * whole; bit++) {
        payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
        enum beat_fault fault = page_decode(payload, whole, key, sender, &read);
        /* A shorter length may be one that a page can have: its tag stands elsewhere then. */
        CHECK(fault == (bit < 8    ? BEAT_OTHER_VERSION
                        : bit < 16 ? BEAT_OTHER_KIND
                                   : BEAT_FORGED) ||
              (bit >= 16 && bit < 32 && fault == BEAT_TRUNCATED));
        payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK_EQUAL(page_decode(payload, whole, key, (const uint8_t[]){ 2, 84, 0, 0, 0, 2 }, &read), BEAT_FORGED);
    uint8_t other_key[SIPHASH_KEY_BYTES] = { 1 };
    CHECK_EQUAL(page_decode(payload, whole, other_key, sender, &read), BEAT_FORGED);
}

/* One thing each that no node sends, under the right tag. */
TEST(an_absurd_page_is_refused)
{
    uint8_t payload[PAGE_FRAME_BYTES];
    struct page read;

    for (unsigned what = 0; what < 9; what++) {
        struct page page = some_page(payload);

        page.bytes = 10;
        page.size = page.offset + 20;
        switch (what) {
        case 0:
            page.number = 0;
            break;
        case 1:
            page.epoch = 0;
            break;
        case 2:
            page.size = PAGE_LOG_BYTES_MAX + 1;
            break;
        case 3:
            page.offset = page.size + 1;
            break;
        case 4:
            page.offset = page.size - 9;
            break;
        case 5:
            page.offset = UINT64_MAX - 3;
            break;
        case 6:
            page.sequence = 0;
            break;
        case 7:
            page.bytes = 0;
            break;
        case 8:
            page.size = 0, page.offset = 0, page.bytes = 0;
            break;
        }
        CHECK_EQUAL(page_decode(payload, page_encode(&page, key, sender, payload), key, sender, &read),
                    BEAT_ABSURD);
    }
    struct page none = some_page(payload);
    none.sequence = none.size = none.offset = none.bytes = 0; /* its log is not held */
    CHECK_EQUAL(page_decode(payload, page_encode(&none, key, sender, payload), key, sender, &read),
                BEAT_FINE);
}

TEST(a_page_is_neither_a_beat_nor_an_answer)
{
    uint8_t payload[PAGE_FRAME_BYTES];
    struct page page = some_page(payload);
    struct answer answer = { .state = 1, .cpus = 1, .epoch = 1, .sequence = 1 };
    struct beat beat;

    page.bytes = 200;
    page.size = page.offset + 200;
    const size_t bytes = page_encode(&page, key, sender, payload);
    CHECK_EQUAL(beat_decode(payload, bytes, key, sender, &beat), BEAT_OTHER_KIND);
    CHECK_EQUAL(answer_decode(payload, bytes, key, sender, &answer), BEAT_OTHER_KIND);
    answer = (struct answer){ .state = 1, .cpus = 1, .epoch = 1, .sequence = 1 };
    answer_encode(&answer, key, sender, payload);
    CHECK_EQUAL(page_decode(payload, ANSWER_BYTES, key, sender, &page), BEAT_OTHER_KIND);
}

int main(void)
{
    RUN(a_page_is_read_as_it_was_written);
    RUN(what_is_cut_or_changed_is_refused);
    RUN(an_absurd_page_is_refused);
    RUN(a_page_is_neither_a_beat_nor_an_answer);
    return check_report("page_frame");
}
