/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handles.c: Fortran's numbers of handles: a conversion and its reverse give the same handle; statuses; and
 * types that are chosen by their range, precision or size.
 */
#include "check.h"

/* For a handle of each kind, and for its null handle. */
#define CHECK_BACK(kind, handle) CHECK(MPI_##kind##_f2c(MPI_##kind##_c2f(handle)) == (handle))

static void back(void)
{
    MPI_Group group;
    MPI_Info info;
    MPI_Request request;
    MPI_Errhandler handler;
    int value = rank, got = -1;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Info_create(&info);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Irecv(&got, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
    CHECK_BACK(Comm, MPI_COMM_WORLD);
    CHECK_BACK(Comm, MPI_COMM_NULL);
    CHECK_BACK(Type, MPI_DOUBLE);
    CHECK_BACK(Type, MPI_DATATYPE_NULL);
    CHECK_BACK(Group, group);
    CHECK_BACK(Group, MPI_GROUP_NULL);
    CHECK_BACK(Request, request);
    CHECK_BACK(Request, MPI_REQUEST_NULL);
    CHECK_BACK(Message, MPI_MESSAGE_NULL);
    CHECK_BACK(Op, MPI_SUM);
    CHECK_BACK(Op, MPI_OP_NULL);
    CHECK_BACK(Info, info);
    CHECK_BACK(Info, MPI_INFO_NULL);
    CHECK_BACK(Errhandler, handler);
    CHECK_BACK(Win, MPI_WIN_NULL);
    CHECK_BACK(File, MPI_FILE_NULL);
    MPI_Send(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, rank);
    MPI_Errhandler_free(&handler);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    passed("there and back");
}

static void statuses(void)
{
    MPI_Fint in_fortran[16]; /* at least MPI_STATUS_SIZE */
    MPI_Status status, again;
    int values[3] = { 1, 2, 3 }, got[3] = { 0 }, count = 0;

    MPI_Sendrecv(values, 3, MPI_INT, rank, 7, got, 3, MPI_INT, rank, 7, MPI_COMM_WORLD, &status);
    CHECK_EQUAL(MPI_Status_c2f(&status, in_fortran), MPI_SUCCESS);
    memset(&again, 0, sizeof(again));
    CHECK_EQUAL(MPI_Status_f2c(in_fortran, &again), MPI_SUCCESS);
    CHECK_EQUAL(again.MPI_SOURCE, rank);
    CHECK_EQUAL(again.MPI_TAG, 7);
    MPI_Get_count(&again, MPI_INT, &count);
    CHECK_EQUAL(count, 3);
    passed("statuses");
}

static void check_bytes(MPI_Datatype type, int expected)
{
    int bytes = -1;

    MPI_Type_size(type, &bytes);
    CHECK_EQUAL(bytes, expected);
}

static void chosen_types(void)
{
    MPI_Datatype type;

    MPI_Type_create_f90_real(6, 30, &type);
    check_bytes(type, 4);
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type);
    check_bytes(type, 8);
    MPI_Type_create_f90_complex(15, 300, &type);
    check_bytes(type, 16);
    MPI_Type_create_f90_integer(4, &type);
    check_bytes(type, 2);
    MPI_Type_create_f90_integer(9, &type);
    check_bytes(type, 4);
    MPI_Type_create_f90_integer(18, &type);
    check_bytes(type, 8);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    check_bytes(type, 8);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &type);
    check_bytes(type, 4);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
    check_bytes(type, 16);
    passed("chosen types");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    back();
    statuses();
    chosen_types();
    MPI_Finalize();
    return 0;
}
