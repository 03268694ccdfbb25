/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_layout.h: where the data of an element lies: a tree of blocks, repetitions and lists. Types that are
 * made of each other share its nodes. The order of the data is that of the type map [MPI 3.1 §4.1].
 *
 *   block     `bytes` bytes without a gap, at offset 0
 *   repeat    `count` times `child`, `stride` bytes apart
 *   list      parts, each at an offset
 *
 * The constructors merge adjacent parts, so that data without gaps is one block. Each constructor takes over
 * its caller's references to the children. It returns NULL without memory (then the references are released).
 */
#ifndef MPI_LAYOUT_H
#define MPI_LAYOUT_H

#include "type/type.h"

enum layout_kind { LAYOUT_BLOCK, LAYOUT_REPEAT, LAYOUT_LIST };

struct layout_part {
    MPI_Aint offset;
    size_t before; /* bytes of data in the parts before it */
    struct mpi_layout *child;
};

struct mpi_layout {
    int references;
    enum layout_kind kind;
    size_t bytes; /* of data in all of it */
    size_t count; /* of repetitions, of parts */
    MPI_Aint stride;
    struct mpi_layout *child;
    struct layout_part parts[];
};

struct mpi_layout *layout_block(size_t bytes);
struct mpi_layout *layout_repeat(size_t count, MPI_Aint stride, struct mpi_layout *child);
/* Makes a list. `parts` have their offsets and children; parts without data are left out. */
struct mpi_layout *layout_list(size_t count, const struct layout_part *parts);
struct mpi_layout *layout_hold(struct mpi_layout *layout);
void layout_release(struct mpi_layout *layout);

/* Returns whether a layout is one block at `*offset`; a list of a single part may be, too. */
bool layout_is_block(const struct mpi_layout *layout, MPI_Aint *offset);

#endif
