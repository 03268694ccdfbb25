/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * byte_queue.h: bytes of a stream, in pieces of memory that are allocated as bytes come and freed as they go;
 * the last one is kept. One end appends, the other consumes. The network's lock guards the queue, but not the
 * copies of its bytes. The only consumer copies bytes at the beginning. The only producer writes into the
 * room at the end, before it says how many bytes it has added.
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
    uint32_t first_at, last_at; /* where the bytes begin in `first`, and end in `last` */
    uint64_t bytes;
};

/* A place among a queue's bytes: `piece` NULL is the beginning. */
struct byte_place {
    struct byte_piece *piece;
    uint32_t at;
};

/* Returns how many contiguous bytes can be written to *to, at the end; 0 if there is no memory. */
uint32_t byte_queue_room(struct byte_queue *queue, char **to);
/* Adds `bytes` bytes that have been written there. */
void byte_queue_added(struct byte_queue *queue, uint32_t bytes);

/* Returns how many contiguous bytes there are at a place, from *from on; 0 at the end. */
uint32_t byte_queue_at(const struct byte_queue *queue, struct byte_place *place, char **from);

/* Reserves memory for `bytes` more bytes. Returns false if there is not enough. */
bool byte_queue_reserve(struct byte_queue *queue, uint32_t bytes);
/* Appends a copy. Returns how many bytes: fewer if memory runs out. */
uint32_t byte_queue_append(struct byte_queue *queue, const void *bytes, uint32_t count);

/* Returns whether the last byte that was added ends a line, or there has been none. */
bool byte_queue_ends_line(const struct byte_queue *queue);

/* Removes bytes at the beginning. Places taken before are void. */
void byte_queue_consume(struct byte_queue *queue, uint64_t bytes);
void byte_queue_free(struct byte_queue *queue);

#endif
