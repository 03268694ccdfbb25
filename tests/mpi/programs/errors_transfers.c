/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errors_transfers.c: wrong arguments of sends, receives, probes and calls that complete them: each argument
 * of each call, the class of its error, and the handler that is called. [MPI 3.1 chapter 3]
 */
#include "refused.h"

typedef int send_call(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_call(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static send_call *const sends[] = { MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend };
static isend_call *const isends[] = { MPI_Isend,     MPI_Ibsend,     MPI_Issend,     MPI_Irsend,
                                      MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init };

static MPI_Datatype uncommitted;
static const MPI_Comm world = MPI_COMM_WORLD;

static void sending(void)
{
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < 4; i++) {
        REFUSED(sends[i](&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
        REFUSED(sends[i](&value, -1, MPI_INT, 0, 1, world), MPI_ERR_COUNT);
        REFUSED(sends[i](&value, 1, MPI_DATATYPE_NULL, 0, 1, world), MPI_ERR_TYPE);
        REFUSED(sends[i](&value, 1, uncommitted, 0, 1, world), MPI_ERR_TYPE);
        REFUSED(sends[i](&value, 1, MPI_INT, size, 1, world), MPI_ERR_RANK);
        REFUSED(sends[i](&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, world), MPI_ERR_RANK);
        REFUSED(sends[i](&value, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG);
        REFUSED(sends[i](&value, 1, MPI_INT, 0, -77, world), MPI_ERR_TAG);
        REFUSED_BUT(IN_OPENMPI, sends[i](NULL, 1, MPI_INT, 0, 1, world), MPI_ERR_BUFFER);
    }
    for (int i = 0; i < 8; i++) {
        REFUSED(isends[i](&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL, &request), MPI_ERR_COMM);
        REFUSED(isends[i](&value, -1, MPI_INT, 0, 1, world, &request), MPI_ERR_COUNT);
        REFUSED(isends[i](&value, 1, MPI_DATATYPE_NULL, 0, 1, world, &request), MPI_ERR_TYPE);
        REFUSED_BUT(i < 4 ? 0 : IN_OPENMPI, isends[i](&value, 1, uncommitted, 0, 1, world, &request),
                    MPI_ERR_TYPE);
        REFUSED(isends[i](&value, 1, MPI_INT, size, 1, world, &request), MPI_ERR_RANK);
        REFUSED(isends[i](&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, world, &request), MPI_ERR_RANK);
        REFUSED(isends[i](&value, 1, MPI_INT, 0, MPI_ANY_TAG, world, &request), MPI_ERR_TAG);
        REFUSED_BUT(IN_OPENMPI, isends[i](NULL, 1, MPI_INT, 0, 1, world, &request), MPI_ERR_BUFFER);
    }
    CHECK(request == MPI_REQUEST_NULL);
    passed("sending");
}

static void receiving(void)
{
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < 3; i++) {
#define RECEIVE(buffer, count, type, source, tag, comm)                             \
    (i == 0   ? MPI_Recv(buffer, count, type, source, tag, comm, MPI_STATUS_IGNORE) \
     : i == 1 ? MPI_Irecv(buffer, count, type, source, tag, comm, &request)         \
              : MPI_Recv_init(buffer, count, type, source, tag, comm, &request))
        REFUSED(RECEIVE(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
        REFUSED(RECEIVE(&value, -1, MPI_INT, 0, 1, world), MPI_ERR_COUNT);
        REFUSED(RECEIVE(&value, 1, MPI_DATATYPE_NULL, 0, 1, world), MPI_ERR_TYPE);
        REFUSED(RECEIVE(&value, 1, uncommitted, 0, 1, world), MPI_ERR_TYPE);
        REFUSED(RECEIVE(&value, 1, MPI_INT, size, 1, world), MPI_ERR_RANK);
        REFUSED(RECEIVE(&value, 1, MPI_INT, -55, 1, world), MPI_ERR_RANK);
        REFUSED(RECEIVE(&value, 1, MPI_INT, 0, -77, world), MPI_ERR_TAG);
        REFUSED_BUT(IN_OPENMPI, RECEIVE(NULL, 1, MPI_INT, 0, 1, world), MPI_ERR_BUFFER);
    }
    CHECK(request == MPI_REQUEST_NULL);
    passed("receiving");
}

static void exchanging(void)
{
    int a = 0, b = 0;
    MPI_Status *none = MPI_STATUS_IGNORE;

    REFUSED(MPI_Sendrecv(&a, 1, MPI_INT, 0, 1, &b, 1, MPI_INT, 0, 1, MPI_COMM_NULL, none), MPI_ERR_COMM);
    REFUSED(MPI_Sendrecv(&a, -1, MPI_INT, 0, 1, &b, 1, MPI_INT, 0, 1, world, none), MPI_ERR_COUNT);
    REFUSED(MPI_Sendrecv(&a, 1, MPI_INT, 0, 1, &b, -1, MPI_INT, 0, 1, world, none), MPI_ERR_COUNT);
    REFUSED(MPI_Sendrecv(&a, 1, uncommitted, 0, 1, &b, 1, MPI_INT, 0, 1, world, none), MPI_ERR_TYPE);
    REFUSED(MPI_Sendrecv(&a, 1, MPI_INT, 0, 1, &b, 1, MPI_DATATYPE_NULL, 0, 1, world, none), MPI_ERR_TYPE);
    REFUSED(MPI_Sendrecv(&a, 1, MPI_INT, size, 1, &b, 1, MPI_INT, 0, 1, world, none), MPI_ERR_RANK);
    REFUSED(MPI_Sendrecv(&a, 1, MPI_INT, 0, 1, &b, 1, MPI_INT, size, 1, world, none), MPI_ERR_RANK);
    REFUSED(MPI_Sendrecv(&a, 1, MPI_INT, 0, -9, &b, 1, MPI_INT, 0, 1, world, none), MPI_ERR_TAG);
    REFUSED(MPI_Sendrecv(&a, 1, MPI_INT, 0, 1, &b, 1, MPI_INT, 0, -9, world, none), MPI_ERR_TAG);
    REFUSED(MPI_Sendrecv_replace(&a, 1, MPI_INT, 0, 1, 0, 1, MPI_COMM_NULL, none), MPI_ERR_COMM);
    REFUSED(MPI_Sendrecv_replace(&a, -1, MPI_INT, 0, 1, 0, 1, world, none), MPI_ERR_COUNT);
    REFUSED(MPI_Sendrecv_replace(&a, 1, MPI_DATATYPE_NULL, 0, 1, 0, 1, world, none), MPI_ERR_TYPE);
    REFUSED(MPI_Sendrecv_replace(&a, 1, MPI_INT, size, 1, 0, 1, world, none), MPI_ERR_RANK);
    REFUSED(MPI_Sendrecv_replace(&a, 1, MPI_INT, 0, 1, size, 1, world, none), MPI_ERR_RANK);
    REFUSED(MPI_Sendrecv_replace(&a, 1, MPI_INT, 0, -9, 0, 1, world, none), MPI_ERR_TAG);
    REFUSED(MPI_Sendrecv_replace(&a, 1, MPI_INT, 0, 1, 0, -9, world, none), MPI_ERR_TAG);
    passed("exchanging");
}

static void probing(void)
{
    int value = 0, sent = 3, flag = 0;
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < 4; i++) {
#define PROBE(source, tag, comm)                                 \
    (i == 0   ? MPI_Probe(source, tag, comm, &status)            \
     : i == 1 ? MPI_Iprobe(source, tag, comm, &flag, &status)    \
     : i == 2 ? MPI_Mprobe(source, tag, comm, &message, &status) \
              : MPI_Improbe(source, tag, comm, &flag, &message, &status))
        REFUSED_BUT(IN_OPENMPI, PROBE(0, 1, MPI_COMM_NULL), MPI_ERR_COMM); /* always fatal there */
        REFUSED(PROBE(size, 1, world), MPI_ERR_RANK);
        REFUSED(PROBE(-55, 1, world), MPI_ERR_RANK);
        REFUSED(PROBE(0, -77, world), MPI_ERR_TAG);
    }
    REFUSED_BUT(IN_OTHERS, MPI_Mrecv(&value, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST);
    REFUSED_BUT(IN_OTHERS, MPI_Imrecv(&value, 1, MPI_INT, &message, &request), MPI_ERR_REQUEST);
    MPI_Isend(&sent, 1, MPI_INT, rank, 3, world, &request);
    MPI_Mprobe(rank, 3, world, &message, &status);
    REFUSED(MPI_Mrecv(&value, -1, MPI_INT, &message, &status), MPI_ERR_COUNT);
    REFUSED(MPI_Mrecv(&value, 1, MPI_DATATYPE_NULL, &message, &status), MPI_ERR_TYPE);
    REFUSED(MPI_Mrecv(&value, 1, uncommitted, &message, &status), MPI_ERR_TYPE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status); /* the message is still there */
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REFUSED(MPI_Get_count(&status, MPI_DATATYPE_NULL, &value), MPI_ERR_TYPE);
    REFUSED(MPI_Get_elements(&status, MPI_DATATYPE_NULL, &value), MPI_ERR_TYPE);
    passed("probing");
}

static void completing(void)
{
    int value = 0, flag = 0, index = 0, count = 0, indices[1];
    MPI_Request null = MPI_REQUEST_NULL, receive, persistent;
    MPI_Status status, statuses[1];

    REFUSED(MPI_Request_free(&null), MPI_ERR_REQUEST);
    REFUSED(MPI_Cancel(&null), MPI_ERR_REQUEST);
    REFUSED(MPI_Start(&null), MPI_ERR_REQUEST);
    REFUSED(MPI_Startall(1, &null), MPI_ERR_REQUEST);
    /* Open MPI's class for a negative count is MPI_ERR_ARG. */
    REFUSED_BUT(IN_OPENMPI, MPI_Waitall(-1, &null, statuses), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OPENMPI, MPI_Testall(-1, &null, &flag, statuses), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OPENMPI, MPI_Waitany(-1, &null, &index, &status), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OPENMPI, MPI_Testany(-1, &null, &index, &flag, &status), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OPENMPI, MPI_Waitsome(-1, &null, &count, indices, statuses), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OPENMPI, MPI_Testsome(-1, &null, &count, indices, statuses), MPI_ERR_COUNT);
    REFUSED_BUT(IN_OPENMPI, MPI_Startall(-1, &null), MPI_ERR_COUNT);
    MPI_Irecv(&value, 1, MPI_INT, rank, 8, world, &receive);
    REFUSED(MPI_Start(&receive), MPI_ERR_REQUEST);
    MPI_Cancel(&receive);
    MPI_Wait(&receive, &status);
    MPI_Recv_init(&value, 1, MPI_INT, rank, 8, world, &persistent);
    MPI_Start(&persistent);
    REFUSED_BUT(IN_OTHERS, MPI_Start(&persistent), MPI_ERR_REQUEST); /* others start it twice */
    MPI_Send(&rank, 1, MPI_INT, rank, 8, world);
    MPI_Wait(&persistent, &status);
    CHECK_EQUAL(value, rank);
    MPI_Request_free(&persistent);
    passed("completing");
}

static void buffers(void)
{
    static char room[1000 + MPI_BSEND_OVERHEAD], large[3000];
    void *detached = NULL;
    int bytes = 0;

    REFUSED_BUT(IN_OTHERS, MPI_Buffer_attach(room, -1), MPI_ERR_BUFFER);
    MPI_Buffer_attach(room, (int)sizeof(room));
    REFUSED_BUT(IN_OPENMPI, MPI_Buffer_attach(large, (int)sizeof(large)), MPI_ERR_BUFFER);
    /* Open MPI sends small messages without the buffer. */
    REFUSED_BUT(IN_OPENMPI, MPI_Bsend(large, (int)sizeof(large), MPI_BYTE, rank, 1, world), MPI_ERR_BUFFER);
    MPI_Buffer_detach(&detached, &bytes);
    CHECK(detached == room && bytes == (int)sizeof(room));
    passed("buffers");
}

static int heard, heard_class;
static MPI_Comm heard_comm;

static void hear(MPI_Comm *comm, int *error, ...)
{
    heard_comm = *comm;
    MPI_Error_class(*error, &heard_class);
    heard++;
}

/* Tests a message of two ints for a receive of one, in each way that a receive completes. Other libraries do
 * not call the handler of the request's communicator in all of them, so they only return the error here. */
static void truncated(void)
{
    int values[2] = { 1, 2 }, got[2], index = 0, count = 0, indices[2], class = 0, flag = 0;
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Status statuses[2];

    MPI_Comm_dup(world, &comm);
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(comm, THIS_LIBRARY ? MPI_ERRORS_RETURN : handler);
    MPI_Errhandler_free(&handler);
    for (int i = THIS_LIBRARY == IN_OPENMPI ? 6 : 0; i < 12; i++) {
        MPI_Request requests[2];
        int way = i % 6, error = MPI_SUCCESS, expected = way < 2 ? MPI_ERR_TRUNCATE : MPI_ERR_IN_STATUS;

        heard = flag = 0;
        if (i < 6) /* Open MPI does not detect it if the receive comes first */
            MPI_Irecv(&got[0], 1, MPI_INT, rank, 1, comm, &requests[0]);
        MPI_Isend(values, 2, MPI_INT, rank, 1, comm, &requests[1]);
        if (i >= 6)
            MPI_Irecv(&got[0], 1, MPI_INT, rank, 1, comm, &requests[0]);
        if (way == 0)
            error = MPI_Wait(&requests[0], &statuses[0]);
        else if (way == 1)
            error = MPI_Waitany(1, requests, &index, &statuses[0]);
        else if (way == 2)
            error = MPI_Waitall(1, requests, statuses);
        else if (way == 3)
            error = MPI_Waitsome(1, requests, &count, indices, statuses);
        while (way == 4 && !flag)
            error = MPI_Testall(1, requests, &flag, statuses);
        for (count = 0; way == 5 && !count;)
            error = MPI_Testsome(1, requests, &count, indices, statuses);
        MPI_Error_class(error, &class);
        CHECK_EQUAL(class, expected);
        CHECK(THIS_LIBRARY || (heard == 1 && heard_comm == comm));
        if (way >= 2) {
            MPI_Error_class(statuses[0].MPI_ERROR, &class);
            CHECK_EQUAL(class, MPI_ERR_TRUNCATE);
        }
        CHECK(requests[0] == MPI_REQUEST_NULL);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
    passed("truncated");
}

/* Tests that an error calls the handler of the communicator to which the call, or its request, belongs, and
 * no other. */
static void handlers(void)
{
    int value = 0, flag = 0;
    MPI_Errhandler handler;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Status status;

    MPI_Comm_dup(world, &comm);
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    heard = 0;
    MPI_Recv(&value, -1, MPI_INT, 0, 1, comm, &status);
    CHECK(heard == 1 && heard_class == MPI_ERR_COUNT && heard_comm == comm);
    MPI_Iprobe(size, 1, comm, &flag, &status);
    CHECK(heard == 2 && heard_class == MPI_ERR_RANK && heard_comm == comm);
    MPI_Send(&value, 1, MPI_INT, size, 1, world);
    MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_NULL);
    CHECK_EQUAL(heard, 2);
    MPI_Irecv(&value, 1, MPI_INT, rank, 8, comm, &request);
    if (THIS_LIBRARY == 0) { /* others: the world's handler */
        MPI_Start(&request);
        CHECK(heard == 3 && heard_class == MPI_ERR_REQUEST && heard_comm == comm);
        MPI_Startall(1, &request);
        CHECK_EQUAL(heard, 4);
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Comm_free(&comm);
    passed("handlers");
}

static int query(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    return MPI_SUCCESS;
}

static int ended(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancelled(void *state, int is_complete)
{
    (void)state, (void)is_complete;
    return MPI_SUCCESS;
}

/* Tests NULL for arguments that calls write to. */
static void nulls(void)
{
    int a = 0, b = 0, zero[1] = { 0 };
    void *value = NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL, no_proc = MPI_MESSAGE_NO_PROC;
    MPI_Status status;

    MPI_Sendrecv(&a, 1, MPI_INT, rank, 1, &b, 1, MPI_INT, rank, 1, world, &status);
    for (int i = 0; i < 8; i++)
        REFUSED_BUT(IN_OPENMPI, isends[i](&a, 1, MPI_INT, MPI_PROC_NULL, 1, world, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Irecv(&a, 1, MPI_INT, MPI_PROC_NULL, 1, world, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Recv_init(&a, 1, MPI_INT, MPI_PROC_NULL, 1, world, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Iprobe(MPI_PROC_NULL, 1, world, NULL, &status), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Improbe(MPI_PROC_NULL, 1, world, NULL, &message, &status), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Improbe(MPI_PROC_NULL, 1, world, &a, NULL, &status), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Mprobe(MPI_PROC_NULL, 1, world, NULL, &status), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Mrecv(&a, 1, MPI_INT, NULL, &status), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Imrecv(&a, 1, MPI_INT, NULL, &request), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Imrecv(&a, 1, MPI_INT, &no_proc, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Test(&request, NULL, &status), MPI_ERR_ARG);
    REFUSED(MPI_Testall(1, &request, NULL, &status), MPI_ERR_ARG);
    REFUSED(MPI_Testany(1, &request, NULL, &a, &status), MPI_ERR_ARG);
    REFUSED(MPI_Testany(1, &request, &a, NULL, &status), MPI_ERR_ARG);
    REFUSED(MPI_Testsome(1, &request, NULL, zero, &status), MPI_ERR_ARG);
    REFUSED(MPI_Testsome(1, &request, &a, NULL, &status), MPI_ERR_ARG);
    REFUSED(MPI_Waitany(1, &request, NULL, &status), MPI_ERR_ARG);
    REFUSED(MPI_Waitsome(1, &request, NULL, zero, &status), MPI_ERR_ARG);
    REFUSED(MPI_Waitsome(1, &request, &a, NULL, &status), MPI_ERR_ARG);
    REFUSED(MPI_Request_get_status(request, NULL, &status), MPI_ERR_ARG);
    REFUSED(MPI_Test_cancelled(&status, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Buffer_detach(NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Buffer_detach(&value, NULL), MPI_ERR_ARG);
    REFUSED_BUT(IN_OPENMPI, MPI_Grequest_start(query, ended, cancelled, NULL, NULL), MPI_ERR_ARG);
    CHECK(request == MPI_REQUEST_NULL && message == MPI_MESSAGE_NULL && no_proc == MPI_MESSAGE_NO_PROC);
    passed("nulls");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    sending();
    receiving();
    exchanging();
    probing();
    completing();
    buffers();
    truncated();
    handlers();
    nulls();
    MPI_Type_free(&uncommitted);
    MPI_Finalize();
    return 0;
}
