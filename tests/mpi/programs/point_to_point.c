/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * point_to_point.c: messages between any number of ranks: order, wildcards, every mode, sizes near the limits
 * of eager, rendezvous and fragments, unexpected ones, truncation, messages to oneself, probes, buffered
 * sends, persistent requests, cancelled receives. [MPI 3.1 chapter 3]
 */
#include "check.h"

#define LARGEST (300 * 1000)

static const int sizes[] = { 0,    1,    7,    8,     9,     64,    1000,  4095,   4096,
                             8191, 8192, 8193, 16000, 16384, 65535, 65536, 100003, LARGEST };
#define SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

static unsigned char out[LARGEST], in[LARGEST];

static unsigned char byte_of(int from, int tag, int at)
{
    return (unsigned char)(from * 31 + tag * 7 + at * 13 + at / 251);
}

static void fill(unsigned char *buffer, int bytes, int from, int tag)
{
    for (int i = 0; i < bytes; i++)
        buffer[i] = byte_of(from, tag, i);
}

static int is_filled(const unsigned char *buffer, int bytes, int from, int tag)
{
    for (int i = 0; i < bytes; i++)
        if (buffer[i] != byte_of(from, tag, i))
            return 0;
    return 1;
}

static void check_status(const MPI_Status *status, int source, int tag, int bytes)
{
    int count = -1;

    CHECK_EQUAL(status->MPI_SOURCE, source);
    CHECK_EQUAL(status->MPI_TAG, tag);
    MPI_Get_count(status, MPI_BYTE, &count);
    CHECK_EQUAL(count, bytes);
}

/* Sends around the ring of ranks, in each mode; either the receive or the message comes first. A single rank
 * sends to itself. */
static void ring(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    for (int mode = 0; mode < 6; mode++) {
        for (int i = 0; i < SIZES; i++) {
            MPI_Request receive, send;
            MPI_Status status;
            int tag = 10 * i + mode;

            fill(out, sizes[i], rank, tag);
            memset(in, 0xee, sizeof(in));
            if (mode != 1 && mode != 3)
                MPI_Irecv(in, sizes[i], MPI_BYTE, previous, tag, MPI_COMM_WORLD, &receive);
            if (mode == 2 || mode == 3)
                MPI_Issend(out, sizes[i], MPI_BYTE, next, tag, MPI_COMM_WORLD, &send);
            else
                MPI_Isend(out, sizes[i], MPI_BYTE, next, tag, MPI_COMM_WORLD, &send);
            if (mode == 1 || mode == 3)
                MPI_Irecv(in, LARGEST, MPI_BYTE, mode == 3 ? MPI_ANY_SOURCE : previous, MPI_ANY_TAG,
                          MPI_COMM_WORLD, &receive);
            if (mode == 4) {
                MPI_Wait(&send, MPI_STATUS_IGNORE);
                MPI_Wait(&receive, &status);
            } else {
                MPI_Wait(&receive, &status);
                MPI_Wait(&send, MPI_STATUS_IGNORE);
            }
            CHECK(receive == MPI_REQUEST_NULL && send == MPI_REQUEST_NULL);
            check_status(&status, previous, tag, sizes[i]);
            CHECK(is_filled(in, sizes[i], previous, tag));
            CHECK(sizes[i] == LARGEST || in[sizes[i]] == 0xee);
        }
    }
    passed("ring");
}

