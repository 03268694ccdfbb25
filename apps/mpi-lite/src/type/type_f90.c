/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_f90.c: the data types of Fortran's parameterized kinds, and MPI_Type_match_size.
 *
 * The sizes are those that gfortran's SELECTED_REAL_KIND and SELECTED_INT_KIND choose. The same arguments
 * return the same type, which is predefined: the program does not free it.
 *
 * Source: MPI 3.1 §17.1.9.
 */
#include "type/type_make.h"
#include <float.h>
#include <stdlib.h>

#define BUCKETS 64

/* A type that was made, and its arguments; integers have only `range`. */
struct made {
    struct made *next;
    int combiner, precision, range;
    int integers[2];
    struct mpi_contents contents;
    struct mpi_datatype type;
};

static struct made *buckets[BUCKETS];

/* A kind: its guaranteed number of decimal digits, and its largest power of ten. */
struct kind {
    int precision, range;
    struct mpi_datatype *real, *complex;
};

static const struct kind kinds[] = {
    { 6, 37, MPI_REAL4, MPI_COMPLEX8 },
    { 15, 307, MPI_REAL8, MPI_COMPLEX16 },
#if LDBL_MANT_DIG == 64
    { 18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX },
#endif
    { 33, 4931, MPI_REAL16, MPI_COMPLEX32 },
};

static int type_get(int combiner, int precision, int range, const struct mpi_datatype *like,
                    struct mpi_datatype **type)
{
    unsigned hash = (unsigned)combiner + 31 * (unsigned)precision + 961 * (unsigned)range;
    struct made **bucket = &buckets[hash % BUCKETS], *made = *bucket;

    while (made && (made->combiner != combiner || made->precision != precision || made->range != range))
        made = made->next;
    if (!made) {
        bool is_integer = combiner == MPI_COMBINER_F90_INTEGER;

        made = malloc(sizeof(*made));
        if (!made)
            return mpi_error(MPI_ERR_NO_MEM, "no memory for a data type");
        *made = (struct made){ *bucket,
                               combiner,
                               precision,
                               range,
                               { is_integer ? range : precision, range },
                               { .combiner = combiner, .integer_count = is_integer ? 1 : 2 },
                               *like };
        made->contents.integers = made->integers;
        made->type.contents = &made->contents;
        made->type.references = 1;
        made->type.name = "";
        made->type.attributes = NULL;
        *bucket = made;
    }
    *type = &made->type;
    return MPI_SUCCESS;
}

static int real_get(int combiner, int precision, int range, struct mpi_datatype **type)
{
    if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
        return mpi_error(MPI_ERR_ARG, "arguments precision and range: both are MPI_UNDEFINED");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (precision <= kinds[i].precision && range <= kinds[i].range)
            return type_get(combiner, precision, range,
                            combiner == MPI_COMBINER_F90_REAL ? kinds[i].real : kinds[i].complex, type);
    return mpi_error(MPI_ERR_ARG,
                     "Fortran has no kind of %d digits and a range of 10^%d; at most 33 and 4931", precision,
                     range);
}

static int real_call(const char *name, int combiner, int precision, int range, struct mpi_datatype **type)
{
    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = check_output(type, "newtype");
    if (!error)
        error = real_get(combiner, precision, range, type);
    return mpi_leave_with(NULL, name, error);
}

int PMPI_Type_create_f90_real(int precision, int range, MPI_Datatype *type)
{
    return real_call("MPI_Type_create_f90_real", MPI_COMBINER_F90_REAL, precision, range, type);
}
MPI_ALIAS(Type_create_f90_real);

int PMPI_Type_create_f90_complex(int precision, int range, MPI_Datatype *type)
{
    return real_call("MPI_Type_create_f90_complex", MPI_COMBINER_F90_COMPLEX, precision, range, type);
}
MPI_ALIAS(Type_create_f90_complex);

int PMPI_Type_create_f90_integer(int range, MPI_Datatype *type)
{
    struct mpi_datatype *like = range <= 2    ? MPI_INTEGER1
                                : range <= 4  ? MPI_INTEGER2
                                : range <= 9  ? MPI_INTEGER4
                                : range <= 18 ? MPI_INTEGER8
                                              : NULL;

    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = check_output(type, "newtype");
    if (!error && !like)
        error = mpi_error(MPI_ERR_ARG, "argument range: %d digits; at most 18", range);
    if (!error)
        error = type_get(MPI_COMBINER_F90_INTEGER, 0, range, like, type);
    return mpi_leave_with(NULL, "MPI_Type_create_f90_integer", error);
}
MPI_ALIAS(Type_create_f90_integer);

static struct mpi_datatype *type_of_size(int class, int size)
{
    switch (class) {
    case MPI_TYPECLASS_INTEGER:
        return size == 1   ? MPI_INTEGER1
               : size == 2 ? MPI_INTEGER2
               : size == 4 ? MPI_INTEGER4
               : size == 8 ? MPI_INTEGER8
                           : NULL;
    case MPI_TYPECLASS_REAL:
        return size == 4 ? MPI_REAL4 : size == 8 ? MPI_REAL8 : size == 16 ? MPI_REAL16 : NULL;
    case MPI_TYPECLASS_COMPLEX:
        return size == 8 ? MPI_COMPLEX8 : size == 16 ? MPI_COMPLEX16 : size == 32 ? MPI_COMPLEX32 : NULL;
    default:
        return NULL;
    }
}

int PMPI_Type_match_size(int class, int size, MPI_Datatype *type)
{
    struct mpi_datatype *found = type_of_size(class, size);
    bool is_class =
        class == MPI_TYPECLASS_REAL || class == MPI_TYPECLASS_INTEGER || class == MPI_TYPECLASS_COMPLEX;

    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = check_output(type, "datatype");
    if (!error && !is_class)
        error = mpi_error(MPI_ERR_ARG, "argument typeclass: %d is no MPI_TYPECLASS_", class);
    if (!error && !found)
        error = mpi_error(MPI_ERR_ARG, "argument size: there is no type of that class with %d bytes", size);
    if (!error)
        *type = found;
    return mpi_leave_with(NULL, "MPI_Type_match_size", error);
}
MPI_ALIAS(Type_match_size);
