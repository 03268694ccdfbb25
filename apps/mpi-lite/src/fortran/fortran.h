/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran.h: the interface between the library and its Fortran names, which are the archive's second object,
 * made of fortran_*.c and of what fortran.py writes.
 *
 * Uses all other folders, through MPI's own functions and the numbers of handles (base/handle.h). All
 * functions here may be called at any time; they take the library's lock.
 */
#ifndef MPI_FORTRAN_H
#define MPI_FORTRAN_H

#include "base/handle.h"

/* The predefined objects, in the order of mpi.h (predefined.c, which fortran.py writes). */
extern const struct predefined predefined_objects[];
extern const int predefined_count;

/* The library's functions below are global in its archive; their names begin with mpi_lite_. */
#pragma GCC visibility push(default)

/* Returns the object's number, or a new one, for a call that gives the program one more reference: each
 * reference is freed by one call. */
MPI_Fint mpi_lite_handle_give(enum fortran_kind kind, void *object);
/* Gives the predefined objects their numbers, unless they have them. */
void mpi_lite_handles_begin(void);
/* Finds the object of a number. Returns false if the number is not of that kind; *object is NULL then. */
bool mpi_lite_handle_find(enum fortran_kind kind, MPI_Fint number, void **object);
/* Returns a serial that changes when the number gets another object. A call that frees a handle reads it
 * before and passes it to mpi_lite_handle_take after, because another thread may have got the number in
 * between. */
unsigned mpi_lite_handle_serial(MPI_Fint number);
void mpi_lite_handle_take(MPI_Fint number, unsigned serial);
/* Returns the error for an argument that is no handle of its kind, after calling MPI_COMM_WORLD's handler. */
int mpi_lite_handle_refuse(const char *function, enum fortran_kind kind, const char *argument,
                           MPI_Fint number);
int mpi_lite_fortran_refuse(const char *function, int class, const char *why);
_Noreturn void mpi_lite_fortran_missing(const char *function);

#pragma GCC visibility pop
#endif
