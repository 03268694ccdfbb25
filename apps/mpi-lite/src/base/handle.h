/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handle.h: Fortran's numbers of handles, and the tables that hold their objects (handles.c).
 *
 * A handle in Fortran is a number that includes its kind: kind × HANDLE_KIND + index. Index 0 is the kind's
 * null handle. The predefined handles come next, in the order of mpi.h; the rest index a table that grows.
 * Everything here runs under the library's lock.
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

/* Gives the predefined objects their numbers, if they have none. Called before any other number is requested.
 */
void handles_begin(const struct predefined *objects, int count);
/* Returns the object's number; gives it one if it has none. */
MPI_Fint handle_number(enum fortran_kind kind, void *object);
/* Returns the same, for a call that gives the program one more reference: each reference is freed by one
 * call. */
MPI_Fint handle_give(enum fortran_kind kind, void *object);
/* Finds the object of a number. Returns false if the number is not of that kind; *object is NULL then. */
bool handle_find(enum fortran_kind kind, MPI_Fint number, void **object);
/* Returns a serial that changes when the number gets another object; 0: it has none. */
unsigned handle_serial(MPI_Fint number);
/* Takes back one of the program's references, if the number still has the object of that serial. */
void handle_take(MPI_Fint number, unsigned serial);

#endif
