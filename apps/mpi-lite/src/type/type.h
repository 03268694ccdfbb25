/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type.h: data types and operations for other folders: what a type is, its data as a stream of packed bytes,
 * and reductions. Uses base/ alone. type_layout.h, type_make.h, type_wire.h and op_kernels.h are for this
 * folder's files, and for window/, whose messages describe types.
 *
 * Source: MPI 3.1 chapter 4 (types), §5.9 (operations).
 */
#ifndef MPI_TYPE_H
#define MPI_TYPE_H

#include "base/base.h"

/* ---- Data types (type.c, type_make.c, type_layout.c, type_table.c) ---- */

/* The kind of a basic type determines which operations it takes part in; MINLOC pairs have kinds of their
 * own. */
enum type_kind {
    KIND_ENDED, /* it has been freed */
    KIND_DERIVED,
    KIND_SIGNED,
    KIND_UNSIGNED,
    KIND_FLOAT,
    KIND_COMPLEX,
    KIND_LOGICAL,
    KIND_BYTE,
    KIND_CHARACTER,
    KIND_PAIR,
    KIND_OPAQUE, /* numbers that C cannot compute with */
    KIND_MARKER
};

struct mpi_datatype {
    int references;
    const char *name; /* of a predefined type */
    char *given_name; /* set by the program; NULL: none */
    enum type_kind kind;
    size_t bytes;           /* of data in one element: MPI_Type_size */
    MPI_Aint lower, extent; /* of the type map, with markers */
    MPI_Aint true_lower, true_extent;
    bool has_lower, has_upper; /* its bounds were set by MPI_LB, MPI_UB or MPI_Type_create_resized */
    size_t alignment;          /* of its most aligned basic element, in bytes */
    size_t elements;           /* basic ones; 2 in a pair */
    bool committed, predefined;
    bool dense; /* data is `extent` bytes without a gap, in order, at offset 0: bytes == extent */
    struct mpi_layout *layout;     /* where the data of an element lies; may be NULL if dense */
    struct mpi_contents *contents; /* how it was made: MPI_Type_get_contents */
    struct mpi_attributes *attributes;
};

/* Packs bytes [from, from + bytes) of the stream of `count` elements at `buffer`; type_unpack does the
 * reverse. A caller may go through a message in steps of any size. */
void type_pack(const void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
               void *packed);
void type_unpack(void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
                 const void *packed);
/* Copies between buffers of this process, as a send to oneself would: at most the receiver's room. */
int type_copy(const void *from, size_t from_count, const struct mpi_datatype *from_type, void *to,
              size_t to_count, const struct mpi_datatype *to_type);
/* Returns the number of basic elements in the first `bytes` bytes of a stream of such elements; -1 if a
 * partial element is left. */
int64_t type_elements(const struct mpi_datatype *type, size_t bytes);
/* Returns the distance in bytes from the lowest to the highest byte that `count` elements touch; *begin is
 * the offset of the lowest. */
size_t type_span(const struct mpi_datatype *type, size_t count, MPI_Aint *begin);
void type_hold(struct mpi_datatype *type);
void type_release(struct mpi_datatype *type);
/* Returns why a type that is not committed is refused. */
static inline const char *type_flaw(const struct mpi_datatype *type)
{
    return type->kind != KIND_ENDED ? "it is not committed" : "it has been freed";
}

/* ---- Operations (op.c, op_kernels.c) ---- */

struct mpi_op {
    int references;
    const char *name; /* NULL for a program's own */
    bool commutes, predefined;
    int kinds;       /* bits 1 << enum type_kind for which it is defined */
    bool is_fortran; /* the function takes the number of its type */
    MPI_User_function *function;
};

/* Returns MPI_ERR_OP with its reason, or MPI_SUCCESS. */
int op_check(const struct mpi_op *op, const struct mpi_datatype *type);
/* Computes to[i] = from[i] op to[i]: `from` is the left operand. */
void op_apply(struct mpi_op *op, const void *from, void *to, size_t count, struct mpi_datatype *type);

/* Returns the error of arguments 2 and 3. */
int buffer_refuse(int count, const struct mpi_datatype *type);
/* Checks arguments 2 and 3: the count must not be negative, the type must be committed. */
static inline int check_buffer(int count, const struct mpi_datatype *type)
{
    bool is_good = count >= 0 && type != MPI_DATATYPE_NULL && type->committed;

    return is_good ? MPI_SUCCESS : buffer_refuse(count, type);
}

#endif
