/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * environment.c: versions, the node's name, the clock, memory, and MPI_Pcontrol.
 *
 * The clock is CLOCK_MONOTONIC: each node has its own start, so MPI_WTIME_IS_GLOBAL is false. The calls about
 * versions and the clock take no lock and work at any time.
 *
 * Source: MPI 3.1 §8.1 (implementation), §8.2 (memory), §8.6 (clocks), §14.2.4 (MPI_Pcontrol).
 */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#define MEMORY_ALIGN 64

int PMPI_Get_version(int *version, int *subversion)
{
    int error = check_output(version, "version");

    if (!error)
        error = check_output(subversion, "subversion");
    if (!error) {
        *version = MPI_VERSION;
        *subversion = MPI_SUBVERSION;
    }
    return mpi_return(NULL, "MPI_Get_version", error);
}
MPI_ALIAS(Get_version);

int PMPI_Get_library_version(char *version, int *length)
{
    int error = check_output(version, "version");

    if (!error)
        error = check_output(length, "resultlen");
    if (!error) {
        strcpy(version, "mpi-lite, the MPI library of Tacet, MPI 3.1");
        *length = (int)strlen(version);
    }
    return mpi_return(NULL, "MPI_Get_library_version", error);
}
MPI_ALIAS(Get_library_version);

static int Get_processor_name(char *name, int *length)
{
    struct utsname system;

    name[0] = '\0';
    if (uname(&system) == 0)
        strncat(name, system.nodename, MPI_MAX_PROCESSOR_NAME - 1);
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}
MPI_CALL(Get_processor_name);

static double seconds_of(const struct timespec *time)
{
    return (double)time->tv_sec + (double)time->tv_nsec * 1e-9;
}

double PMPI_Wtime(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return seconds_of(&now);
}
MPI_ALIAS(Wtime);

double PMPI_Wtick(void)
{
    struct timespec resolution;

    clock_getres(CLOCK_MONOTONIC, &resolution);
    return seconds_of(&resolution);
}
MPI_ALIAS(Wtick);

static int Alloc_mem(MPI_Aint size, MPI_Info info, void *base)
{
    void *memory = NULL;

    (void)info; /* no hint has an effect */
    if (size < 0)
        return mpi_error(MPI_ERR_ARG, "argument size: %lld is negative", (long long)size);
    if (posix_memalign(&memory, MEMORY_ALIGN, size ? (size_t)size : 1))
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %lld bytes", (long long)size);
    memcpy(base, &memory, sizeof(memory)); /* a pointer of any type */
    return MPI_SUCCESS;
}
MPI_CALL(Alloc_mem);

int PMPI_Free_mem(void *base)
{
    free(base);
    return MPI_SUCCESS;
}
MPI_ALIAS(Free_mem);

int PMPI_Pcontrol(const int level, ...)
{
    (void)level; /* for profiling libraries, which define MPI_Pcontrol */
    return MPI_SUCCESS;
}
MPI_ALIAS(Pcontrol);
