/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support.c: the C part of the Fortran programs of this folder, linked with each: checks that print their
 * place and end the job, and subroutines that take Fortran's handles [MPI 3.1 §17.2].
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, size_t length, const char *why, long long value, long long expected)
{
    int rank = -1;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d: %.*s: %s%lld, not %lld\n", rank, (int)length, what, why, value, expected);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Implements `call check(what, value, expected)`. */
void check_(const char *what, const int *value, const int *expected, size_t length)
{
    if (*value != *expected)
        fail(what, length, "", *value, *expected);
}

/* Implements `call holds(what, logical)`. */
void holds_(const char *what, const int *value, size_t length)
{
    if (!*value)
        fail(what, length, "does not hold: ", *value, 1);
}

/* Implements `call passed(part)`: waits until all ranks have passed the part; rank 0 prints it. */
void passed_(const char *part, size_t length)
{
    int rank = -1;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("ok %.*s\n", (int)length, part);
        fflush(stdout);
    }
}

/* ---- Handles of Fortran in C, and back ---- */

/* Computes the sum of all ranks' values over Fortran's communicator, with its type and operation. */
void c_sum_(const MPI_Fint *comm, const MPI_Fint *type, const MPI_Fint *op, const int *value, int *sum)
{
    MPI_Allreduce(value, sum, 1, MPI_Type_f2c(*type), MPI_Op_f2c(*op), MPI_Comm_f2c(*comm));
}

/* Makes a communicator, a type and a group in C. */
void c_objects_(MPI_Fint *comm, MPI_Fint *type, MPI_Fint *group)
{
    MPI_Comm c_comm;
    MPI_Datatype c_type;
    MPI_Group c_group;

    MPI_Comm_dup(MPI_COMM_WORLD, &c_comm);
    MPI_Type_contiguous(3, MPI_INT, &c_type);
    MPI_Type_commit(&c_type);
    MPI_Comm_group(c_comm, &c_group);
    *comm = MPI_Comm_c2f(c_comm);
    *type = MPI_Type_c2f(c_type);
    *group = MPI_Group_c2f(c_group);
}

/* Tells whether each handle converts to itself and its null handle to null. */
void c_converts_(int *result)
{
    *result = MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF &&
              MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL &&
              MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE &&
              MPI_Type_f2c(MPI_Type_c2f(MPI_DATATYPE_NULL)) == MPI_DATATYPE_NULL &&
              MPI_Op_f2c(MPI_Op_c2f(MPI_BXOR)) == MPI_BXOR &&
              MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY &&
              MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL &&
              MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL &&
              MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN &&
              MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC;
}

/* Ends in C a request that Fortran has begun; *count is the number of integers in its status. */
void c_wait_(MPI_Fint *request, MPI_Fint *f_status, int *count)
{
    MPI_Request c_request = MPI_Request_f2c(*request);
    MPI_Status status;

    MPI_Wait(&c_request, &status);
    *request = MPI_Request_c2f(c_request);
    MPI_Status_c2f(&status, f_status);
    memset(&status, 0, sizeof(status));
    MPI_Status_f2c(f_status, &status);
    MPI_Get_count(&status, MPI_INT, count);
}

/* Gets an attribute as C sees it: a pointer to Fortran's integer, or C's own pointer. */
void c_attribute_get_(const MPI_Fint *comm, const int *keyval, const int *is_address, int *value)
{
    void *seen = NULL;
    int flag = 0;

    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *keyval, &seen, &flag);
    *value = !flag ? -1 : *is_address ? (int)*(MPI_Aint *)seen : *(int *)seen;
}

static int own_value = 17;

void c_attribute_set_(const MPI_Fint *comm, const int *keyval, MPI_Aint *address)
{
    MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *keyval, &own_value);
    MPI_Get_address(&own_value, address);
}

/* Makes an error in C that calls a handler in Fortran: a message to a rank that does not exist. */
void c_error_(const MPI_Fint *comm, int *class)
{
    int error = MPI_Send(NULL, 0, MPI_INT, 1 << 20, 0, MPI_Comm_f2c(*comm));

    MPI_Error_class(error, class);
}

/* Frees in C a type that Fortran has made. */
void c_free_(const MPI_Fint *type)
{
    MPI_Datatype c_type = MPI_Type_f2c(*type);

    MPI_Type_free(&c_type);
}
