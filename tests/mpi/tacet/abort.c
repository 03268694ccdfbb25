/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abort.c: the last rank ends the job, in the way that its argument says, while the others wait for it:
 * `abort` (MPI_Abort), `error` (a wrong argument, whose handler is the fatal one), `missing` (a function that
 * the library does not support).
 */
#include "../programs/check.h"

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    const char *how = count > 1 ? arguments[1] : "abort";
    if (rank == size - 1) {
        if (strcmp(how, "error") == 0)
            MPI_Send(&rank, 1, MPI_INT, size + 5, 1, MPI_COMM_WORLD);
        else if (strcmp(how, "missing") == 0)
            MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_RDONLY, MPI_INFO_NULL, &(MPI_File){ 0 });
        else
            MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d went on\n", rank);
    MPI_Finalize();
    return 0;
}
