/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_frame.c: see page_frame.h. Numbers are in network byte order.
 */
#include "beat/page_frame.h"
#include "lib/bytes.h"

enum {
    AT_NUMBER = 4,
    AT_EPOCH = 8,
    AT_START = 16,
    AT_SEQUENCE = 24,
    AT_LOCAL = 32,
    AT_GLOBAL = 40,
    AT_DRIFT = 48,
    AT_OFFSET = 56,
    AT_SIZE = 64,
    AT_DATA = 72
};

_Static_assert(AT_DATA == PAGE_HEADER_BYTES && PAGE_FRAME_BYTES <= BEAT_BYTES_MAX, "a page fits a frame");

size_t page_encode(const struct page *page, const uint8_t key[SIPHASH_KEY_BYTES],
                   const uint8_t sender[BEAT_ADDRESS_BYTES], uint8_t payload[PAGE_FRAME_BYTES])
{
    const size_t bytes = PAGE_HEADER_BYTES + page->bytes + BEAT_END_BYTES;

    beat_head_write(payload, BEAT_KIND_PAGE, bytes);
    store_be(payload + AT_NUMBER, 4, page->number);
    store_be(payload + AT_EPOCH, 8, page->epoch);
    store_be(payload + AT_START, 8, page->start);
    store_be(payload + AT_SEQUENCE, 8, page->sequence);
    store_be(payload + AT_LOCAL, 8, page->local_ns);
    store_be(payload + AT_GLOBAL, 8, page->global_ns);
    store_be(payload + AT_DRIFT, 8, (uint64_t)page->drift);
    store_be(payload + AT_OFFSET, 8, page->offset);
    store_be(payload + AT_SIZE, 8, page->size);
    beat_end_write(payload, bytes, key, sender);
    return bytes;
}

enum beat_fault page_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                            const uint8_t sender[BEAT_ADDRESS_BYTES], struct page *page)
{
    size_t whole;
    const enum beat_fault fault =
        beat_head_check(payload, bytes, BEAT_KIND_PAGE, PAGE_HEADER_BYTES + BEAT_END_BYTES, PAGE_FRAME_BYTES,
                        key, sender, &whole);

    if (fault != BEAT_FINE)
        return fault;
    page->number = load_be32(payload + AT_NUMBER);
    page->epoch = load_be64(payload + AT_EPOCH);
    page->start = load_be64(payload + AT_START);
    page->sequence = load_be64(payload + AT_SEQUENCE);
    page->local_ns = load_be64(payload + AT_LOCAL);
    page->global_ns = load_be64(payload + AT_GLOBAL);
    page->drift = (int64_t)load_be64(payload + AT_DRIFT);
    page->offset = load_be64(payload + AT_OFFSET);
    page->size = load_be64(payload + AT_SIZE);
    page->bytes = (uint16_t)(whole - PAGE_HEADER_BYTES - BEAT_END_BYTES);
    page->data = payload + AT_DATA;
    const bool fits = page->size <= PAGE_LOG_BYTES_MAX && page->offset <= page->size &&
                      page->bytes <= page->size - page->offset;
    return page->number && page->epoch && fits && !page->size == !page->sequence &&
                   !page->bytes == (page->offset == page->size)
               ? BEAT_FINE
               : BEAT_ABSURD;
}
