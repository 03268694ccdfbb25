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

static int Type_set_attr(MPI_Datatype type, int keyval, void *value)
{
    return attribute_set(ATTRIBUTE_TYPE, type, &type->attributes, keyval, value);
}
MPI_CALL(Type_set_attr);

static int Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag)
{
    return attribute_get(ATTRIBUTE_TYPE, type->attributes, keyval, value, flag);
}
MPI_CALL(Type_get_attr);

static int Type_delete_attr(MPI_Datatype type, int keyval)
{
    return attribute_remove(ATTRIBUTE_TYPE, type, &type->attributes, keyval);
}
MPI_CALL(Type_delete_attr);
