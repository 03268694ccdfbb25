/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.c: what tracing adds to a call, as the difference between MPI_F, which the tracer wraps, and PMPI_F.
 * On a node where an instruction takes 1 ns the clock counts instructions. Prints a line for each function.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 200

enum { RANK, SEND, RECEIVE, BCAST, ALLREDUCE, ISEND, IRECV, WAITALL, PARTS };
static const char *const names[PARTS] = { "MPI_Comm_rank", "MPI_Send",  "MPI_Recv",  "MPI_Bcast",
                                          "MPI_Allreduce", "MPI_Isend", "MPI_Irecv", "MPI_Waitall of 2" };
static uint64_t spent_ns[2][PARTS];
static int number, other;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Adds the time of a call. */
#define TIMED(what, call)                              \
    do {                                               \
        uint64_t before_ns = clock_ns();               \
        call;                                          \
        spent_ns[way][what] += clock_ns() - before_ns; \
    } while (0)

#define ALL(prefix)                                                                                        \
    static void prefix##_all(int way)                                                                      \
    {                                                                                                      \
        MPI_Request requests[2];                                                                           \
        TIMED(RANK, prefix##_Comm_rank(MPI_COMM_WORLD, &number));                                          \
        TIMED(SEND, prefix##_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));                 \
        TIMED(RECEIVE,                                                                                     \
              prefix##_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));    \
        TIMED(BCAST, prefix##_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));                              \
        TIMED(ALLREDUCE, prefix##_Allreduce(&number, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));        \
        TIMED(IRECV, prefix##_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0])); \
        TIMED(ISEND, prefix##_Isend(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[1]));             \
        TIMED(WAITALL, prefix##_Waitall(2, requests, MPI_STATUSES_IGNORE));                                \
    }
ALL(MPI)
ALL(PMPI)

int main(void)
{
    MPI_Init(NULL, NULL);
    for (int i = 0; i < ROUNDS + 10; i++) {
        if (i == 10) /* one-time work is done */
            for (int part = 0; part < PARTS; part++)
                spent_ns[0][part] = spent_ns[1][part] = 0;
        MPI_all(1);
        PMPI_all(0);
    }
    for (int part = 0; part < PARTS; part++)
        printf("%s: %.0f instructions\n", names[part],
               (double)(spent_ns[1][part] - spent_ns[0][part]) / ROUNDS);
    MPI_Finalize();
    return 0;
}
