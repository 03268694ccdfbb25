/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * point_to_point.c: the calls that send, receive and probe. Each holds the library's lock.
 *
 * Source: MPI 3.1 chapter 3.
 */
#include "message/message.h"
#include <stdlib.h>

/* The object of MPI_MESSAGE_NO_PROC. All other message handles are arrivals. */
struct mpi_message {
    char unused;
} mpi_lite_message_no_proc;

/* ---- Sends and receives ---- */

/* Begins a send. If `is_now`, the caller waits for it; *request is then NULL if it is complete already. */
static int send_begin(enum send_mode mode, const void *buffer, int count, struct mpi_datatype *type, int peer,
                      int tag, struct mpi_comm *comm, bool is_now, struct mpi_request **request)
{
    int error = check_transfer(buffer, count, type, peer, tag, comm, false);

    if (!error && !is_now && !request_has_room()) /* checked before anything is sent */
        error = mpi_error(MPI_ERR_NO_MEM, "no memory for a request");
    if (!error && mode == SEND_BUFFERED && peer != MPI_PROC_NULL)
        error = buffered_take((size_t)count * type->bytes);
    if (error)
        return error;
    bool is_through = mode == SEND_STANDARD &&
                      message_send_now(buffer, (size_t)count, type, peer, tag, comm, comm->context);
    if (is_through && is_now) {
        *request = NULL;
        return MPI_SUCCESS;
    }
    *request = is_through ? request_done_make(REQUEST_SEND, comm)
                          : message_send(mode, buffer, (size_t)count, type, peer, tag, comm, comm->context);
    return *request ? MPI_SUCCESS : mpi_error(MPI_ERR_NO_MEM, "no memory for a message");
}

static int receive_begin(void *buffer, int count, struct mpi_datatype *type, int peer, int tag,
                         struct mpi_comm *comm, struct mpi_request **request)
{
    int error = check_transfer(buffer, count, type, peer, tag, comm, true);

    if (error)
        return error;
    *request = message_receive(buffer, (size_t)count, type, peer, tag, comm, comm->context);
    return *request ? MPI_SUCCESS : mpi_error(MPI_ERR_NO_MEM, "no memory for a message");
}

/* Does a call that sends; `request` is not used if it blocks. */
static int send_call(const char *name, enum send_mode mode, const void *buffer, int count,
                     struct mpi_datatype *type, int peer, int tag, struct mpi_comm *comm, bool blocks,
                     struct mpi_request **request)
{
    struct mpi_request *own;

    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error && !blocks)
        error = check_output(request, "request");
    if (!error)
        error = send_begin(mode, buffer, count, type, peer, tag, comm, blocks, blocks ? &own : request);
    if (!error && blocks && own)
        error = request_wait(&own, MPI_STATUS_IGNORE);
    return mpi_leave_with(heard, name, error);
}

#define SEND(name, mode)                                                                                \
    int PMPI_##name(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) \
    {                                                                                                   \
        return send_call("MPI_" #name, mode, buffer, count, type, dest, tag, comm, true, NULL);         \
    }                                                                                                   \
    MPI_ALIAS(name);
#define ISEND(name, mode)                                                                               \
    int PMPI_##name(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, \
                    MPI_Request *request)                                                               \
    {                                                                                                   \
        return send_call("MPI_" #name, mode, buffer, count, type, dest, tag, comm, false, request);     \
    }                                                                                                   \
    MPI_ALIAS(name);
SEND(Send, SEND_STANDARD)
SEND(Bsend, SEND_BUFFERED)
SEND(Ssend, SEND_SYNCHRONOUS)
SEND(Rsend, SEND_READY)
ISEND(Isend, SEND_STANDARD)
ISEND(Ibsend, SEND_BUFFERED)
ISEND(Issend, SEND_SYNCHRONOUS)
ISEND(Irsend, SEND_READY)

static int Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Status *status)
{
    struct mpi_request *request;

    int error = receive_begin(buffer, count, type, source, tag, comm, &request);
    return error ? error : request_wait(&request, status);
}
MPI_CALL(Recv);

static int Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    return receive_begin(buffer, count, type, source, tag, comm, request);
}
MPI_CALL(Irecv);

static int exchange(const void *from, int from_count, struct mpi_datatype *from_type, int dest, int send_tag,
                    void *to, int to_count, struct mpi_datatype *to_type, int source, int receive_tag,
                    struct mpi_comm *comm, MPI_Status *status)
{
    struct mpi_request *send, *receive;
    int error = check_transfer(from, from_count, from_type, dest, send_tag, comm, false);

    if (!error)
        error = receive_begin(to, to_count, to_type, source, receive_tag, comm, &receive);
    if (!error)
        error = send_begin(SEND_STANDARD, from, from_count, from_type, dest, send_tag, comm, true, &send);
    if (error)
        return error;
    int send_error = send ? request_wait(&send, MPI_STATUS_IGNORE) : MPI_SUCCESS;
    error = request_wait(&receive, status);
    return error ? error : send_error;
}

static int Sendrecv(const void *from, int from_count, MPI_Datatype from_type, int dest, int send_tag,
                    void *to, int to_count, MPI_Datatype to_type, int source, int receive_tag, MPI_Comm comm,
                    MPI_Status *status)
{
    return exchange(from, from_count, from_type, dest, send_tag, to, to_count, to_type, source, receive_tag,
                    comm, status);
}
MPI_CALL(Sendrecv);

