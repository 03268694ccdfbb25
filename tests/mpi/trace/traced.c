/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traced.c: sends messages in every way that a trace must understand, and prints each as the program knows
 * it: `S` or `R`, sender and receiver in MPI_COMM_WORLD, tag, bytes. Linked with libmpi-trace, its trace must
 * have the same messages, by whatever library. Runs on two ranks or more.
 *
 *   traced          returns from main after MPI_Finalize
 *   traced abort    rank 1 calls MPI_Abort at the end; exit: all end without MPI_Finalize
 *   traced error    rank 1 makes an error that ends the job
 *   traced term     rank 1 ends itself by SIGTERM, or by SIGKILL: kill; the others wait for it
 *   traced threads  asks for MPI_THREAD_MULTIPLE, and prints what it gets
 *   traced dump     prints each rank's trace after MPI_Finalize: `T`, and the file in hexadecimal digits
 */
#define _DEFAULT_SOURCE /* usleep */
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 3

static int rank, size, next, previous;
static char text[1 << 16], buffer[4][4096];
static size_t used;

static void note(char what, int from, int to, int tag, int bytes)
{
    used +=
        (size_t)snprintf(text + used, sizeof(text) - used, "%c %d %d %d %d\n", what, from, to, tag, bytes);
}

static void sends(int to, int tag, int bytes)
{
    note('S', rank, to, tag, bytes);
}

static void receives(int from, int tag, int bytes)
{
    note('R', from, rank, tag, bytes);
}

