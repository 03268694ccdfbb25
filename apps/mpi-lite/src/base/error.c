/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.c: what happens to an error: its reason is stored until the outermost call returns, which then calls
 * the error handler of the communicator. The texts of classes are in error_text.c.
 *
 * Each thread has its own reason. A handler of the program runs under the library's lock, which nests, so it
 * may call MPI. Before MPI_Init and after MPI_Finalize every error ends the job.
 *
 * Source: MPI 3.1 §8.3.
 */
#include "base/handle.h"
#include <stdarg.h>
#include <stdio.h>

struct mpi_errhandler mpi_lite_errors_are_fatal = { .references = 1, .predefined = true };
struct mpi_errhandler mpi_lite_errors_return = { .references = 1, .predefined = true };

static _Thread_local int reason_class; /* of the error that `reason` explains, or MPI_SUCCESS */
static _Thread_local char reason[320];

int mpi_error(int class, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    reason_class = class;
    return class;
}

int mpi_out_of_memory(void)
{
    return mpi_error(MPI_ERR_NO_MEM, "no memory left");
}

static _Noreturn void error_end(const char *function, int error)
{
    char text[MPI_MAX_ERROR_STRING];
    const char *why = reason;

    if (reason_class != error) {
        error_say(error, text, sizeof(text));
        why = text;
    }
    mpi_abort(error_status(error), "%s: %s: %s", function, error_name(error), why);
}

typedef void fortran_handler(MPI_Fint *object, MPI_Fint *error);

/* Invokes a handler in Fortran, which gets the number of the handle at `handle`. */
static void fortran_handler_call(const struct mpi_errhandler *handler, void *handle, int error)
{
    mpi_enter(); /* some calls report their error without the lock */
    MPI_Fint number = handle_number(handler->is_of_windows ? FORTRAN_WIN : FORTRAN_COMM, *(void **)handle);
    mpi_leave();

    ((fortran_handler *)(void (*)(void))handler->function)(&number, &error);
}

/* Invokes the error handler; `handle` is the address of the handle that the program's function gets. */
static void errhandler_call(struct mpi_errhandler *handler, void *handle, const char *function, int error)
{
    if (!handler || handler == MPI_ERRORS_ARE_FATAL)
        error_end(function, error);
    if (handler == MPI_ERRORS_RETURN)
        return;
    handler->references++; /* it may free itself */
    if (handler->is_fortran)
        fortran_handler_call(handler, handle, error);
    else if (handler->is_of_windows)
        ((MPI_Win_errhandler_function *)(void (*)(void))handler->function)(handle, &error);
    else
        handler->function(handle, &error);
    errhandler_release(handler);
}

static int error_return(struct mpi_errhandler *handler, void *handle, const char *function, int error)
{
    if (!error)
        return MPI_SUCCESS;
    if (!mpi_world.initialized || mpi_world.finalized)
        error_end(function, error);
    errhandler_call(handler, handle, function, error);
    reason_class = MPI_SUCCESS;
    return error;
}

int mpi_return(struct mpi_comm *comm, const char *function, int error)
{
    if (!error)
        return MPI_SUCCESS; /* `comm` may be gone */
    if (!comm)
        comm = MPI_COMM_WORLD;
    if (comm->window)
        return mpi_return_to(comm->window, function, error);
    return error_return(comm->errhandler, &comm, function, error);
}

int mpi_leave_with(struct mpi_comm *comm, const char *function, int error)
{
    if (error)
        error = mpi_return(comm, function, error);
    mpi_leave();
    return error;
}

int mpi_return_to(struct hearer *hearer, const char *function, int error)
{
    return error_return(hearer->errhandler, &hearer, function, error);
}

void errhandler_release(struct mpi_errhandler *handler)
{
    if (!handler || handler->predefined || --handler->references)
        return;
    handle_release(handler);
    object_end(handler, sizeof(*handler));
}

/* ---- Handlers ---- */

static int Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    if (!function)
        return mpi_error(MPI_ERR_ARG, "argument function: NULL");
    *errhandler = object_make(sizeof(**errhandler));
    if (!*errhandler)
        return mpi_out_of_memory();
    **errhandler = (struct mpi_errhandler){ .references = 1, .function = function };
    return MPI_SUCCESS;
}
MPI_CALL(Comm_create_errhandler);

static int Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    if (errhandler == MPI_ERRHANDLER_NULL)
        return mpi_error(MPI_ERR_ARG, "argument errhandler: MPI_ERRHANDLER_NULL");
    int error = check_live(errhandler->references, MPI_ERR_ARG, "errhandler");
    if (error)
        return error;
    errhandler->references++;
    errhandler_release(comm->errhandler);
    comm->errhandler = errhandler;
    return MPI_SUCCESS;
}
MPI_CALL(Comm_set_errhandler);

static int Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    *errhandler = comm->errhandler ? comm->errhandler : MPI_ERRORS_ARE_FATAL;
    (*errhandler)->references++;
    return MPI_SUCCESS;
}
MPI_CALL(Comm_get_errhandler);

int PMPI_Comm_call_errhandler(MPI_Comm comm, int code)
{
    mpi_enter();
    int error = check_comm(comm);
    if (error)
        error = mpi_return(NULL, "MPI_Comm_call_errhandler", error);
    else
        errhandler_call(comm->errhandler, &comm, "MPI_Comm_call_errhandler", code);
    mpi_leave();
    return error;
}
MPI_ALIAS(Comm_call_errhandler);

static int Errhandler_free(MPI_Errhandler *errhandler)
{
    if (*errhandler == MPI_ERRHANDLER_NULL)
        return mpi_error(MPI_ERR_ARG, "argument errhandler: MPI_ERRHANDLER_NULL");
    int error = check_live((*errhandler)->references, MPI_ERR_ARG, "errhandler");
    if (error)
        return error;
    errhandler_release(*errhandler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
MPI_CALL(Errhandler_free);
