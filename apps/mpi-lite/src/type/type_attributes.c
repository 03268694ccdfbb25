/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * type_attributes.c: the attributes of data types (base/attributes.c). Each call holds the library's lock.
 *
 * Source: MPI 3.1 §6.7.4.
 */
#include "type/type_make.h"

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *delete,
                            int *keyval, void *state)
{
    return keyval_create("MPI_Type_create_keyval", ATTRIBUTE_TYPE, (void (*)(void))copy,
                         (void (*)(void)) delete, state, keyval);
}
MPI_ALIAS(Type_create_keyval);

int PMPI_Type_free_keyval(int *keyval)
{
    return keyval_free("MPI_Type_free_keyval", ATTRIBUTE_TYPE, keyval);
}
MPI_ALIAS(Type_free_keyval);

int PMPI_Type_set_attr(MPI_Datatype type, int keyval, void *value)
{
    mpi_enter();
    int error = check_type(type, "type");
    if (!error)
        error = attribute_set(ATTRIBUTE_TYPE, type, &type->attributes, keyval, value);
    error = mpi_return(NULL, "MPI_Type_set_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Type_set_attr);

int PMPI_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag)
{
    mpi_enter();
    int error = check_type(type, "type");
    if (!error)
        error = check_output(value, "attribute_val");
    if (!error)
        error = check_output(flag, "flag");
    if (!error)
        error = attribute_get(ATTRIBUTE_TYPE, type->attributes, keyval, value, flag);
    error = mpi_return(NULL, "MPI_Type_get_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Type_get_attr);

int PMPI_Type_delete_attr(MPI_Datatype type, int keyval)
{
    mpi_enter();
    int error = check_type(type, "type");
    if (!error)
        error = attribute_remove(ATTRIBUTE_TYPE, type, &type->attributes, keyval);
    error = mpi_return(NULL, "MPI_Type_delete_attr", error);
    mpi_leave();
    return error;
}
MPI_ALIAS(Type_delete_attr);
