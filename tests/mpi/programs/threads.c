/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c: MPI_THREAD_MULTIPLE: threads of each rank send, receive, probe and wait at the same time, each
 * with its own tags, and enter collectives on their own communicators. [MPI 3.1 §12.4]
 */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS  200
#define INTS    3000

static MPI_Comm comms[THREADS];

static int value_of(int from, int thread, int round, int i)
{
    return from * 1000003 + thread * 10007 + round * 101 + i;
}

static void exchange(int thread, int round, int *out, int *in)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, ints = round % 7 ? 10 : INTS,
        taken = 0;
    MPI_Request send;
    MPI_Status status;

    for (int i = 0; i < ints; i++)
        out[i] = value_of(rank, thread, round, i);
    MPI_Isend(out, ints, MPI_INT, next, thread, MPI_COMM_WORLD, &send);
    if (round % 3 == 0) {
        MPI_Probe(previous, thread, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &taken);
        CHECK_EQUAL(taken, ints);
    }
    MPI_Recv(in, INTS, MPI_INT, previous, thread, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    for (int i = 0; i < ints; i++)
        CHECK_EQUAL(in[i], value_of(previous, thread, round, i));
}

static void *work(void *argument)
{
    int thread = (int)(long)argument, is_main = 1;
    int *out = malloc(INTS * sizeof(int)), *in = malloc(INTS * sizeof(int));

    MPI_Is_thread_main(&is_main);
    CHECK(is_main == (thread == 0));
    for (int round = 0; round < ROUNDS; round++) {
        int sum = 0, own = rank + thread + round;

        exchange(thread, round, out, in);
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comms[thread]);
        CHECK_EQUAL(sum, size * (size - 1) / 2 + size * (thread + round));
        if (round % 10 == 0)
            MPI_Barrier(comms[thread]);
    }
    free(out);
    free(in);
    return NULL;
}

/* Copies communicators. A copy of a communicator of this process alone needs no other rank, so it may be made
 * under a lock for which threads of others wait; in each rank another thread comes late. */
static void *copies(void *argument)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    long thread = (long)argument;

    for (int round = 0; round < 4; round++) {
        MPI_Comm own, shared;

        if (thread == rank % THREADS)
            usleep(20000);
        pthread_mutex_lock(&lock);
        MPI_Comm_dup(MPI_COMM_SELF, &own);
        pthread_mutex_unlock(&lock);
        MPI_Comm_free(&own);
        MPI_Comm_dup(comms[thread], &shared);
        MPI_Comm_free(&shared);
    }
    return NULL;
}

static void run(void *(*function)(void *))
{
    pthread_t threads[THREADS];

    for (long i = 1; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, function, (void *)i) == 0);
    function((void *)0L);
    for (int i = 1; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int count, char **arguments)
{
    int provided = -1;

    MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
    MPI_Query_thread(&provided);
    CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    run(work);
    run(copies);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    passed("threads");
    MPI_Finalize();
    return 0;
}
