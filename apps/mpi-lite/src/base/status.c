/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * status.c: what a status says of a message, and whether it was cancelled. It counts bytes of packed data;
 * MPI_Get_count (type.c) converts them to elements of a type.
 *
 * Source: MPI 3.1 §3.2.5 (return status), §3.8.4 (cancel), §12.3 (status of generalized requests).
 */
#include "base/base.h"

void status_set(MPI_Status *status, int source, int tag, size_t bytes)
{
    /* Calls for one message do not change MPI_ERROR. */
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->mpi_lite_bytes = bytes;
    status->mpi_lite_cancelled = 0;
}

void status_empty(MPI_Status *status, int source)
{
    status_set(status, source, MPI_ANY_TAG, 0);
}

static int check_status(const void *status)
{
    return status ? MPI_SUCCESS : mpi_error(MPI_ERR_ARG, "argument 1, status: MPI_STATUS_IGNORE");
}

int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    int error = check_status(status);

    if (!error)
        error = check_output(flag, "flag");
    if (!error)
        *flag = status->mpi_lite_cancelled != 0;
    return mpi_return(NULL, "MPI_Test_cancelled", error);
}
MPI_ALIAS(Test_cancelled);

int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    int error = check_status(status);

    if (!error)
        status->mpi_lite_cancelled = flag != 0;
    return mpi_return(NULL, "MPI_Status_set_cancelled", error);
}
MPI_ALIAS(Status_set_cancelled);
