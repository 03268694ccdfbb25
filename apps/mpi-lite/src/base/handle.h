/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handle.h: Fortran's numbers of handles, and the tables in which they stand (handles.c).
 *
 * A handle in Fortran is a number. It says of which kind it is: kind × HANDLE_KIND + index. Index 0 is the
 * kind's null handle, then come the predefined ones, in the order of mpi.h; the rest index a table that
 * grows. Everything here runs under the library's lock.
 */
#ifndef MPI_HANDLE_H
#define MPI_HANDLE_H

#include "base/base.h"

enum fortran_kind {
    FORTRAN_COMM = 1,
    FORTRAN_TYPE,
    FORTRAN_GROUP,
    FORTRAN_REQUEST,
    FORTRAN_MESSAGE,
    FORTRAN_OP,
    FORTRAN_INFO,
    FORTRAN_ERRHANDLER,
    FORTRAN_WIN,
    FORTRAN_FILE,
    FORTRAN_KINDS
};
#define HANDLE_KIND    100000000
#define HANDLE_NULL(k) ((MPI_Fint)(k)*HANDLE_KIND)

struct predefined {
    enum fortran_kind kind;
    void *object;
};

/* The predefined objects get their numbers, if they have none: before any other number is asked for. */
void handles_begin(const struct predefined *objects, int count);
/* The object's number; an object without one gets one. */
MPI_Fint handle_number(enum fortran_kind kind, void *object);
/* The same, for a call that gives the program a reference of its own: as many calls free it. */
MPI_Fint handle_give(enum fortran_kind kind, void *object);
/* False where the number is none of that kind; *object is NULL then. */
bool handle_find(enum fortran_kind kind, MPI_Fint number, void **object);
/* Changes when the number gets another object; 0: it has none. */
unsigned handle_serial(MPI_Fint number);
/* A reference of the program's less, if the number still has the object of that serial. */
void handle_take(MPI_Fint number, unsigned serial);

#endif
