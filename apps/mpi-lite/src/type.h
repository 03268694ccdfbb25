/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type.h: what the files of the data types share: how a type was made, and checks.
 */
#ifndef MPI_DATATYPE_H
#define MPI_DATATYPE_H

#include "type_layout.h"

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

void contents_free(struct mpi_contents *contents);

/* MPI_ERR_TYPE where it is MPI_DATATYPE_NULL, which `argument` names. */
int check_type(const struct mpi_datatype *type, const char *argument);

#endif