/* Tests that messages of one sender match in their order, small and large in turn, also with wildcards. */
static void order(void)
{
    enum { COUNT = 60 };
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request sends[COUNT];
    static unsigned char each[COUNT][20000];

    for (int i = 0; i < COUNT; i++) {
        int bytes = i % 3 == 0 ? 20000 : i % 3 == 1 ? 8 : 3000;

        fill(each[i], bytes, rank, i);
        MPI_Isend(each[i], bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, &sends[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        int bytes = i % 3 == 0 ? 20000 : i % 3 == 1 ? 8 : 3000;
        MPI_Status status;

        MPI_Recv(in, LARGEST, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : previous, i % 5 ? 5 : MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
        check_status(&status, previous, 5, bytes);
        CHECK(is_filled(in, bytes, previous, i));
    }
    MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
    passed("order");
}

/* Tests that receives posted in one order take messages by tag in the reverse order. */
static void tags_backwards(void)
{
    enum { COUNT = 200 };
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int values[COUNT], got[COUNT];
    MPI_Request requests[2 * COUNT];
    MPI_Status statuses[2 * COUNT];

    for (int i = 0; i < COUNT; i++) {
        values[i] = rank * 1000 + i;
        MPI_Irecv(&got[i], 1, MPI_INT, previous, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < COUNT; i++)
        MPI_Isend(&values[COUNT - 1 - i], 1, MPI_INT, next, COUNT - 1 - i, MPI_COMM_WORLD,
                  &requests[COUNT + i]);
    MPI_Waitall(2 * COUNT, requests, statuses);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQUAL(got[i], previous * 1000 + i);
        CHECK_EQUAL(statuses[i].MPI_TAG, i);
    }
    passed("tags");
}

/* Sends from each rank to all, more than any queue holds, received with MPI_ANY_SOURCE. */
static void flood(void)
{
    enum { COUNT = 300 };
    MPI_Request *requests = malloc((size_t)size * COUNT * sizeof(*requests));
    int *seen = calloc((size_t)size, sizeof(*seen)), *values = malloc((size_t)COUNT * 256 * sizeof(*values));
    int taken[256];

    for (int i = 0; i < COUNT * 256; i++)
        values[i] = rank * 1000000 + i / 256;
    for (int i = 0; i < COUNT; i++)
        for (int to = 0; to < size; to++)
            MPI_Isend(values + i * 256, 256, MPI_INT, to, 9, MPI_COMM_WORLD, &requests[i * size + to]);
    for (int i = 0; i < COUNT * size; i++) {
        MPI_Status status;

        MPI_Recv(taken, 256, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
        CHECK_EQUAL(taken[0], status.MPI_SOURCE * 1000000 + seen[status.MPI_SOURCE]);
        CHECK_EQUAL(taken[255], taken[0]);
        seen[status.MPI_SOURCE]++;
    }
    MPI_Waitall(COUNT * size, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(seen[i], COUNT);
    free(requests);
    free(seen);
    free(values);
    passed("flood");
}

/* Tests that a message that is too long is an error of its receive, and the next message arrives intact. */
static void truncation(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        int bytes = i ? 200000 : 100, class = 0;
        MPI_Request send, second;

        fill(out, bytes, rank, i);
        memset(in, 0xee, sizeof(in));
        MPI_Isend(out, bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &send);
        int error = MPI_Recv(in, bytes / 2, MPI_BYTE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Error_class(error, &class);
        CHECK_EQUAL(class, MPI_ERR_TRUNCATE);
#ifdef OPEN_MPI /* it overruns the buffer if a rank sends to itself (4.1) */
        if (size > 1)
#endif
            CHECK_EQUAL(in[bytes / 2], 0xee);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Isend(&i, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &second);
        int got = -1;
        CHECK_EQUAL(MPI_Recv(&got, 1, MPI_INT, previous, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK_EQUAL(got, i);
        MPI_Wait(&second, MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("truncation");
}

static void probes(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, flag = 0;
    MPI_Request sends[3];
    MPI_Message message;
    MPI_Status status;

    for (int i = 0; i < 3; i++) {
        fill(out + i * 50000, 30000 * i + 5, rank, i);
        MPI_Isend(out + i * 50000, 30000 * i + 5, MPI_BYTE, next, i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Probe(previous, 1, MPI_COMM_WORLD, &status);
    check_status(&status, previous, 1, 30005);
    MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status);
    check_status(&status, previous, 2, 60005);
    MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag);
    MPI_Recv(in, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    check_status(&status, previous, 0, 5);
    MPI_Mrecv(in, LARGEST, MPI_BYTE, &message, &status);
    check_status(&status, previous, 2, 60005);
    CHECK(is_filled(in, 60005, previous, 2));
    CHECK(message == MPI_MESSAGE_NULL);
    while (!flag)
        MPI_Improbe(previous, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    check_status(&status, previous, 1, 30005);
    MPI_Request receive;
    MPI_Imrecv(in, LARGEST, MPI_BYTE, &message, &receive);
    MPI_Wait(&receive, &status);
    check_status(&status, previous, 1, 30005);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(in, 5, MPI_BYTE, &message, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    passed("probes");
}

static void buffered(void)
{
    enum { COUNT = 5, BYTES = 30000 };
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, detached_bytes = 0;
    int room = COUNT * (BYTES + MPI_BSEND_OVERHEAD);
    void *buffer = malloc((size_t)room), *detached = NULL;

    MPI_Buffer_attach(buffer, room);
    for (int i = 0; i < COUNT; i++) {
        fill(out, BYTES, rank, i);
        MPI_Bsend(out, BYTES, MPI_BYTE, next, i, MPI_COMM_WORLD);
        memset(out, 0, BYTES);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        MPI_Recv(in, BYTES, MPI_BYTE, previous, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_filled(in, BYTES, previous, i));
    }
    MPI_Buffer_detach(&detached, &detached_bytes);
    CHECK(detached == buffer);
    CHECK_EQUAL(detached_bytes, room);
    free(buffer);
    passed("buffered");
}

static void exchanges(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Status status;

    for (int i = 0; i < SIZES; i++) {
        fill(out, sizes[i], rank, i);
        MPI_Sendrecv(out, sizes[i], MPI_BYTE, next, i, in, LARGEST, MPI_BYTE, previous, i, MPI_COMM_WORLD,
                     &status);
        check_status(&status, previous, i, sizes[i]);
        CHECK(is_filled(in, sizes[i], previous, i));
        MPI_Sendrecv_replace(out, sizes[i], MPI_BYTE, next, 3, previous, 3, MPI_COMM_WORLD, &status);
        CHECK(is_filled(out, sizes[i], previous, i));
    }
    MPI_Sendrecv(out, 5, MPI_BYTE, MPI_PROC_NULL, 1, in, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                 &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    passed("exchanges");
}

static void persistent(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, done = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int value = 0, got = 0;

    MPI_Send_init(&value, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&got, 1, MPI_INT, previous, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses); /* inactive: nothing to wait for */
    for (int i = 0; i < 20; i++) {
        value = rank + 100 * i;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        CHECK_EQUAL(got, previous + 100 * i);
        check_status(&statuses[1], previous, 4, (int)sizeof(int));
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    }
    MPI_Start(&requests[1]);
    MPI_Start(&requests[0]);
    while (!done)
        MPI_Test(&requests[1], &done, &statuses[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    passed("persistent");
}

/* Tests each of the calls that complete several requests. */
static void completions(void)
{
    enum { COUNT = 12 };
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int got[COUNT], values[COUNT], indices[COUNT], seen[COUNT] = { 0 }, count = 0, index = 0, flag = 0;
    MPI_Request receives[COUNT], sends[COUNT];
    MPI_Status statuses[COUNT], status;

    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < COUNT; i++) {
            values[i] = 100 * rank + i + round;
            got[i] = -1;
            seen[i] = 0;
            MPI_Irecv(&got[i], 1, MPI_INT, previous, i, MPI_COMM_WORLD, &receives[i]);
        }
        for (int i = 0; i < COUNT; i++)
            MPI_Isend(&values[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &sends[i]);
        for (int left = COUNT; left;) {
            if (round == 0 || round == 1) {
                (round ? MPI_Testsome : MPI_Waitsome)(COUNT, receives, &count, indices, statuses);
                for (int i = 0; i < count; i++) {
                    check_status(&statuses[i], previous, indices[i], (int)sizeof(int));
                    seen[indices[i]]++;
                }
                left -= count;
            } else if (round == 2 || round == 3) {
                flag = 1;
                if (round == 2)
                    MPI_Waitany(COUNT, receives, &index, &status);
                else
                    MPI_Testany(COUNT, receives, &index, &flag, &status);
                if (!flag)
                    continue;
                check_status(&status, previous, index, (int)sizeof(int));
                seen[index]++;
                left--;
            } else {
                MPI_Testall(COUNT, receives, &flag, statuses);
                if (!flag)
                    continue;
                for (int i = 0; i < COUNT; i++)
                    seen[i]++;
                left = 0;
            }
        }
        for (int i = 0; i < COUNT; i++) {
            CHECK_EQUAL(seen[i], 1);
            CHECK_EQUAL(got[i], 100 * previous + i + round);
        }
        MPI_Waitany(COUNT, receives, &index, &status);
        CHECK_EQUAL(index, MPI_UNDEFINED);
        MPI_Waitsome(COUNT, receives, &count, indices, statuses);
        CHECK_EQUAL(count, MPI_UNDEFINED);
        MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
    }
    passed("completions");
}

static void cancelled(void)
{
    int value = 0, was = 0, flag = 0;
    MPI_Request receive;
    MPI_Status status;

    MPI_Irecv(&value, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, &receive);
    MPI_Request_get_status(receive, &flag, &status);
    CHECK(!flag && receive != MPI_REQUEST_NULL);
    MPI_Cancel(&receive);
    MPI_Wait(&receive, &status);
    MPI_Test_cancelled(&status, &was);
    CHECK(was);
    passed("cancelled");
}

/* Tests data with gaps on either side, in every way that a message is transferred. */
static void derived(void)
{
    enum { COUNT = 9000 };
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    static int spread[2 * COUNT], packed[COUNT], got[2 * COUNT];
    MPI_Datatype column;
    MPI_Status status;

    for (int count = 3; count <= COUNT; count *= 5) {
        MPI_Type_vector(count, 1, 2, MPI_INT, &column);
        MPI_Type_commit(&column);
        for (int i = 0; i < 2 * count; i++)
            spread[i] = rank * 100000 + i;
        memset(packed, 0, sizeof(packed));
        memset(got, 0xff, sizeof(got));
        MPI_Sendrecv(spread, 1, column, next, 1, packed, COUNT, MPI_INT, previous, 1, MPI_COMM_WORLD,
                     &status);
        check_status(&status, previous, 1, count * (int)sizeof(int));
        for (int i = 0; i < count; i++)
            CHECK_EQUAL(packed[i], previous * 100000 + 2 * i);
        MPI_Sendrecv(packed, count, MPI_INT, next, 2, got, 1, column, previous, 2, MPI_COMM_WORLD, &status);
        for (int i = 0; i < count; i++) {
            CHECK_EQUAL(got[2 * i], (previous + size - 1) % size * 100000 + 2 * i);
            CHECK_EQUAL(got[2 * i + 1], -1);
        }
        MPI_Type_free(&column);
        CHECK(column == MPI_DATATYPE_NULL);
    }
    passed("derived");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    ring();
    order();
    tags_backwards();
    flood();
    truncation();
    probes();
    buffered();
    exchanges();
    persistent();
    completions();
    cancelled();
    derived();
    MPI_Finalize();
    return 0;
}
