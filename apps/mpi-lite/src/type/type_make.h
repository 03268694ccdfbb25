/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_make.h: what the files of the data types share: how a type was made, and checks.
 */
#ifndef MPI_DATATYPE_H
#define MPI_DATATYPE_H

#include "type/type_layout.h"

/* The arguments of the constructor, for MPI_Type_get_contents; the types are held. */
struct mpi_contents {
    int combiner, integer_count, address_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    struct mpi_datatype **types;
};

/* One run of equal elements of a type that is being made: `count` of `type`, the first at `offset`, `stride`
 * bytes apart. */
struct run {
    size_t count;
    MPI_Aint offset, stride;
    struct mpi_datatype *type;
};

/* Room for so many arguments of a constructor, which are then added; NULL: no memory. */
struct mpi_contents *contents_make(int combiner, int integers, int addresses, int types);
void contents_integer(struct mpi_contents *contents, int value);
void contents_integers(struct mpi_contents *contents, int count, const int *values);
void contents_type(struct mpi_contents *contents, struct mpi_datatype *type);
void contents_free(struct mpi_contents *contents);

/* A type of runs. Takes `contents`. `aligns`: the extent is rounded up as the compiler rounds a structure's.
 */
int type_make(size_t count, const struct run *runs, bool aligns, struct mpi_contents *contents,
              struct mpi_datatype **made);
/* Gives it the bounds 0 and `extent`, as markers would. */
void type_bound(struct mpi_datatype *type, MPI_Aint extent);

/* MPI_ERR_TYPE where it is MPI_DATATYPE_NULL, which `argument` names. */
int check_type(const struct mpi_datatype *type, const char *argument);

#endif
