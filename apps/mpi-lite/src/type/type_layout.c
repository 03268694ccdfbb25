/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_layout.c: trees of blocks, repetitions and lists (type_layout.h), and the packing of any piece of
 * their data. A step finds its first byte directly, by division in a repetition and by bisection in a list,
 * so that a long message in fragments costs no more than in one piece.
 *
 * Runs under the library's lock; nodes never change once they are made.
 */
#include "type/type_layout.h"
#include <stdlib.h>
#include <string.h>

static struct mpi_layout *node_make(enum layout_kind kind, size_t parts)
{
    struct mpi_layout *layout = calloc(1, sizeof(*layout) + parts * sizeof(layout->parts[0]));

    if (layout) {
        layout->references = 1;
        layout->kind = kind;
    }
    return layout;
}

struct mpi_layout *layout_hold(struct mpi_layout *layout)
{
    layout->references++;
    return layout;
}

void layout_release(struct mpi_layout *layout)
{
    if (!layout || --layout->references)
        return;
    layout_release(layout->child);
    for (size_t i = 0; layout->kind == LAYOUT_LIST && i < layout->count; i++)
        layout_release(layout->parts[i].child);
    free(layout);
}

struct mpi_layout *layout_block(size_t bytes)
{
    struct mpi_layout *layout = node_make(LAYOUT_BLOCK, 0);

    if (layout)
        layout->bytes = bytes;
    return layout;
}

bool layout_is_block(const struct mpi_layout *layout, MPI_Aint *offset)
{
    *offset = 0;
    if (layout->kind == LAYOUT_LIST && layout->count == 1) {
        *offset = layout->parts[0].offset;
        layout = layout->parts[0].child;
    }
    return layout->kind == LAYOUT_BLOCK;
}

/* Makes a list of a single part at an offset, so that an offset of repeated data is outside the repetition.
 */
static struct mpi_layout *layout_moved(MPI_Aint offset, struct mpi_layout *child)
{
    const struct layout_part part = { .offset = offset, .child = child };

    return child ? layout_list(1, &part) : NULL;
}

struct mpi_layout *layout_repeat(size_t count, MPI_Aint stride, struct mpi_layout *child)
{
    MPI_Aint offset;

    if (!child || count == 1)
        return child;
    if (count == 0 || child->bytes == 0) {
        layout_release(child);
        return layout_block(0);
    }
    if (layout_is_block(child, &offset) && stride == (MPI_Aint)child->bytes) {
        struct mpi_layout *block = layout_block(count * child->bytes);

        layout_release(child);
        return offset ? layout_moved(offset, block) : block;
    }
    if (child->kind == LAYOUT_LIST && child->count == 1) {
        struct mpi_layout *inner = layout_hold(child->parts[0].child);

        offset = child->parts[0].offset;
        layout_release(child);
        return layout_moved(offset, layout_repeat(count, stride, inner));
    }
    if (child->kind == LAYOUT_REPEAT && stride == (MPI_Aint)child->count * child->stride) {
        struct mpi_layout *flat =
            layout_repeat(count * child->count, child->stride, layout_hold(child->child));

        layout_release(child);
        return flat;
    }
    struct mpi_layout *layout = node_make(LAYOUT_REPEAT, 0);
    if (!layout) {
        layout_release(child);
        return NULL;
    }
    layout->count = count;
    layout->stride = stride;
    layout->child = child;
    layout->bytes = count * child->bytes;
    return layout;
}

/* Appends a part, or extends the last one if it only continues it. Returns false without memory. */
static bool part_add(struct mpi_layout *list, MPI_Aint offset, struct mpi_layout *child)
{
    struct layout_part *last = list->count ? &list->parts[list->count - 1] : NULL;

    if (last && last->child->kind == LAYOUT_BLOCK && child->kind == LAYOUT_BLOCK &&
        offset == last->offset + (MPI_Aint)last->child->bytes) {
        struct mpi_layout *longer = layout_block(last->child->bytes + child->bytes);

        if (!longer)
            return false;
        list->bytes += child->bytes;
        layout_release(last->child);
        layout_release(child);
        last->child = longer;
        return true;
    }
    list->parts[list->count++] = (struct layout_part){ offset, list->bytes, child };
    list->bytes += child->bytes;
    return true;
}

struct mpi_layout *layout_list(size_t count, const struct layout_part *parts)
{
    struct mpi_layout *list = node_make(LAYOUT_LIST, count);
    bool is_whole = list != NULL;

    for (size_t i = 0; i < count; i++) {
        struct mpi_layout *child = parts[i].child;

        is_whole &= child != NULL;
        if (!is_whole || child->bytes == 0)
            layout_release(child);
        else if (child->kind == LAYOUT_LIST && child->count == 1 && child->references == 1)
            is_whole =
                part_add(list, parts[i].offset + child->parts[0].offset, layout_hold(child->parts[0].child)),
            layout_release(child);
        else
            is_whole = part_add(list, parts[i].offset, child);
    }
    if (!is_whole) {
        layout_release(list);
        return NULL;
    }
    if (list->count == 0 || (list->count == 1 && list->parts[0].offset == 0)) {
        struct mpi_layout *only = list->count ? layout_hold(list->parts[0].child) : layout_block(0);

        layout_release(list);
        return only;
    }
    return list;
}

/* ---- Packing ---- */