/* Sends from each rank to rank 0, which names no source and no tag. */
static void any_source(void)
{
    MPI_Request requests[8];

    if (rank) {
        sends(0, 10 + rank, 4 * rank);
        MPI_Send(buffer[0], rank, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < size; i++) {
        receives(i, 10 + i, 4 * i);
        if (i % 2)
            MPI_Irecv(buffer[i % 4], 4096, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                      &requests[0]);
        else
            MPI_Recv(buffer[i % 4], 4096, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (i % 2)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void ring(void)
{
    MPI_Request requests[2];

    receives(previous, 20, 100);
    sends(next, 20, 100);
    MPI_Irecv(buffer[0], 200, MPI_BYTE, previous, 20, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(buffer[1], 100, MPI_BYTE, next, 20, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    receives(previous, 21, 64);
    sends(next, 21, 64);
    MPI_Sendrecv(buffer[0], 8, MPI_DOUBLE, next, 21, buffer[1], 8, MPI_DOUBLE, previous, 21, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    receives(previous, 22, 12);
    sends(next, 22, 12);
    MPI_Sendrecv_replace(buffer[0], 12, MPI_BYTE, next, 22, previous, 22, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer[0], 9, MPI_BYTE, MPI_PROC_NULL, 23, MPI_COMM_WORLD);
    MPI_Recv(buffer[0], 9, MPI_BYTE, MPI_PROC_NULL, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Begins persistent requests several times, two at once and one at a time. */
static void persistent(void)
{
    MPI_Request requests[2];

    MPI_Recv_init(buffer[0], 300, MPI_BYTE, MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(buffer[1], 30, MPI_BYTE, next, 30, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < ROUNDS; i++) {
        receives(previous, 30, 30);
        sends(next, 30, 30);
        if (i % 2) {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
        } else {
            MPI_Startall(2, requests);
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Loops of calls that find nothing at first. Rank 1 sends late, after it has heard of rank 0. */
static void polls(void)
{
    int flag = 0, index, done = 0, indices[2];
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Message message;

    if (rank == 1) {
        receives(0, 40, 1);
        MPI_Recv(buffer[0], 1, MPI_BYTE, 0, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int tag = 41; tag < 46; tag++) {
            sends(0, tag, tag);
            MPI_Ssend(buffer[0], tag, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        }
    }
    if (rank)
        return;
    MPI_Irecv(buffer[0], 4096, MPI_BYTE, 1, 41, MPI_COMM_WORLD, &requests[0]);
    for (int i = 0; i < 10; i++)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); /* in vain */
    sends(1, 40, 1);
    MPI_Send(buffer[1], 1, MPI_BYTE, 1, 40, MPI_COMM_WORLD);
    receives(1, 41, 41);
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Iprobe(MPI_ANY_SOURCE, 42, MPI_COMM_WORLD, &flag, &status);
    receives(1, 42, 42);
    MPI_Recv(buffer[0], 4096, MPI_BYTE, status.MPI_SOURCE, 42, MPI_COMM_WORLD, &status);
    for (flag = 0; !flag;)
        MPI_Improbe(MPI_ANY_SOURCE, 43, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    receives(1, 43, 43);
    MPI_Mrecv(buffer[0], 4096, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        receives(1, 44 + i, 44 + i);
        MPI_Irecv(buffer[i], 4096, MPI_BYTE, MPI_ANY_SOURCE, 44 + i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    while (done != MPI_UNDEFINED)
        MPI_Testsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
}

/* Sends in communicators whose ranks are not MPI_COMM_WORLD's. */
static void communicators(void)
{
    MPI_Comm back, half, again;
    MPI_Request request;
    int to, from;

    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
    to = size - 1 - rank; /* its rank there; world's */
    from = to;
    sends(to, 50, 50);
    receives(from, 50, 50);
    MPI_Sendrecv(buffer[0], 50, MPI_BYTE, size - 1 - to, 50, buffer[1], 50, MPI_BYTE, size - 1 - from, 50,
                 back, MPI_STATUS_IGNORE);
    MPI_Comm_idup(back, &again, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sends(rank, 51, 5);
    receives(rank, 51, 5);
    MPI_Sendrecv(buffer[0], 5, MPI_BYTE, size - 1 - rank, 51, buffer[1], 5, MPI_BYTE, size - 1 - rank, 51,
                 again, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Allreduce(MPI_IN_PLACE, buffer[0], 2, MPI_INT, MPI_SUM, half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&again);
    MPI_Comm_free(&back);
}

static void collectives(void)
{
    int counts[16], places[16], out[16] = { 0 }, in[64];
    MPI_Request requests[2];
    MPI_Datatype three;

    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = i;
    }
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Bcast(in, 2, three, 0, MPI_COMM_WORLD);
    MPI_Type_free(&three);
    MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(out, in, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end(const char *how)
{
    if (strcmp(how, "exit") == 0)
        exit(0);
    if (rank == 1 && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 1 && strcmp(how, "error") == 0)
        MPI_Send(buffer, 1, MPI_BYTE, 99, 1, MPI_COMM_WORLD);
    if (rank == 1)
        raise(strcmp(how, "kill") == 0 ? SIGKILL : SIGTERM);
    MPI_Recv(buffer, 1, MPI_BYTE, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Prints the trace after the rank before, which says so by a file: together they would mix their lines. */
static void dump(void)
{
    char path[64];
    int byte;

    snprintf(path, sizeof(path), "mpi-trace/turn-%d", rank);
    while (rank && access(path, F_OK) != 0)
        usleep(1000);
    snprintf(path, sizeof(path), "mpi-trace/rank-%d.trace", rank);
    FILE *file = fopen(path, "r");
    for (used = (size_t)sprintf(text, "T "); file && (byte = fgetc(file)) != EOF;)
        used += (size_t)sprintf(text + used, "%02x", (unsigned)byte);
    text[used++] = '\n';
    fwrite(text, 1, used, stdout);
    fflush(stdout);
    snprintf(path, sizeof(path), "mpi-trace/turn-%d", rank + 1);
    fclose(fopen(path, "w"));
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    int provided = MPI_THREAD_SINGLE;

    if (strcmp(how, "threads") == 0)
        MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    any_source();
    MPI_Barrier(MPI_COMM_WORLD); /* what follows has no tag of its own there */
    ring();
    persistent();
    polls();
    communicators();
    collectives();
    if (strcmp(how, "threads") == 0)
        printf("%s\n", provided == MPI_THREAD_SERIALIZED ? "serialized" : "not serialized");
    else if (count > 1 && strcmp(how, "dump"))
        end(how);
    fwrite(text, 1, used, stdout);
    fflush(stdout);
    MPI_Finalize();
    if (strcmp(how, "dump") == 0)
        dump();
    return 0;
}
