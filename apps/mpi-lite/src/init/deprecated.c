/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deprecated.c: functions of MPI-1 that MPI 2.0 renamed and MPI 3.0 removed, or deprecated, and that programs
 * still call. Each calls the function that replaces it, whose name its errors contain.
 *
 * Source: MPI 3.1 §15.1 (attributes), §16.1 (removed functions).
 */
#include "base/base.h"

int PMPI_Address(void *location, MPI_Aint *address)
{
    return PMPI_Get_address(location, address);
}
MPI_ALIAS(Address);

int PMPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made)
{
    return PMPI_Type_create_hvector(count, length, stride, old, made);
}
MPI_ALIAS(Type_hvector);

int PMPI_Type_hindexed(int count, int lengths[], MPI_Aint places[], MPI_Datatype old, MPI_Datatype *made)
{
    return PMPI_Type_create_hindexed(count, lengths, places, old, made);
}
MPI_ALIAS(Type_hindexed);

int PMPI_Type_struct(int count, int lengths[], MPI_Aint places[], MPI_Datatype types[], MPI_Datatype *made)
{
    return PMPI_Type_create_struct(count, lengths, places, types, made);
}
MPI_ALIAS(Type_struct);

int PMPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_create_errhandler(function, errhandler);
}
MPI_ALIAS(Errhandler_create);

int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return PMPI_Comm_set_errhandler(comm, errhandler);
}
MPI_ALIAS(Errhandler_set);

int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_get_errhandler(comm, errhandler);
}
MPI_ALIAS(Errhandler_get);

int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *delete, int *keyval, void *state)
{
    return PMPI_Comm_create_keyval(copy, delete, keyval, state);
}
MPI_ALIAS(Keyval_create);

int PMPI_Keyval_free(int *keyval)
{
    return PMPI_Comm_free_keyval(keyval);
}
MPI_ALIAS(Keyval_free);

int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    return PMPI_Comm_set_attr(comm, keyval, value);
}
MPI_ALIAS(Attr_put);

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag)
{
    return PMPI_Comm_get_attr(comm, keyval, value, flag);
}
MPI_ALIAS(Attr_get);

int PMPI_Attr_delete(MPI_Comm comm, int keyval)
{
    return PMPI_Comm_delete_attr(comm, keyval);
}
MPI_ALIAS(Attr_delete);
