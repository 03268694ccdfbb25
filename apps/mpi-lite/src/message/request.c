/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * request.c: requests, from their making to their end; MPI_Wait*, MPI_Test*, MPI_Request_free,
 * MPI_Request_get_status, MPI_Cancel, and persistent requests.
 *
 * The program keeps a persistent request; MPI_Start begins a transfer with an inner request
 * (persistence->running), whose result is copied to the persistent one. Runs under the library's lock.
 *
 * Source: MPI 3.1 §3.7 (nonblocking communication), §3.8 (cancel), §3.9 (persistent requests).
 */
#include "message/message.h"
#include <stdlib.h>
#include <string.h>

struct slot {
    struct mpi_request request;
    struct message message;
};

struct persistent {
    enum send_mode mode;
    void *buffer;
    size_t count;
    struct mpi_datatype *type;
    int peer, tag;
    struct mpi_request *running;
};

#define SLOTS_AT_ONCE 32

int request_detached;
static int live_count;
static struct mpi_request *slots_free; /* linked by `next` */

int request_live_count(void)
{
    return live_count;
}

/* Allocates several slots at once, so that a program with few requests allocates only once. They are never
 * freed. */
static void slots_add(void)
{
    struct slot *slots = malloc(SLOTS_AT_ONCE * sizeof(*slots));

    for (int i = 0; slots && i < SLOTS_AT_ONCE; i++) {
        slots[i].request.next = slots_free;
        slots_free = &slots[i].request;
    }
}

bool request_has_room(void)
{
    if (!slots_free)
        slots_add();
    return slots_free != NULL;
}

struct mpi_request *request_make(enum request_kind kind, struct mpi_comm *comm)
{
    if (!request_has_room())
        return NULL;
    struct slot *slot = (struct slot *)(void *)slots_free;
    slots_free = slots_free->next;
    memset(slot, 0, sizeof(*slot));
    slot->request.kind = kind;
    slot->request.message = &slot->message;
    slot->request.comm = comm;
    slot->request.active = true;
    if (comm)
        comm_hold(comm);
    live_count++;
    return &slot->request;
}

struct mpi_request *request_done_make(enum request_kind kind, struct mpi_comm *comm)
{
    struct mpi_request *request = request_make(kind, comm);

    if (!request)
        return NULL;
    status_empty(&request->status, MPI_ANY_SOURCE);
    request->complete = true;
    return request;
}

void request_free(struct mpi_request *request)
{
    if (request->persistence) {
        type_release(request->persistence->type);
        free(request->persistence);
    }
    if (request->comm)
        comm_release(request->comm);
    request->comm = NULL;
    live_count--;
    handle_release(request);
    request->ended = true;
    request->next = slots_free;
    slots_free = request;
}

int request_complete(struct mpi_request *request)
{
    int error = MPI_SUCCESS;

    request->complete = true;
    if (request->message->type) {
        type_release(request->message->type);
        request->message->type = NULL;
    }
    if (request->freed) {
        if (request->generalized)
            error = generalized_end(request);
        else
            request_detached--;
        request_free(request);
    }
    return error;
}

/* Returns whether a request counts as complete with an empty status: an inactive persistent one, or
 * MPI_REQUEST_NULL. */
static bool request_is_idle(const struct mpi_request *request)
{
    return request == MPI_REQUEST_NULL || (request->persistent && !request->active);
}

static bool request_is_done(struct mpi_request *request)
{
    if (request_is_idle(request))
        return true;
    return request->persistence ? request->persistence->running->complete : request->complete;
}

static int failure_say(struct mpi_request *request)
{
    if (request->error == MPI_ERR_TRUNCATE)
        return mpi_error(MPI_ERR_TRUNCATE,
                         "the message from rank %d with tag %d is longer than the buffer of %zu bytes",
                         request->status.MPI_SOURCE, request->status.MPI_TAG, request->message->bytes);
    return request->error;
}

static void status_give(const MPI_Status *from, MPI_Status *to)
{
    if (to == MPI_STATUS_IGNORE)
        return;
    status_set(to, from->MPI_SOURCE, from->MPI_TAG, from->mpi_lite_bytes);
    to->mpi_lite_cancelled = from->mpi_lite_cancelled;
}

int request_finish(struct mpi_request **request, MPI_Status *status)
{
    struct mpi_request *done = *request;
    MPI_Status empty;

    if (request_is_idle(done)) {
        status_empty(&empty, MPI_ANY_SOURCE);
        status_give(&empty, status);
        return MPI_SUCCESS;
    }
    if (done->persistence) {
        done->active = false;
        return request_finish(&done->persistence->running, status);
    }
    int error = done->generalized ? generalized_query(done) : failure_say(done);
    status_give(&done->status, status);
    if (done->generalized) {
        int end_error = generalized_end(done);

        error = error ? error : end_error;
    }
    request_free(done);
    *request = MPI_REQUEST_NULL;
    return error;
}

