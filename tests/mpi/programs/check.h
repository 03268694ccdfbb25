/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h: what the MPI programs of this folder share. They are ordinary MPI programs: they print the same
 * with every library. A check that fails prints its place and its rank, and ends the job.
 */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition) check_that(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(value, expected) \
    check_equal((long long)(value), (long long)(expected), #value, __FILE__, __LINE__)

__attribute__((unused)) static void check_that(int holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: rank %d of %d: %s does not hold\n", file, line, rank, size, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

__attribute__((unused)) static void check_equal(long long value, long long expected, const char *what,
                                                const char *file, int line)
{
    if (value == expected)
        return;
    fprintf(stderr, "%s:%d: rank %d of %d: %s is %lld, not %lld\n", file, line, rank, size, what, value,
            expected);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Waits until all ranks have passed a part; rank 0 prints it. */
__attribute__((unused)) static void passed(const char *part)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("ok %s\n", part);
        fflush(stdout);
    }
}

__attribute__((unused)) static void begin(int *count, char ***arguments)
{
    MPI_Init(count, arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

#endif
