/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entries.c: how often the ranks of a Tacet node enter the kernel while they meet in barriers, and while they
 * exchange 4 KiB. Each rank reads the counters of its own CPU, which costs no entry. Prints one line for each
 * part: `barrier: N entries of all ranks`.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include "../programs/check.h"
#include <sched.h>
#include <tacet.h>

#define ROUNDS 300
#define BYTES  4096

static char out[BYTES], in[BYTES];

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void exchange(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    MPI_Sendrecv(out, BYTES, MPI_BYTE, next, 1, in, BYTES, MPI_BYTE, previous, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void count(const char *name, void (*part)(void))
{
    uint32_t cpu = (uint32_t)sched_getcpu();
    unsigned long entries, all = 0;

    for (int i = 0; i < 10; i++)
        part(); /* one-time work is done here */
    uint64_t before = tacet_kernel_entries(cpu);
    for (int i = 0; i < ROUNDS; i++)
        part();
    entries = (unsigned long)(tacet_kernel_entries(cpu) - before);
    MPI_Reduce(&entries, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %lu entries of all ranks\n", name, all);
}

int main(int argument_count, char **arguments)
{
    begin(&argument_count, &arguments);
    CHECK(tacet_counters(0) != NULL);
    count("barrier", barrier);
    count("exchange", exchange);
    MPI_Finalize();
    return 0;
}