static bool one_is_done(void *argument)
{
    return request_is_done(argument);
}

int request_wait(struct mpi_request **request, MPI_Status *status)
{
    if (!request_is_done(*request))
        progress_wait(one_is_done, *request);
    return request_finish(request, status);
}

/* ---- Several ---- */

struct several {
    int count;
    int done; /* all before it are complete: a wait for all does not check them again */
    struct mpi_request **requests;
};

static bool all_are_done(void *argument)
{
    struct several *several = argument;

    while (several->done < several->count && request_is_done(several->requests[several->done]))
        several->done++;
    return several->done == several->count;
}

static bool all_are_idle(const struct several *several)
{
    for (int i = 0; i < several->count; i++)
        if (!request_is_idle(several->requests[i]))
            return false;
    return true;
}

static int first_done(const struct several *several)
{
    for (int i = 0; i < several->count; i++)
        if (!request_is_idle(several->requests[i]) && request_is_done(several->requests[i]))
            return i;
    return MPI_UNDEFINED;
}

static bool any_is_done(void *argument)
{
    return first_done(argument) != MPI_UNDEFINED;
}

/* Returns the communicator whose handler is called for an error: that of the first request with one. */
static struct mpi_comm *comm_of(int count, struct mpi_request *const *requests)
{
    for (int i = 0; requests && i < count; i++)
        if (requests[i] != MPI_REQUEST_NULL && requests[i]->comm)
            return requests[i]->comm;
    return NULL;
}

static int check_requests(int count, struct mpi_request *const *requests)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (error)
        return error;
    if (count < 0)
        return mpi_error(MPI_ERR_COUNT, "argument 1, count: %d is negative", count);
    if (count && !requests)
        return mpi_error(MPI_ERR_REQUEST, "argument 2, requests: NULL");
    for (int i = 0; i < count; i++)
        if (requests[i] != MPI_REQUEST_NULL && requests[i]->ended)
            return mpi_error(MPI_ERR_REQUEST, "argument 2, requests: %d, counted from 0, has been freed", i);
    return MPI_SUCCESS;
}

static int check_request(struct mpi_request *const *request)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (!error && !request)
        error = mpi_error(MPI_ERR_REQUEST, "argument 1, request: NULL");
    if (!error && *request != MPI_REQUEST_NULL)
        error = check_live(!(*request)->ended, MPI_ERR_REQUEST, "1, request");
    return error;
}

/* Finishes all requests; if one has failed, each status gets its error. */
static int all_finish(int count, struct mpi_request **requests, MPI_Status *statuses)
{
    bool failed = false;

    for (int i = 0; i < count; i++) {
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int error = request_finish(&requests[i], status);

        failed |= error != MPI_SUCCESS;
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = error;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

static int some_finish(int count, struct mpi_request **requests, int *out_count, int *indices,
                       MPI_Status *statuses)
{
    bool failed = false;
    int finished = 0;

    for (int i = 0; i < count; i++) {
        if (request_is_idle(requests[i]) || !request_is_done(requests[i]))
            continue;
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[finished];
        int error = request_finish(&requests[i], status);
        failed |= error != MPI_SUCCESS;
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = error;
        indices[finished++] = i;
    }
    *out_count = finished;
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

/* ---- The calls ---- */

/* Checks `flag`, which only calls that test have. */
static int check_flag(bool waits, const int *flag)
{
    return waits ? MPI_SUCCESS : check_output(flag, "flag");
}

static int one_complete(const char *name, bool waits, struct mpi_request **request, int *flag,
                        MPI_Status *status)
{
    mpi_enter();
    int error = check_request(request);
    struct mpi_comm *comm = error ? NULL : comm_of(1, request);
    if (comm)
        comm_hold(comm); /* finishing may free the request, and with it the communicator */
    if (!error)
        error = check_flag(waits, flag);
    if (!error && flag && !request_is_done(*request))
        progress_poll();
    if (!error && flag)
        *flag = request_is_done(*request);
    if (!error && (!flag || *flag))
        error = request_wait(request, status);
    error = mpi_return(comm, name, error);
    if (comm)
        comm_release(comm);
    mpi_leave();
    return error;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return one_complete("MPI_Wait", true, request, NULL, status);
}
MPI_ALIAS(Wait);

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    return one_complete("MPI_Test", false, request, flag, status);
}
MPI_ALIAS(Test);

static int all_complete(const char *name, bool waits, int count, struct mpi_request **requests, int *flag,
                        MPI_Status *statuses)
{
    struct several several = { .count = count, .requests = requests };

    mpi_enter();
    int error = check_requests(count, requests);
    struct mpi_comm *comm = error ? NULL : comm_of(count, requests);
    if (comm)
        comm_hold(comm);
    if (!error)
        error = check_flag(waits, flag);
    if (!error && flag && !(*flag = all_are_done(&several))) {
        progress_poll();
        *flag = all_are_done(&several);
    }
    if (!error && !flag)
        progress_wait(all_are_done, &several);
    if (!error && (!flag || *flag))
        error = all_finish(count, requests, statuses);
    error = mpi_return(comm, name, error);
    if (comm)
        comm_release(comm);
    mpi_leave();
    return error;
}

int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    return all_complete("MPI_Waitall", true, count, requests, NULL, statuses);
}
MPI_ALIAS(Waitall);

int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    return all_complete("MPI_Testall", false, count, requests, flag, statuses);
}
MPI_ALIAS(Testall);

