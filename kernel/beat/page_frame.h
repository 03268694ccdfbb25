/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_frame.h: a part of a node's held flight log (log_page.h) on its way to the conductor: frames of
 * NETTICK's third kind (beat_frame.h), sent in answer to a BEAT_PAGE. Portable C, for senders and receivers
 * alike. docs/nettick.md has the format byte by byte.
 */
#ifndef TACET_PAGE_FRAME_H
#define TACET_PAGE_FRAME_H

#include "beat/beat_frame.h"

#define PAGE_HEADER_BYTES  72
#define PAGE_DATA_BYTES    1408 /* at most: 44 events */
#define PAGE_FRAME_BYTES   (PAGE_HEADER_BYTES + PAGE_DATA_BYTES + BEAT_END_BYTES)
#define PAGE_COUNT_MAX     8           /* pages of one BEAT_PAGE */
#define PAGE_LOG_BYTES_MAX (64U << 20) /* length of a whole log */
#define PAGE_REQUEST_BYTES 16          /* length of a BEAT_PAGE's body */

struct page {
    uint32_t number;              /* number of the command that asks for this page */
    uint64_t epoch;               /* the asking conductor's epoch */
    uint64_t start;               /* the node's start, as in its answers */
    uint64_t sequence;            /* of the beat at which the log was held; 0: it is not held */
    uint64_t local_ns, global_ns; /* the same moment, of the hold, on the node's clock and the conductor's */
    int64_t drift;       /* by how much the conductor's clock runs faster than the node's, in 2^-32 */
    uint64_t offset;     /* offset of the frame's bytes in the log's file */
    uint64_t size;       /* of the whole file; 0: the log is not held */
    uint16_t bytes;      /* number of bytes in this frame; 0: the offset is the file's end */
    const uint8_t *data; /* the bytes, in the frame */
};

/* Writes a frame's payload around its data, which must be there already, PAGE_HEADER_BYTES after the
 * beginning. Returns the payload's bytes. */
size_t page_encode(const struct page *page, const uint8_t key[SIPHASH_KEY_BYTES],
                   const uint8_t sender[BEAT_ADDRESS_BYTES], uint8_t payload[PAGE_FRAME_BYTES]);

/* Reads a payload from `sender`. *page is valid after BEAT_FINE only, and its data as long as the payload is.
 */
enum beat_fault page_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                            const uint8_t sender[BEAT_ADDRESS_BYTES], struct page *page);

#endif
