/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran.c: arrays and addresses of programs in Fortran, as C has them. The wrappers pass what they get to
 * the library unchanged, and convert for the record alone.
 */
#include "trace.h"

#define STATUS_INTEGERS (sizeof(MPI_Status) / sizeof(MPI_Fint))

/* Where libraries have their MPI_IN_PLACE of Fortran: mpi-lite, Open MPI; MPICH has a pointer. */
extern MPI_Fint mpi_lite_in_place_[] __attribute__((weak));
extern MPI_Fint mpi_fortran_in_place_[] __attribute__((weak));
extern void *MPIR_F_MPI_IN_PLACE __attribute__((weak));

bool trace_fortran_in_place(const void *buffer)
{
    return buffer && (buffer == mpi_lite_in_place_ || buffer == mpi_fortran_in_place_ ||
                      (&MPIR_F_MPI_IN_PLACE && buffer == MPIR_F_MPI_IN_PLACE));
}

uintptr_t *trace_fortran_keys(int count, const MPI_Fint *requests)
{
    static void *memory;
    static size_t bytes;
    uintptr_t *keys = trace_scratch(count, sizeof(*keys), &memory, &bytes);

    for (int i = 0; i < count; i++)
        keys[i] = TRACE_KEY(PMPI_Request_f2c(requests[i]));
    return keys;
}

MPI_Fint *trace_fortran_statuses(int count)
{
    static void *memory;
    static size_t bytes;

    return trace_scratch(count, sizeof(MPI_Status), &memory, &bytes);
}

MPI_Status *trace_statuses_of_fortran(int count, const MPI_Fint *statuses)
{
    MPI_Status *converted = trace_statuses(count);

    for (int i = 0; i < count; i++)
        PMPI_Status_f2c((MPI_Fint *)statuses + (size_t)i * STATUS_INTEGERS, &converted[i]);
    return converted;
}

MPI_Datatype *trace_types_of_fortran(int count, const MPI_Fint *types)
{
    static void *memory;
    static size_t bytes;
    MPI_Datatype *converted = trace_scratch(count, sizeof(*converted), &memory, &bytes);

    for (int i = 0; i < count; i++)
        converted[i] = PMPI_Type_f2c(types[i]);
    return converted;
}
