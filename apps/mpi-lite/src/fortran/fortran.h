/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran.h: what the library and Fortran's names of it (the archive's second object, made of fortran_*.c and
 * of what fortran.py writes) promise each other.
 *
 * A handle in Fortran is a number. It says of which kind it is: kind × HANDLE_KIND + index. Index 0 is the
 * kind's null handle, then come the predefined ones, in the order of mpi.h; the rest index a table that grows
 * (handles.c). All functions here may be called at any time; they take the library's lock.
 */
#ifndef MPI_FORTRAN_H
#define MPI_FORTRAN_H

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

/* Of mpi.h, in its order (predefined.c, which fortran.py writes). */
struct predefined {
    enum fortran_kind kind;
    void *object;
};
extern const struct predefined predefined_objects[];
extern const int predefined_count;

/* The library's functions below are global in its archive; their names begin with mpi_lite_. */
#pragma GCC visibility push(default)

/* The object's number; an object without one gets one. */
MPI_Fint mpi_lite_handle_number(enum fortran_kind kind, void *object);
/* The same, for a call that gives the program a reference of its own: as many calls free it. */
MPI_Fint mpi_lite_handle_give(enum fortran_kind kind, void *object);
/* False where the number is none of that kind; *object is NULL then. */
bool mpi_lite_handle_find(enum fortran_kind kind, MPI_Fint number, void **object);
/* Changes when the number gets another object: a call that frees asks before, and takes after, between which
 * another thread may have got the number. */
unsigned mpi_lite_handle_serial(MPI_Fint number);
void mpi_lite_handle_take(MPI_Fint number, unsigned serial);
/* An argument that is no handle of its kind: the error, after MPI_COMM_WORLD's handler. */
int mpi_lite_handle_refuse(const char *function, enum fortran_kind kind, const char *argument,
                           MPI_Fint number);
int mpi_lite_fortran_refuse(const char *function, int class, const char *why);
_Noreturn void mpi_lite_fortran_missing(const char *function);

/* Whose call it is that reads or sets attributes, or makes a key, until _end: Fortran's values are integers,
 * of an address's size or, in MPI-1's functions, of INTEGER's. Holds the lock. */
void mpi_lite_attribute_begin(enum attribute_language language);
void mpi_lite_attribute_end(void);

#pragma GCC visibility pop
#endif
