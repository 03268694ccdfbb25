/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_make.h: what the files of the data types share: how a type was made, and checks.
 */
#ifndef MPI_DATATYPE_H
#define MPI_DATATYPE_H

#include "type/type_layout.h"

/* The arguments of the constructor, for MPI_Type_get_contents; it holds the types. */
struct mpi_contents {
    int combiner, integer_count, address_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    struct mpi_datatype **types;
};

/* A run of equal elements of a type that is being made: `count` of `type`, the first at `offset`, `stride`
 * bytes apart. */
struct run {
    size_t count;
    MPI_Aint offset, stride;
    struct mpi_datatype *type;
};

/* Allocates room for these numbers of constructor arguments, which the functions below add. Returns NULL
 * without memory. */
struct mpi_contents *contents_make(int combiner, int integers, int addresses, int types);
void contents_integer(struct mpi_contents *contents, int value);
void contents_integers(struct mpi_contents *contents, int count, const int *values);
void contents_type(struct mpi_contents *contents, struct mpi_datatype *type);
void contents_free(struct mpi_contents *contents);

/* Makes a type of runs. Takes over `contents`. If `aligns`, the extent is rounded up as the compiler rounds a
 * structure's. */
int type_make(size_t count, const struct run *runs, bool aligns, struct mpi_contents *contents,
              struct mpi_datatype **made);
/* Sets the bounds to 0 and `extent`, as markers would. */
void type_bound(struct mpi_datatype *type, MPI_Aint extent);

/* Returns MPI_ERR_TYPE, with the name `argument`, if the type is MPI_DATATYPE_NULL. */
int check_type(const struct mpi_datatype *type, const char *argument);

#endif
