/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * byte_queue.c: see byte_queue.h. The caller has said which account pays for memory (network_account_use).
 */
#include "net/byte_queue.h"
#include "lib/kstring.h"
#include "lib/list.h"
#include "mm/page.h"
#include "net/memory.h"

/* Returns the piece after this one, or a new one if there is none: pieces that are reserved may follow
 * `last`. */
static struct byte_piece *piece_after(struct byte_queue *queue, struct byte_piece *piece)
{
    struct byte_piece **link = piece ? &piece->next : &queue->first;

    if (!*link) {
        *link = network_allocate(sizeof(**link));
        if (*link)
            (*link)->next = NULL;
    }
    return *link;
}

uint32_t byte_queue_room(struct byte_queue *queue, char **to)
{
    if (!queue->last || queue->last_at == BYTE_PIECE_BYTES) {
        struct byte_piece *piece = piece_after(queue, queue->last);

        if (!piece)
            return 0;
        queue->last = piece;
        queue->last_at = 0;
    }
    *to = queue->last->bytes + queue->last_at;
    return BYTE_PIECE_BYTES - queue->last_at;
}

void byte_queue_added(struct byte_queue *queue, uint32_t bytes)
{
    queue->last_at += bytes;
    queue->bytes += bytes;
}

uint32_t byte_queue_at(const struct byte_queue *queue, struct byte_place *place, char **from)
{
    if (!place->piece) {
        place->piece = queue->first;
        place->at = queue->first_at;
    }
    if (!place->piece)
        return 0;
    if (place->piece != queue->last && place->at == BYTE_PIECE_BYTES) {
        place->piece = place->piece->next;
        place->at = 0;
    }
    *from = place->piece->bytes + place->at;
    return (place->piece == queue->last ? queue->last_at : BYTE_PIECE_BYTES) - place->at;
}

bool byte_queue_reserve(struct byte_queue *queue, uint32_t bytes)
{
    struct byte_piece *piece = queue->last;
    uint32_t room = piece ? BYTE_PIECE_BYTES - queue->last_at : 0;

    while (room < bytes) {
        piece = piece_after(queue, piece);
        if (!piece)
            return false;
        room += BYTE_PIECE_BYTES;
    }
    return true;
}

uint32_t byte_queue_append(struct byte_queue *queue, const void *bytes, uint32_t count)
{
    uint32_t done = 0, room;
    char *to;

    while (done < count && (room = byte_queue_room(queue, &to)) > 0) {
        uint32_t part = (uint32_t)smaller(room, count - done);

        memcpy(to, (const char *)bytes + done, part);
        byte_queue_added(queue, part);
        done += part;
    }
    return done;
}

bool byte_queue_ends_line(const struct byte_queue *queue)
{
    /* The last byte stays in its piece, also when it has been consumed. */
    return !queue->last || queue->last_at == 0 || queue->last->bytes[queue->last_at - 1] == '\n';
}

void byte_queue_consume(struct byte_queue *queue, uint64_t bytes)
{
    SELF_CHECK(bytes <= queue->bytes);
    queue->bytes -= bytes;
    while (bytes > 0 || (queue->first != queue->last && queue->first_at == BYTE_PIECE_BYTES)) {
        struct byte_piece *first = queue->first;
        uint32_t end = first == queue->last ? queue->last_at : BYTE_PIECE_BYTES;
        uint32_t part = (uint32_t)smaller(end - queue->first_at, bytes);

        queue->first_at += part;
        bytes -= part;
        if (first == queue->last)
            return;
        if (queue->first_at == BYTE_PIECE_BYTES) {
            queue->first = first->next;
            queue->first_at = 0;
            network_free(first);
        }
    }
}

void byte_queue_free(struct byte_queue *queue)
{
    while (queue->first) {
        struct byte_piece *next = queue->first->next;

        network_free(queue->first);
        queue->first = next;
    }
    *queue = (struct byte_queue){ 0 };
}
