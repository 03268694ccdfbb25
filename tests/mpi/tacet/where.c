/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * where.c: each rank prints where it runs, and how many ranks share its node's memory. With the argument
 * `abort` the last rank ends the job with 7 instead, while the others wait for it.
 */
#include "../programs/check.h"

int main(int count, char **arguments)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    MPI_Comm node;
    int length, together;

    begin(&count, &arguments);
    MPI_Get_processor_name(name, &length);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &together);
    MPI_Comm_free(&node);
    if (count > 1 && strcmp(arguments[1], "abort") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d at %s, %d share its memory\n", rank, size, name, together);
    MPI_Finalize();
    return 0;
}
