/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrapper_c.h: what rules of wrappers.py mean in wrappers of C. STATUS and STATUSES replace what the program
 * ignores; ALL is all statuses of a call; BASE is the number of an array's first element.
 */
#ifndef WRAPPER_C_H
#define WRAPPER_C_H

#include "trace.h"

#define STATUS(status)               \
    MPI_Status own_##status;         \
    if (status == MPI_STATUS_IGNORE) \
        status = &own_##status;
#define GOT(status) status
#define STATUSES(count, statuses)        \
    if (statuses == MPI_STATUSES_IGNORE) \
        statuses = trace_statuses(count);
#define ALL(count, statuses)  statuses
#define KEYS(count, requests) uintptr_t *keys = trace_keys(count, requests);
#define TYPES(count, types)   types
#define IN_PLACE(buffer)      (buffer == MPI_IN_PLACE)
#define IN_FORTRAN            false
#define BASE                  0

#endif