/* Sends a packed copy and receives into the buffer. The bytes to send may be more than an int counts; they
 * have been checked as elements of the type. */
static int replace(const void *copy, size_t bytes, int dest, int send_tag, void *buffer, int count,
                   struct mpi_datatype *type, int source, int receive_tag, struct mpi_comm *comm,
                   MPI_Status *status)
{
    struct mpi_request *receive;
    int error = receive_begin(buffer, count, type, source, receive_tag, comm, &receive);

    if (error)
        return error;
    struct mpi_request *send =
        message_send(SEND_STANDARD, copy, bytes, MPI_BYTE, dest, send_tag, comm, comm->context);
    if (!send)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for a message");
    int send_error = request_wait(&send, MPI_STATUS_IGNORE);
    error = request_wait(&receive, status);
    return error ? error : send_error;
}

static int Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int send_tag, int source,
                            int receive_tag, MPI_Comm comm, MPI_Status *status)
{
    int error = check_transfer(buffer, count, type, dest, send_tag, comm, false);

    if (error)
        return error;
    size_t bytes = (size_t)count * type->bytes;
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", bytes);
    if (bytes)
        type_pack(buffer, (size_t)count, type, 0, bytes, copy);
    error = replace(copy, bytes, dest, send_tag, buffer, count, type, source, receive_tag, comm, status);
    free(copy);
    return error;
}
MPI_CALL(Sendrecv_replace);

/* ---- Probes ---- */

struct probe {
    uint32_t context;
    int source, tag;
    struct arrival *found;
};

static bool probe_finds(void *argument)
{
    struct probe *probe = argument;

    probe->found = message_find(probe->context, probe->source, probe->tag);
    return probe->found != NULL;
}

/* Does a call that probes. `flag` is not used if it waits, nor `message` if the message stays in the queue.
 */
static int probe_call(const char *name, bool waits, bool takes, int source, int tag, struct mpi_comm *comm,
                      int *flag, MPI_Message *message, MPI_Status *status)
{
    mpi_enter();
    int error = check_comm(comm);
    struct mpi_comm *heard = error ? NULL : comm;
    if (!error)
        error = check_peer(source, comm, true);
    if (!error)
        error = check_tag(tag, true);
    if (!error && !waits)
        error = check_output(flag, "flag");
    if (!error && takes)
        error = check_output(message, "message");
    if (!error && source == MPI_PROC_NULL) {
        if (flag)
            *flag = 1;
        if (message)
            *message = MPI_MESSAGE_NO_PROC;
        if (status != MPI_STATUS_IGNORE)
            status_empty(status, MPI_PROC_NULL);
    } else if (!error) {
        struct probe probe = { comm->context, source, tag, NULL };

        if (!flag)
            progress_wait(probe_finds, &probe);
        else if (!(*flag = probe_finds(&probe)) && progress_poll())
            *flag = probe_finds(&probe);
        if (probe.found && status != MPI_STATUS_IGNORE)
            status_set(status, probe.found->head.source, probe.found->head.tag,
                       (size_t)probe.found->head.bytes);
        if (probe.found && message) {
            message_unlink(probe.found);
            probe.found->comm = comm;
            comm_hold(comm);
            *message = (MPI_Message)probe.found;
        } else if (message) {
            *message = MPI_MESSAGE_NULL;
        }
    }
    return mpi_leave_with(heard, name, error);
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return probe_call("MPI_Probe", true, false, source, tag, comm, NULL, NULL, status);
}
MPI_ALIAS(Probe);

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    return probe_call("MPI_Iprobe", false, false, source, tag, comm, flag, NULL, status);
}
MPI_ALIAS(Iprobe);

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    return probe_call("MPI_Mprobe", true, true, source, tag, comm, NULL, message, status);
}
MPI_ALIAS(Mprobe);

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    return probe_call("MPI_Improbe", false, true, source, tag, comm, flag, message, status);
}
MPI_ALIAS(Improbe);

static int matched_begin(void *buffer, int count, struct mpi_datatype *type, MPI_Message *message,
                         struct mpi_request **request)
{
    int error = check_buffer(count, type);

    if (!error)
        error = check_output(message, "message");
    if (!error && *message == MPI_MESSAGE_NULL)
        error = mpi_error(MPI_ERR_REQUEST, "argument 4, message: MPI_MESSAGE_NULL");
    if (error)
        return error;
    if (*message == MPI_MESSAGE_NO_PROC) {
        *request = message_receive(buffer, (size_t)count, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, 0);
    } else {
        struct arrival *arrival = (struct arrival *)*message;

        *request = message_receive_arrival(buffer, (size_t)count, type, arrival, arrival->comm);
    }
    handle_release(*message);
    *message = MPI_MESSAGE_NULL;
    return *request ? MPI_SUCCESS : mpi_error(MPI_ERR_NO_MEM, "no memory for a message");
}

static int Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    return matched_begin(buffer, count, type, message, request);
}
MPI_CALL(Imrecv);

static int Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    struct mpi_request *request;

    int error = matched_begin(buffer, count, type, message, &request);
    return error ? error : request_wait(&request, status);
}
MPI_CALL(Mrecv);
