/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modes.c: every mode of a send in each of its forms (blocking, not, persistent), with small and large
 * messages, to a receive that is already posted, as the ready mode requires; many requests; a long queue of
 * unexpected messages. [MPI 3.1 §3.4, §3.7, §3.9]
 */
#include "check.h"

#if defined(MPICH_VERSION) || defined(OPEN_MPI) /* their time grows with the square of either */
enum { LARGE = 50000, MANY = 2000, DEEP = 2000 };
#else
enum { LARGE = 50000, MANY = 100000, DEEP = 100000 };
#endif

typedef int send_call(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_call(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static send_call *const sends[] = { MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend };
static isend_call *const isends[] = { MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend };
static isend_call *const inits[] = { MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init };

static int out[LARGE], in[LARGE], next, previous;

static void prepare(int count, int mode)
{
    for (int i = 0; i < count; i++) {
        out[i] = rank * 1000 + mode * 100 + i;
        in[i] = -1;
    }
}

static void check(int count, int mode)
{
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(in[i], previous * 1000 + mode * 100 + i);
}

/* Sends in form 0, 1 or 2: blocking, nonblocking, persistent. The receiver reports when its receive is
 * posted. */
static void send_in(int form, int mode, int count)
{
    MPI_Request receive, send, ready;

    prepare(count, mode);
    MPI_Irecv(in, count, MPI_INT, previous, mode, MPI_COMM_WORLD, &receive);
    MPI_Isend(NULL, 0, MPI_INT, previous, 50, MPI_COMM_WORLD, &ready);
    MPI_Recv(NULL, 0, MPI_INT, next, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&ready, MPI_STATUS_IGNORE);
    if (form == 0) {
        sends[mode](out, count, MPI_INT, next, mode, MPI_COMM_WORLD);
    } else if (form == 1) {
        isends[mode](out, count, MPI_INT, next, mode, MPI_COMM_WORLD, &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    } else {
        inits[mode](out, count, MPI_INT, next, mode, MPI_COMM_WORLD, &send);
        MPI_Start(&send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Request_free(&send);
    }
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    check(count, mode);
}

static void modes(void)
{
    int room = 3 * (LARGE * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)room), *detached;

    MPI_Buffer_attach(buffer, room);
    for (int form = 0; form < 3; form++)
        for (int mode = 0; mode < 4; mode++) {
            send_in(form, mode, 0);
            send_in(form, mode, 1);
            send_in(form, mode, LARGE);
        }
    MPI_Buffer_detach(&detached, &room);
    free(buffer);
    passed("modes");
}

/* Tests a large number of requests at a time, completed by one call. */
static void many(void)
{
    MPI_Request *requests = malloc(2 * MANY * sizeof(*requests));
    int *values = malloc(2 * MANY * sizeof(int));

    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(&values[i], 1, MPI_INT, rank, i % 1000, MPI_COMM_WORLD, &requests[i]);
        values[MANY + i] = i;
    }
    for (int i = 0; i < MANY; i++)
        MPI_Isend(&values[MANY + i], 1, MPI_INT, rank, i % 1000, MPI_COMM_WORLD, &requests[MANY + i]);
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        CHECK_EQUAL(values[i], i);
    free(requests);
    free(values);
    passed("many requests");
}

/* Tests unexpected messages, received from the newest tag to the oldest, and by wildcards in their order. */
static void deep(void)
{
    MPI_Request *requests = malloc(DEEP * sizeof(*requests));
    int *values = malloc(DEEP * sizeof(*values)), value = -1;
    MPI_Status status;

    CHECK(requests && values);
    for (int i = 0; i < DEEP; i++) {
        values[i] = i;
        MPI_Isend(&values[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = DEEP - 1; i >= DEEP / 2; i--) {
        MPI_Recv(&value, 1, MPI_INT, previous, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQUAL(value, i);
    }
    for (int i = 0; i < DEEP / 2; i++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_EQUAL(value, i);
        CHECK_EQUAL(status.MPI_TAG, i);
    }
    MPI_Waitall(DEEP, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(values);
    passed("deep queue");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    modes();
    many();
    deep();
    MPI_Finalize();
    return 0;
}
