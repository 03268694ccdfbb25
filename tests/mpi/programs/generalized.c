/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * generalized.c: requests that the program completes itself, and copies of communicators that do not wait.
 * [MPI 3.1 §12.2, §6.4.2]
 */
#include "check.h"

/* The calls of a request's functions, and the values that they return. */
struct work {
    int queries, ends, cancels, was_complete;
    int count, answer, end_answer;
};

static int query(void *state, MPI_Status *status)
{
    struct work *work = state;

    work->queries++;
    MPI_Status_set_elements(status, MPI_INT, work->count);
    MPI_Status_set_cancelled(status, work->cancels);
    status->MPI_SOURCE = 17;
    status->MPI_TAG = 5;
    return work->answer;
}

static int end(void *state)
{
    struct work *work = state;

    work->ends++;
    return work->end_answer;
}

static int cancel(void *state, int complete)
{
    struct work *work = state;

    work->cancels++;
    work->was_complete = complete;
    return MPI_SUCCESS;
}

static MPI_Request start(struct work *work, int count)
{
    MPI_Request request;

    *work = (struct work){ .count = count, .was_complete = -1 };
    MPI_Grequest_start(query, end, cancel, work, &request);
    return request;
}

static int count_of(const MPI_Status *status)
{
    int count = -1;

    MPI_Get_count(status, MPI_INT, &count);
    return count;
}

static void completed(void)
{
    struct work work;
    MPI_Request request = start(&work, 7), same = request;
    MPI_Status status;
    int flag = -1;

    MPI_Test(&request, &flag, &status);
    CHECK(!flag && request == same && !work.queries && !work.ends);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(!flag && !work.queries);
    MPI_Grequest_complete(request);
    CHECK(!work.queries && !work.ends);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag && work.queries == 1 && !work.ends && count_of(&status) == 7);
    MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL && work.queries == 2 && work.ends == 1);
    CHECK(count_of(&status) == 7 && status.MPI_SOURCE == 17 && status.MPI_TAG == 5);
    request = start(&work, 0);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* the query function is called nevertheless */
    CHECK(work.queries == 1 && work.ends == 1);
    passed("completed");
}

/* Tests generalized requests together with messages, in the calls that complete several. */
static void several(void)
{
    struct work works[2];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int out = rank, in = -1, index = -1, count = -1, indices[4], to = (rank + 1) % size;

    requests[0] = start(&works[0], 3);
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &requests[1]);
    requests[2] = start(&works[1], 4);
    MPI_Isend(&out, 1, MPI_INT, to, 4, MPI_COMM_WORLD, &requests[3]);
    MPI_Grequest_complete(requests[0]);
    MPI_Grequest_complete(requests[2]);
    MPI_Waitall(4, requests, statuses);
    CHECK(in == (rank + size - 1) % size && count_of(&statuses[0]) == 3 && count_of(&statuses[2]) == 4);
    CHECK(works[0].ends == 1 && works[1].ends == 1);

    requests[0] = start(&works[0], 1);
    requests[1] = start(&works[1], 2);
    MPI_Grequest_complete(requests[1]);
    MPI_Waitany(2, requests, &index, &statuses[0]);
    CHECK(index == 1 && requests[1] == MPI_REQUEST_NULL && count_of(&statuses[0]) == 2 && !works[0].queries);
    MPI_Grequest_complete(requests[0]);
    MPI_Waitsome(2, requests, &count, indices, statuses);
    CHECK(count == 1 && indices[0] == 0 && count_of(&statuses[0]) == 1 && works[0].ends == 1);
    passed("several");
}

/* Tells whether the library is MPICH: version 4.0 ends a freed request at once. */
static int is_theirs(void)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(name, &length);
    return strstr(name, "MPICH") != NULL;
}

