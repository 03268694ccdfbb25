/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c: the checks that nearly every call begins with. Checks of single arguments are in base.h and next
 * to what they check.
 */
#include "base/base.h"

static bool is_started(void)
{
    return mpi_world.initialized && !mpi_world.finalized;
}

static int unstarted(void)
{
    return mpi_error(MPI_ERR_OTHER, mpi_world.finalized ? "MPI is finalized" : "MPI is not initialized");
}

int check_started(void)
{
    return is_started() ? MPI_SUCCESS : unstarted();
}

int check_comm(const struct mpi_comm *comm)
{
    if (!is_started())
        return unstarted();
    if (comm == MPI_COMM_NULL)
        return mpi_error(MPI_ERR_COMM, "argument comm: MPI_COMM_NULL");
    return check_live(comm->group != NULL, MPI_ERR_COMM, "comm"); /* other threads change its references */
}
