/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_wire.h: data types on their way to another process, for one-sided communication.
 *
 * Where the data of a piece of a message lies goes as runs, a flat list whatever the type was made of; so a
 * piece of a large type needs no more room than the piece has blocks, and who gets runs checks each by
 * itself. Basic types and predefined operations go as small numbers, from 1 on; 0 is none.
 */
#ifndef MPI_TYPE_WIRE_H
#define MPI_TYPE_WIRE_H

#include "type/type.h"

/* `count` blocks of `bytes` bytes, the first at `offset`, `stride` bytes apart. */
struct run_wire {
    int64_t offset;
    uint64_t bytes, count;
    int64_t stride;
};

/* The runs of bytes [from, from + bytes) of the stream that `count` elements of a type at `offset` make: at
 * most `max` of them, *used. Returns how many bytes these have, which is less than `bytes` where they are too
 * few. */
size_t type_runs(const struct mpi_datatype *type, size_t count, MPI_Aint offset, size_t from, size_t bytes,
                 struct run_wire *runs, size_t max, size_t *used);

/* The one predefined type that a type is made of; NULL where there are several, or none. */
struct mpi_datatype *type_basic(struct mpi_datatype *type);

unsigned type_code(const struct mpi_datatype *type);
struct mpi_datatype *type_of_code(unsigned code); /* NULL: no such code */
unsigned op_code(const struct mpi_op *op);
struct mpi_op *op_of_code(unsigned code);

#endif
