/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm_attributes.c: the attributes of communicators: the program's (base/attributes.c), and the predefined
 * ones. Each call holds the library's lock.
 *
 * Source: MPI 3.1 §6.7.2, §8.1.2 (the predefined attributes), §8.7.1 (MPI_COMM_SELF at the end).
 */
#include "comm/comm.h"
#include <limits.h>
#include <string.h>

/* Returns the address of a predefined attribute's value. */
static int *predefined_value(int keyval)
{
    static int tag_ub = INT_MAX, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, wtime_is_global, universe_size,
               appnum;

    universe_size = mpi_world.size;
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_HOST:
        return &host;
    case MPI_IO:
        return &io;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_is_global;
    case MPI_UNIVERSE_SIZE:
        return &universe_size;
    case MPI_APPNUM:
        return &appnum;
    case MPI_LASTUSEDCODE:
        return error_last_used();
    default:
        return NULL;
    }
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
                            int *keyval, void *state)
{
    return keyval_create("MPI_Comm_create_keyval", ATTRIBUTE_COMM, (void (*)(void))copy,
                         (void (*)(void)) delete, state, keyval);
}
MPI_ALIAS(Comm_create_keyval);

int PMPI_Comm_free_keyval(int *keyval)
{
    return keyval_free("MPI_Comm_free_keyval", ATTRIBUTE_COMM, keyval);
}
MPI_ALIAS(Comm_free_keyval);

static int Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
    return attribute_set(ATTRIBUTE_COMM, comm, &comm->attributes, keyval, value);
}
MPI_CALL(Comm_set_attr);

/* Returns predefined attributes for every communicator, because programs ask for them on copies of
 * MPI_COMM_WORLD. */
static int Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
    void *address = predefined_value(keyval);

    if (!address)
        return attribute_get(ATTRIBUTE_COMM, comm->attributes, keyval, value, flag);
    *flag = 1;
    memcpy(value, &address, sizeof(address));
    return MPI_SUCCESS;
}
MPI_CALL(Comm_get_attr);

static int Comm_delete_attr(MPI_Comm comm, int keyval)
{
    return attribute_remove(ATTRIBUTE_COMM, comm, &comm->attributes, keyval);
}
MPI_CALL(Comm_delete_attr);

int comm_self_finalize(void)
{
    return attributes_free(MPI_COMM_SELF, &mpi_lite_comm_self.attributes);
}
