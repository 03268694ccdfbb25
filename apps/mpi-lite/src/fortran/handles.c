/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handles.c: functions for Fortran in the library's first object: numbers of handles (base/handles.c) at any
 * time and under the lock, refusals of invalid numbers, and MPI_*_c2f, MPI_*_f2c.
 *
 * Source: MPI 3.1 §17.2.4 (handles), §17.2.5 (status).
 */
#include "fortran/fortran.h"
#include <string.h>

static const struct {
    const char *name;
    int class;
} kinds[FORTRAN_KINDS] = {
    [FORTRAN_COMM] = { "communicator", MPI_ERR_COMM },
    [FORTRAN_TYPE] = { "data type", MPI_ERR_TYPE },
    [FORTRAN_GROUP] = { "group", MPI_ERR_GROUP },
    [FORTRAN_REQUEST] = { "request", MPI_ERR_REQUEST },
    [FORTRAN_MESSAGE] = { "message", MPI_ERR_REQUEST },
    [FORTRAN_OP] = { "operation", MPI_ERR_OP },
    [FORTRAN_INFO] = { "info object", MPI_ERR_INFO },
    [FORTRAN_ERRHANDLER] = { "error handler", MPI_ERR_ARG },
    [FORTRAN_WIN] = { "window", MPI_ERR_WIN },
    [FORTRAN_FILE] = { "file", MPI_ERR_FILE },
};

/* ---- Numbers ---- */

/* Takes the lock, and gives the predefined objects their numbers before any other object gets one. */
static void handles_enter(void)
{
    mpi_enter();
    handles_begin(predefined_objects, predefined_count);
}

void mpi_lite_handles_begin(void)
{
    handles_enter();
    mpi_leave();
}

static MPI_Fint handle_number_of(enum fortran_kind kind, void *object)
{
    handles_enter();
    MPI_Fint number = handle_number(kind, object);
    mpi_leave();
    return number;
}

MPI_Fint mpi_lite_handle_give(enum fortran_kind kind, void *object)
{
    handles_enter();
    MPI_Fint number = handle_give(kind, object);
    mpi_leave();
    return number;
}

bool mpi_lite_handle_find(enum fortran_kind kind, MPI_Fint number, void **object)
{
    handles_enter();
    bool is_found = handle_find(kind, number, object);
    mpi_leave();
    return is_found;
}

unsigned mpi_lite_handle_serial(MPI_Fint number)
{
    handles_enter();
    unsigned serial = handle_serial(number);
    mpi_leave();
    return serial;
}

void mpi_lite_handle_take(MPI_Fint number, unsigned serial)
{
    handles_enter();
    handle_take(number, serial);
    mpi_leave();
}

/* ---- Refusals ---- */

int mpi_lite_handle_refuse(const char *function, enum fortran_kind kind, const char *argument,
                           MPI_Fint number)
{
    mpi_enter();
    int error = mpi_return(
        NULL, function,
        mpi_error(kinds[kind].class, "argument %s: %d is no %s", argument, number, kinds[kind].name));
    mpi_leave();
    return error;
}

int mpi_lite_fortran_refuse(const char *function, int class, const char *why)
{
    mpi_enter();
    int error = mpi_return(NULL, function, mpi_error(class, "%s", why));
    mpi_leave();
    return error;
}

void mpi_lite_fortran_missing(const char *function)
{
    mpi_abort(1, "%s is not in this library for Fortran", function);
}

/* ---- MPI's own names ---- */

#define CONVERSIONS(name, type, kind)                \
    MPI_Fint PMPI_##name##_c2f(type object)          \
    {                                                \
        return handle_number_of(kind, object);       \
    }                                                \
    MPI_ALIAS(name##_c2f);                           \
    type PMPI_##name##_f2c(MPI_Fint number)          \
    {                                                \
        void *object;                                \
                                                     \
        mpi_lite_handle_find(kind, number, &object); \
        return object;                               \
    }                                                \
    MPI_ALIAS(name##_f2c)

CONVERSIONS(Comm, MPI_Comm, FORTRAN_COMM);
CONVERSIONS(Type, MPI_Datatype, FORTRAN_TYPE);
CONVERSIONS(Group, MPI_Group, FORTRAN_GROUP);
CONVERSIONS(Request, MPI_Request, FORTRAN_REQUEST);
CONVERSIONS(Message, MPI_Message, FORTRAN_MESSAGE);
CONVERSIONS(Op, MPI_Op, FORTRAN_OP);
CONVERSIONS(Info, MPI_Info, FORTRAN_INFO);
CONVERSIONS(Errhandler, MPI_Errhandler, FORTRAN_ERRHANDLER);
CONVERSIONS(Win, MPI_Win, FORTRAN_WIN);
CONVERSIONS(File, MPI_File, FORTRAN_FILE);

_Static_assert(sizeof(MPI_Status) == 6 * sizeof(MPI_Fint), "MPI_STATUS_SIZE of mpif.h");

int PMPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    if (!c_status || !f_status)
        return mpi_lite_fortran_refuse("MPI_Status_c2f", MPI_ERR_ARG,
                                       "a status to be ignored cannot be converted");
    memcpy(f_status, c_status, sizeof(*c_status));
    return MPI_SUCCESS;
}
MPI_ALIAS(Status_c2f);

int PMPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    if (!c_status || !f_status)
        return mpi_lite_fortran_refuse("MPI_Status_f2c", MPI_ERR_ARG,
                                       "a status to be ignored cannot be converted");
    memcpy(c_status, f_status, sizeof(*c_status));
    return MPI_SUCCESS;
}
MPI_ALIAS(Status_f2c);
