/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran.h: what the library and Fortran's names of it (the archive's second object, made of fortran_*.c and
 * of what fortran.py writes) promise each other.
 *
 * Uses all other rooms, by MPI's own functions and by the numbers of handles (base/handle.h). All functions
 * here may be called at any time; they take the library's lock.
 */
#ifndef MPI_FORTRAN_H
#define MPI_FORTRAN_H

#include "base/handle.h"

/* Of mpi.h, in its order (predefined.c, which fortran.py writes). */
extern const struct predefined predefined_objects[];
extern const int predefined_count;

/* The library's functions below are global in its archive; their names begin with mpi_lite_. */
#pragma GCC visibility push(default)

/* The object's number, or a new one, for a call that gives the program a reference of its own: as many calls
 * free it. */
MPI_Fint mpi_lite_handle_give(enum fortran_kind kind, void *object);
/* Gives the predefined objects their numbers, if nothing has yet. */
void mpi_lite_handles_begin(void);
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

#pragma GCC visibility pop
#endif
