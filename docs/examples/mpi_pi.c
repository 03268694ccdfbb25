/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_pi.c: π as the integral of 4 / (1 + x²) from 0 to 1, its strips dealt out to the ranks.
 */
#include <mpi.h>
#include <stdio.h>

#define STRIPS 1000000

int main(int count, char **arguments)
{
    int rank, size;
    double own = 0, sum;

    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = rank; i < STRIPS; i += size) {
        double x = (i + 0.5) / STRIPS;

        own += 4 / (1 + x * x) / STRIPS;
    }
    MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %.10f\n", size, sum);
    MPI_Finalize();
    return 0;
}