static void ended_otherwise(void)
{
    struct work work;
    MPI_Request request = start(&work, 1), kept = request;
    MPI_Status status;
    int flag = -1;

    MPI_Request_free(&request); /* it ends when it is complete */
    CHECK(request == MPI_REQUEST_NULL && (!work.ends || is_theirs()));
    MPI_Grequest_complete(kept);
    CHECK(work.ends == 1 && work.queries == 0);
    request = start(&work, 1);
    MPI_Grequest_complete(request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && work.ends == 1);

    request = start(&work, 1);
    MPI_Cancel(&request);
    CHECK(work.cancels == 1 && !work.was_complete && !work.ends);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && work.ends == 1);
    passed("ended otherwise");
}

static int class_of(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

/* Tests that a call returns what the program's functions return. */
static void refused(void)
{
    struct work work;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    requests[0] = start(&work, 1);
    work.answer = MPI_ERR_OTHER;
    MPI_Grequest_complete(requests[0]);
    CHECK_EQUAL(class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    CHECK_EQUAL(work.ends, 1);
    requests[0] = start(&work, 1);
    requests[1] = MPI_REQUEST_NULL;
    work.answer = MPI_ERR_COUNT;
    MPI_Grequest_complete(requests[0]);
    CHECK_EQUAL(class_of(MPI_Waitall(2, requests, statuses)), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR != MPI_SUCCESS);
    CHECK(is_theirs() || class_of(statuses[0].MPI_ERROR) == MPI_ERR_COUNT);
    CHECK_EQUAL(class_of(MPI_Grequest_complete(MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    passed("refused");
}

/* ---- Copies ---- */

static int copied;

static int copy_note(MPI_Comm comm, int keyval, void *state, void *from, void *to, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)state;
    copied++;
    *(void **)to = from;
    *flag = 1;
    return MPI_SUCCESS;
}

/* Copies two communicators at once, in another order on odd ranks, which use the first copy before the second
 * copy begins. */
static void copies(void)
{
    MPI_Comm firsts, seconds, first, second;
    MPI_Request one, two;
    int keyval, flag = 0, value = 5, *got = NULL, order = -1, token = rank, sum = -1;

    MPI_Comm_dup(MPI_COMM_WORLD, &firsts);
    MPI_Comm_dup(MPI_COMM_WORLD, &seconds);
    MPI_Comm_create_keyval(copy_note, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(firsts, keyval, &value);
    copied = 0;
    if (rank % 2) {
        MPI_Comm_idup(seconds, &second, &two);
        MPI_Wait(&two, MPI_STATUS_IGNORE);
        MPI_Comm_idup(firsts, &first, &one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    } else {
        MPI_Comm_idup(firsts, &first, &one);
        MPI_Comm_idup(seconds, &second, &two);
        MPI_Waitall(2, (MPI_Request[]){ one, two }, MPI_STATUSES_IGNORE);
    }
    CHECK_EQUAL(copied, 1);
    MPI_Comm_get_attr(first, keyval, &got, &flag);
    CHECK(flag && got == &value);
    MPI_Comm_compare(first, firsts, &order);
    CHECK_EQUAL(order, MPI_CONGRUENT);
    /* Messages on the four communicators are separate. */
    MPI_Comm all[4] = { firsts, seconds, first, second };
    MPI_Request requests[8];
    int in[4], out[4];
    for (int i = 0; i < 4; i++) {
        out[i] = 10 * token + i;
        MPI_Irecv(&in[i], 1, MPI_INT, (rank + size - 1) % size, 1, all[i], &requests[i]);
    }
    for (int i = 3; i >= 0; i--)
        MPI_Isend(&out[i], 1, MPI_INT, (rank + 1) % size, 1, all[i], &requests[4 + i]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        CHECK_EQUAL(in[i], 10 * ((rank + size - 1) % size) + i);
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, second);
    CHECK_EQUAL(sum, size * (size - 1) / 2);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&all[i]);
    MPI_Comm_disconnect(&all[3]);
    CHECK(all[3] == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&keyval);
    passed("copies");
}

static void parents(void)
{
    MPI_Comm parent = MPI_COMM_WORLD;

    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    passed("parents");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    completed();
    several();
    ended_otherwise();
    refused();
    copies();
    parents();
    MPI_Finalize();
    return 0;
}