/* Adds an offset to an address, which may be MPI_BOTTOM. */
static unsigned char *place_of(unsigned char *base, MPI_Aint offset)
{
    return (unsigned char *)((uintptr_t)base + (uintptr_t)offset);
}

/* A position in packed data: an unpack reads there, a pack writes. */
struct cursor {
    unsigned char *packed;
    size_t left; /* bytes that are still to be moved */
    bool packs;
};

static void bytes_move(struct cursor *cursor, unsigned char *place, size_t bytes)
{
    if (cursor->packs)
        memcpy(cursor->packed, place, bytes);
    else
        memcpy(place, cursor->packed, bytes);
    cursor->packed += bytes;
    cursor->left -= bytes;
}

/* Moves `count` whole blocks of a size that the compiler knows, `stride` apart. */
#define MOVE_BLOCKS(size)                                               \
    for (size_t i = 0; i < count; i++, place = place_of(place, stride)) \
        if (cursor->packs)                                              \
            memcpy(cursor->packed + i * (size), place, size);           \
        else                                                            \
            memcpy(place, cursor->packed + i * (size), size)

static void blocks_move(struct cursor *cursor, unsigned char *place, size_t count, MPI_Aint stride,
                        size_t bytes)
{
    switch (bytes) {
    case 4:
        MOVE_BLOCKS(4);
        break;
    case 8:
        MOVE_BLOCKS(8);
        break;
    case 16:
        MOVE_BLOCKS(16);
        break;
    default:
        for (size_t i = 0; i < count; i++, place = place_of(place, stride))
            if (cursor->packs)
                memcpy(cursor->packed + i * bytes, place, bytes);
            else
                memcpy(place, cursor->packed + i * bytes, bytes);
    }
    cursor->packed += count * bytes;
    cursor->left -= count * bytes;
}

static void layout_move(const struct mpi_layout *layout, unsigned char *base, size_t skip,
                        struct cursor *cursor);

static void repeat_move(const struct mpi_layout *child, size_t count, MPI_Aint stride, unsigned char *base,
                        size_t skip, struct cursor *cursor)
{
    size_t i = skip / child->bytes;

    skip %= child->bytes;
    while (cursor->left && i < count) {
        unsigned char *place = place_of(base, (MPI_Aint)i * stride);
        size_t whole = cursor->left / child->bytes;

        if (child->kind == LAYOUT_BLOCK && skip == 0 && whole) {
            whole = whole < count - i ? whole : count - i;
            blocks_move(cursor, place, whole, stride, child->bytes);
            i += whole;
            continue;
        }
        layout_move(child, place, skip, cursor);
        skip = 0;
        i++;
    }
}

static void list_move(const struct mpi_layout *list, unsigned char *base, size_t skip, struct cursor *cursor)
{
    size_t low = 0, high = list->count;

    while (high - low > 1) { /* parts[low].before <= skip < parts[high].before */
        size_t middle = low + (high - low) / 2;

        if (list->parts[middle].before <= skip)
            low = middle;
        else
            high = middle;
    }
    skip -= list->parts[low].before;
    for (; cursor->left && low < list->count; low++, skip = 0)
        layout_move(list->parts[low].child, place_of(base, list->parts[low].offset), skip, cursor);
}

/* Moves data from byte `skip` of the layout's data on: the rest for the cursor, or as much as there is. */
static void layout_move(const struct mpi_layout *layout, unsigned char *base, size_t skip,
                        struct cursor *cursor)
{
    size_t bytes = layout->bytes - skip;

    switch (layout->kind) {
    case LAYOUT_BLOCK:
        bytes_move(cursor, place_of(base, (MPI_Aint)skip), bytes < cursor->left ? bytes : cursor->left);
        break;
    case LAYOUT_REPEAT:
        repeat_move(layout->child, layout->count, layout->stride, base, skip, cursor);
        break;
    case LAYOUT_LIST:
        list_move(layout, base, skip, cursor);
        break;
    }
}

static void type_move(unsigned char *buffer, size_t count, const struct mpi_datatype *type, size_t from,
                      struct cursor *cursor)
{
    if (cursor->left == 0)
        return;
    if (type->dense)
        bytes_move(cursor, buffer + from, cursor->left);
    else
        repeat_move(type->layout, count, type->extent, buffer, from, cursor);
}

void type_pack(const void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
               void *packed)
{
    struct cursor cursor = { packed, bytes, true };

    type_move((unsigned char *)(uintptr_t)buffer, count, type, from, &cursor);
}

void type_unpack(void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
                 const void *packed)
{
    struct cursor cursor = { (unsigned char *)(uintptr_t)packed, bytes, false };

    type_move(buffer, count, type, from, &cursor);
}

int type_copy(const void *from, size_t from_count, const struct mpi_datatype *from_type, void *to,
              size_t to_count, const struct mpi_datatype *to_type)
{
    unsigned char piece[4096];
    size_t bytes = from_count * from_type->bytes, room = to_count * to_type->bytes;
    int error = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;

    bytes = bytes < room ? bytes : room;
    if (from_type->dense && to_type->dense) {
        if (bytes)
            memmove(to, from, bytes);
        return error;
    }
    for (size_t at = 0, step; at < bytes; at += step) {
        step = bytes - at < sizeof(piece) ? bytes - at : sizeof(piece);
        type_pack(from, from_count, from_type, at, step, piece);
        type_unpack(to, to_count, to_type, at, step, piece);
    }
    return error;
}
