/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrapper_fortran.h: the same as wrapper_c.h in wrappers of Fortran. A shared library names the MPI library's
 * Fortran weakly, because programs in C have none.
 */
#ifndef WRAPPER_FORTRAN_H
#define WRAPPER_FORTRAN_H

#include "trace.h"

#ifdef TRACE_SHARED
#define TRACE_WEAK __attribute__((weak))
#else
#define TRACE_WEAK
#endif

static inline const MPI_Status *status_of(MPI_Fint *status, MPI_Status *converted)
{
    PMPI_Status_f2c(status, converted);
    return converted;
}

#define STATUS(status)                                            \
    MPI_Status c_##status;                                        \
    MPI_Fint own_##status[sizeof(MPI_Status) / sizeof(MPI_Fint)]; \
    if (status == MPI_F_STATUS_IGNORE)                            \
        status = own_##status;
#define GOT(status) status_of(status, &c_##status)
#define STATUSES(count, statuses)          \
    if (statuses == MPI_F_STATUSES_IGNORE) \
        statuses = trace_fortran_statuses(count);
#define ALL(count, statuses)  trace_statuses_of_fortran(count, statuses)
#define KEYS(count, requests) uintptr_t *keys = trace_fortran_keys(count, requests);
#define TYPES(count, types)   trace_types_of_fortran(count, types)
#define IN_PLACE(buffer)      trace_fortran_in_place(buffer)
#define IN_FORTRAN            true
#define BASE                  1

#endif
