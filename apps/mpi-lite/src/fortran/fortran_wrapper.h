/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran_wrapper.h: what the Fortran names of MPI's functions have in common: handles, statuses, strings,
 * and the constants that are recognized by their address. They are the second object of the library's
 * archive, which programs in C do not link.
 *
 * A wrapper stops at the first argument that it cannot convert: `call` keeps the error.
 */
#ifndef MPI_FORTRAN_WRAPPER_H
#define MPI_FORTRAN_WRAPPER_H

#include "fortran/fortran.h"

#include <stdlib.h>
#include <string.h>

/* In force to the end of the file that includes this: the wrappers are global. */
#pragma GCC visibility push(default)

/* The common blocks of mpif.h, whose addresses stand for the constants. */
extern MPI_Fint mpi_lite_bottom_[1], mpi_lite_in_place_[1], mpi_lite_errcodes_ignore_[1],
    mpi_lite_unweighted_[1], mpi_lite_weights_empty_[1];
extern char mpi_lite_argv_null_[1], mpi_lite_argvs_null_[1];

#define FORTRAN_ALIAS(name) \
    extern __typeof__(pmpi_##name##_) mpi_##name##_ __attribute__((weak, alias("pmpi_" #name "_")))

/* The longest string that an MPI function returns, and a NUL. */
#define STRING_ROOM (MPI_MAX_INFO_VAL + 1)

struct call {
    const char *name; /* in C, for messages */
    int error;
};

static inline void *buffer_of(void *buffer)
{
    if (buffer == mpi_lite_bottom_)
        return MPI_BOTTOM;
    return buffer == mpi_lite_in_place_ ? MPI_IN_PLACE : buffer;
}

static inline int *weights_of(MPI_Fint *weights)
{
    if (weights == mpi_lite_unweighted_)
        return MPI_UNWEIGHTED;
    return weights == mpi_lite_weights_empty_ ? MPI_WEIGHTS_EMPTY : weights;
}

static inline void *handle_in(struct call *call, enum fortran_kind kind, const char *argument,
                              MPI_Fint number)
{
    void *object = NULL;

    if (!call->error && !mpi_lite_handle_find(kind, number, &object))
        call->error = mpi_lite_handle_refuse(call->name, kind, argument, number);
    return object;
}

/* Updates the number after a call that may have ended the object. */
static inline void handle_updated(enum fortran_kind kind, const void *object, MPI_Fint *number)
{
    if (!object)
        *number = HANDLE_NULL(kind);
}

/* Releases the number after a call that gives up a handle: its object may still exist. */
static inline void handle_taken(enum fortran_kind kind, const void *object, MPI_Fint *number, unsigned serial)
{
    if (object || *number == HANDLE_NULL(kind))
        return;
    mpi_lite_handle_take(*number, serial);
    *number = HANDLE_NULL(kind);
}

static inline bool is_ignored(const MPI_Fint *status)
{
    return status == mpi_lite_status_ignore_ || status == mpi_lite_statuses_ignore_;
}

/* Copies a status, because Fortran's array of integers may not be aligned as MPI_Status. */
static inline MPI_Status *status_in(const MPI_Fint *status, MPI_Status *room)
{
    if (is_ignored(status))
        return MPI_STATUS_IGNORE;
    memcpy(room, status, sizeof(*room));
    return room;
}

static inline void status_out(const MPI_Status *from, MPI_Fint *status)
{
    if (from != MPI_STATUS_IGNORE)
        memcpy(status, from, sizeof(*from));
}

/* Copies a string without the trailing blanks, and without the leading ones if `both`. The caller frees it.
 */
static inline char *string_in(struct call *call, const char *text, size_t length, bool both)
{
    while (length && text[length - 1] == ' ')
        length--;
    for (; both && length && *text == ' '; length--)
        text++;
    char *copy = call->error ? NULL : malloc(length + 1);
    if (!copy && !call->error)
        call->error = mpi_lite_fortran_refuse(call->name, MPI_ERR_NO_MEM, "no memory for a string");
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* Copies a string, cut or filled up with blanks to `length`. */
static inline void string_out(const char *text, char *to, size_t length)
{
    size_t bytes = strnlen(text, length);

    memcpy(to, text, bytes);
    memset(to + bytes, ' ', length - bytes);
}

#endif