static int any_complete(const char *name, bool waits, int count, struct mpi_request **requests, int *index,
                        int *flag, MPI_Status *status)
{
    struct several several = { .count = count, .requests = requests };
    MPI_Status empty;

    mpi_enter();
    int error = check_requests(count, requests);
    struct mpi_comm *comm = error ? NULL : comm_of(count, requests);
    if (comm)
        comm_hold(comm);
    if (!error)
        error = check_output(index, "index");
    if (!error)
        error = check_flag(waits, flag);
    if (!error) {
        bool idle = all_are_idle(&several);

        if (!flag && !idle)
            progress_wait(any_is_done, &several);
        else if (!idle && first_done(&several) == MPI_UNDEFINED)
            progress_poll();
        *index = first_done(&several);
        if (flag)
            *flag = idle || *index != MPI_UNDEFINED;
        status_empty(&empty, MPI_ANY_SOURCE);
        if (idle)
            status_give(&empty, status);
        else if (*index != MPI_UNDEFINED)
            error = request_finish(&requests[*index], status);
    }
    error = mpi_return(comm, name, error);
    if (comm)
        comm_release(comm);
    mpi_leave();
    return error;
}

int PMPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    return any_complete("MPI_Waitany", true, count, requests, index, NULL, status);
}
MPI_ALIAS(Waitany);

int PMPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    return any_complete("MPI_Testany", false, count, requests, index, flag, status);
}
MPI_ALIAS(Testany);

static int some_complete(const char *name, bool waits, int count, struct mpi_request **requests,
                         int *out_count, int *indices, MPI_Status *statuses)
{
    struct several several = { .count = count, .requests = requests };

    mpi_enter();
    int error = check_requests(count, requests);
    struct mpi_comm *comm = error ? NULL : comm_of(count, requests);
    if (comm)
        comm_hold(comm);
    if (!error)
        error = check_output(out_count, "outcount");
    if (!error && count)
        error = check_output(indices, "array_of_indices");
    if (!error && all_are_idle(&several)) {
        *out_count = MPI_UNDEFINED;
    } else if (!error) {
        if (waits)
            progress_wait(any_is_done, &several);
        else
            progress_poll();
        error = some_finish(count, requests, out_count, indices, statuses);
    }
    error = mpi_return(comm, name, error);
    if (comm)
        comm_release(comm);
    mpi_leave();
    return error;
}

int PMPI_Waitsome(int count, MPI_Request requests[], int *out_count, int indices[], MPI_Status statuses[])
{
    return some_complete("MPI_Waitsome", true, count, requests, out_count, indices, statuses);
}
MPI_ALIAS(Waitsome);

int PMPI_Testsome(int count, MPI_Request requests[], int *out_count, int indices[], MPI_Status statuses[])
{
    return some_complete("MPI_Testsome", false, count, requests, out_count, indices, statuses);
}
MPI_ALIAS(Testsome);

static int request_give_up(struct mpi_request *request)
{
    if (request->complete) {
        int error = request->generalized ? generalized_end(request) : MPI_SUCCESS;

        request_free(request);
        return error;
    }
    request->freed = true;
    if (!request->generalized) /* the program completes a generalized request, or never does */
        request_detached++;
    return MPI_SUCCESS;
}

static int Request_free(MPI_Request *request)
{
    struct mpi_request *given = *request;
    int error = MPI_SUCCESS;

    if (given == MPI_REQUEST_NULL)
        return mpi_error(MPI_ERR_REQUEST, "argument 1, request: MPI_REQUEST_NULL");
    if (given->persistence) {
        if (given->active)
            error = request_give_up(given->persistence->running);
        request_free(given);
    } else {
        error = request_give_up(given);
    }
    *request = MPI_REQUEST_NULL;
    return error;
}
MPI_CALL(Request_free);

