/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_wire.h: how data types are sent to another process, for one-sided communication.
 *
 * A message says where the data of its piece lies as runs, a flat list, however the type was made. So a piece
 * of a large type needs no more room than for its own blocks, and the receiver can check each run separately.
 * Basic types and predefined operations are sent as small numbers, from 1 on; 0 is none.
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

/* Finds the runs of bytes [from, from + bytes) of the stream of `count` elements of a type at `offset`: at
 * most `max`; *used is their number. Returns how many bytes they have, which is less than `bytes` if `max`
 * runs do not suffice. */
size_t type_runs(const struct mpi_datatype *type, size_t count, MPI_Aint offset, size_t from, size_t bytes,
                 struct run_wire *runs, size_t max, size_t *used);

/* Returns the predefined type that a type is made of; NULL if there are several, or none. */
struct mpi_datatype *type_basic(struct mpi_datatype *type);

unsigned type_code(const struct mpi_datatype *type);
struct mpi_datatype *type_of_code(unsigned code); /* NULL: no such code */
unsigned op_code(const struct mpi_op *op);
struct mpi_op *op_of_code(unsigned code);

#endif
