/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_stubs.h: stubs of functions that parts of mpi-lite call and no fuzzer tries. All arguments are right,
 * errors have no text, and there is one thread. Included after the library's sources.
 */
#ifndef TESTS_FUZZ_MPI_STUBS_H
#define TESTS_FUZZ_MPI_STUBS_H

void mpi_enter(void)
{
}

void mpi_leave(void)
{
}

void progress_wait(bool (*done)(void *), void *argument)
{
    (void)done, (void)argument;
}

int mpi_return(struct mpi_comm *comm, const char *function, int error)
{
    (void)comm, (void)function;
    return error;
}

int mpi_leave_with(struct mpi_comm *comm, const char *function, int error)
{
    (void)comm, (void)function;
    return error;
}

int mpi_error(int class, const char *format, ...)
{
    (void)format;
    return class;
}

int check_started(void)
{
    return 0;
}

int check_comm(const struct mpi_comm *comm)
{
    (void)comm;
    return 0;
}

int buffer_refuse(int count, const struct mpi_datatype *type)
{
    (void)count, (void)type;
    return 0;
}

void type_hold(struct mpi_datatype *type)
{
    type->references++;
}

void type_release(struct mpi_datatype *type)
{
    type->references--;
}

void handle_release(const void *object)
{
    (void)object;
}

#endif