static int Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    MPI_Status empty;
    int error = MPI_SUCCESS;

    progress_poll();
    *flag = request_is_done(request);
    if (*flag && request && request->generalized)
        error = generalized_query(request);
    status_empty(&empty, MPI_ANY_SOURCE);
    if (*flag && request_is_idle(request))
        status_give(&empty, status);
    else if (*flag)
        status_give(request->persistence ? &request->persistence->running->status : &request->status, status);
    return error;
}
MPI_CALL(Request_get_status);

static int Cancel(MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL)
        return mpi_error(MPI_ERR_REQUEST, "argument 1, request: MPI_REQUEST_NULL");
    if ((*request)->generalized)
        return generalized_cancel(*request);
    if (!request_is_idle(*request)) /* a send is never cancelled: it completes */
        message_cancel((*request)->persistence ? (*request)->persistence->running : *request);
    return MPI_SUCCESS;
}
MPI_CALL(Cancel);

/* ---- Persistent requests ---- */

static int persistent_make(const char *name, enum request_kind kind, enum send_mode mode, const void *buffer,
                           int count, struct mpi_datatype *type, int peer, int tag, struct mpi_comm *comm,
                           struct mpi_request **request)
{
    bool receives = kind == REQUEST_RECEIVE;
    struct persistent *persistent = NULL;

    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_output(request, "request");
    if (!error)
        error = check_transfer(buffer, count, type, peer, tag, comm, receives);
    if (!error) {
        persistent = calloc(1, sizeof(*persistent));
        *request = persistent ? request_make(kind, comm) : NULL;
        if (!*request) {
            free(persistent);
            error = mpi_error(MPI_ERR_NO_MEM, "no memory for a request");
        }
    }
    if (!error) {
        *persistent =
            (struct persistent){ mode, (void *)(uintptr_t)buffer, (size_t)count, type, peer, tag, NULL };
        type_hold(type);
        (*request)->persistence = persistent;
        (*request)->persistent = true;
        (*request)->active = false;
    }
    return mpi_leave_with(heard, name, error);
}

#define SEND_INIT(name, mode)                                                                           \
    int PMPI_##name(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, \
                    MPI_Request *request)                                                               \
    {                                                                                                   \
        return persistent_make("MPI_" #name, REQUEST_SEND, mode, buffer, count, type, peer, tag, comm,  \
                               request);                                                                \
    }                                                                                                   \
    MPI_ALIAS(name);
SEND_INIT(Send_init, SEND_STANDARD)
SEND_INIT(Bsend_init, SEND_BUFFERED)
SEND_INIT(Ssend_init, SEND_SYNCHRONOUS)
SEND_INIT(Rsend_init, SEND_READY)

int PMPI_Recv_init(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    return persistent_make("MPI_Recv_init", REQUEST_RECEIVE, SEND_STANDARD, buffer, count, type, peer, tag,
                           comm, request);
}
MPI_ALIAS(Recv_init);

static int request_start(struct mpi_request *request)
{
    if (request == MPI_REQUEST_NULL || !request->persistence)
        return mpi_error(MPI_ERR_REQUEST, "argument request: it is not persistent");
    struct persistent *with = request->persistence;
    struct mpi_comm *comm = request->comm;
    if (request->active)
        return mpi_error(MPI_ERR_REQUEST, "argument request: it is active already");
    if (request->kind == REQUEST_SEND && with->mode == SEND_BUFFERED && with->peer != MPI_PROC_NULL) {
        int error = buffered_take(with->count * with->type->bytes);

        if (error)
            return error;
    }
    with->running = request->kind == REQUEST_SEND
                        ? message_send(with->mode, with->buffer, with->count, with->type, with->peer,
                                       with->tag, comm, comm->context)
                        : message_receive(with->buffer, with->count, with->type, with->peer, with->tag, comm,
                                          comm->context);
    if (!with->running)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for a message");
    request->active = true;
    return MPI_SUCCESS;
}

int PMPI_Start(MPI_Request *request)
{
    mpi_enter();
    int error = check_request(request);
    if (!error)
        error = request_start(*request);
    return mpi_leave_with(request ? comm_of(1, request) : NULL, "MPI_Start", error);
}
MPI_ALIAS(Start);

int PMPI_Startall(int count, MPI_Request requests[])
{
    mpi_enter();
    int error = check_requests(count, requests);
    for (int i = 0; i < count && !error; i++)
        error = request_start(requests[i]);
    return mpi_leave_with(comm_of(count, requests), "MPI_Startall", error);
}
MPI_ALIAS(Startall);
