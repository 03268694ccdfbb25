/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * byte_queue.h: bytes of a stream on their way, in pieces of memory that are allocated as bytes come and
 * freed as they go; the last one is kept. One end appends, the other consumes. The network's lock guards it;
 * but bytes themselves are copied without: those at the beginning by the only one who consumes, and room at
 * the end by the only one who appends, before it says how many they are.
 */
#ifndef TACET_NETWORK_BYTE_QUEUE_H
#define TACET_NETWORK_BYTE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define BYTE_PIECE_BYTES 4016 /* with a pointer and what memory.c puts before it, within a page */

struct byte_piece {
    struct byte_piece *next;
    char bytes[BYTE_PIECE_BYTES];
};

struct byte_queue {
    struct byte_piece *first, *last;
    uint32_t first_at, last_at; /* where in these bytes begin and end */
    uint64_t bytes;
};

/* A place among a queue's bytes: `piece` NULL is the beginning. */
struct byte_place {
    struct byte_piece *piece;
    uint32_t at;
};

/* Room at the end: how many bytes contiguous, 0 where there is no memory; *to is where. */
uint32_t byte_queue_room(struct byte_queue *queue, char **to);
/* So many have been put there. */
void byte_queue_added(struct byte_queue *queue, uint32_t bytes);

/* Bytes at a place: how many contiguous, 0 at the end; *from is where. */
uint32_t byte_queue_at(const struct byte_queue *queue, struct byte_place *place, char **from);

/* Memory for so many more; false where there is not enough. */
bool byte_queue_reserve(struct byte_queue *queue, uint32_t bytes);
/* Appends, copying. How many: fewer where memory ends. */
uint32_t byte_queue_append(struct byte_queue *queue, const void *bytes, uint32_t count);

/* Removes at the beginning. Places before are void. */
void byte_queue_consume(struct byte_queue *queue, uint64_t bytes);
void byte_queue_free(struct byte_queue *queue);

#endif
