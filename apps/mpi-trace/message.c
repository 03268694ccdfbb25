/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.c: what records say about messages, requests and collectives. A receive's record gets source, tag
 * and bytes of its message when it completes, so that MPI_ANY_SOURCE is never what a trace is replayed by.
 */
#include "trace.h"
#include <stdlib.h>
#include <string.h>

static uint32_t requests_begun;

/* ---- Values that are the same for all libraries ---- */

static int peer_of(int peer)
{
    if (peer == MPI_PROC_NULL)
        return TRACE_NOBODY;
    if (peer == MPI_ANY_SOURCE)
        return TRACE_ANY_SOURCE;
    return peer == MPI_ROOT ? TRACE_ROOT : peer;
}

static uint64_t bytes_of(int count, uint32_t type_bytes)
{
    return count < 0 ? 0 : (uint64_t)count * type_bytes;
}

/* Our library's statuses are read directly, which costs less than half of the calls. */
#ifdef TRACE_MPI_LITE
static uint64_t status_bytes(const MPI_Status *status)
{
    return status->mpi_lite_bytes;
}

static bool status_is_cancelled(const MPI_Status *status)
{
    return status->mpi_lite_cancelled != 0;
}
#else
static uint64_t status_bytes(const MPI_Status *status)
{
    MPI_Count bytes = 0;

    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes < 0 ? 0 : (uint64_t)bytes;
}

static bool status_is_cancelled(const MPI_Status *status)
{
    int is_cancelled = 0;

    PMPI_Test_cancelled(status, &is_cancelled);
    return is_cancelled != 0;
}
#endif

static uint32_t comm_number(MPI_Comm comm)
{
    struct trace_object *object = trace_comm(comm);

    return object ? object->number : TRACE_NONE;
}

static void describe(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm, unsigned flags)
{
    record->type_bytes = trace_type_bytes(type);
    record->bytes = bytes_of(count, record->type_bytes);
    record->peer = peer_of(peer);
    record->tag = tag == MPI_ANY_TAG ? -1 : tag;
    record->comm = comm_number(comm);
    record->flags |= (uint16_t)flags;
    if ((flags & TRACE_RECEIVES) && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG))
        record->flags |= TRACE_ANY;
}

/* Says which message a receive has got. */
static void matched(struct trace_record *record, const MPI_Status *status)
{
    record->flags &= (uint16_t)~TRACE_OPEN;
    if (!status || record->peer == TRACE_NOBODY)
        return;
    if (status_is_cancelled(status)) {
        record->flags |= TRACE_CANCELLED;
        return;
    }
    record->peer = peer_of(status->MPI_SOURCE);
    record->tag = status->MPI_TAG;
    record->bytes = status_bytes(status);
}

/* ---- Blocking calls ---- */

void trace_send(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                unsigned flags)
{
    describe(record, count, type, peer, tag, comm, TRACE_SENDS | flags);
}

void trace_recv(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                const MPI_Status *status)
{
    describe(record, count, type, peer, tag, comm, TRACE_RECEIVES);
    matched(record, status);
}

void trace_sendrecv(struct trace_record *record, int count, MPI_Datatype type, int dest, int send_tag,
                    int receive_count, MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
                    const MPI_Status *status)
{
    describe(record, count, type, dest, send_tag, comm, TRACE_SENDS);
    struct trace_record *part = trace_more(record, TRACE_PART);
    if (!part)
        return;
    describe(part, receive_count, receive_type, source, receive_tag, comm, TRACE_RECEIVES);
    matched(part, status);
}

void trace_probe(struct trace_record *record, bool found, int peer, int tag, MPI_Comm comm,
                 const MPI_Status *status)
{
    uint64_t between_ns = record->bytes;

    describe(record, 0, MPI_BYTE, peer, tag, comm, TRACE_RECEIVES | TRACE_PROBES);
    if (found) {
        record->peer = peer_of(status->MPI_SOURCE);
        record->tag = status->MPI_TAG;
    }
    record->bytes = between_ns;
}

/* Returns a copy that trace_remove frees. */
static struct trace_record *record_copy(const struct trace_record *record)
{
    struct trace_record *copy = malloc(sizeof(*copy));

    if (!copy)
        PMPI_Abort(MPI_COMM_WORLD, 1);
    *copy = *record;
    return copy;
}

void trace_mprobe(struct trace_record *record, bool found, int peer, int tag, MPI_Comm comm,
                  const MPI_Status *status, uintptr_t message)
{
    trace_probe(record, found, peer, tag, comm, status);
    if (found)
        trace_add(TRACE_OF_MESSAGE, message)->message = record_copy(record);
}

/* Describes the receive of a message that a probe has matched. */
static void describe_matched(struct trace_record *record, int count, MPI_Datatype type, uintptr_t message)
{
    struct trace_object *object = trace_find(TRACE_OF_MESSAGE, message);

    record->type_bytes = trace_type_bytes(type);
    record->bytes = bytes_of(count, record->type_bytes);
    record->flags |= TRACE_RECEIVES;
    record->peer = TRACE_NOBODY; /* MPI_MESSAGE_NO_PROC is no object */
    if (!object)
        return;
    record->peer = object->message->peer;
    record->tag = object->message->tag;
    record->comm = object->message->comm;
    record->flags |= object->message->flags & TRACE_ANY;
    trace_remove(object);
}

void trace_mrecv(struct trace_record *record, int count, MPI_Datatype type, uintptr_t message,
                 const MPI_Status *status)
{
    describe_matched(record, count, type, message);
    matched(record, status);
}

/* ---- Calls that begin a request ---- */

static struct trace_object *request_add(struct trace_record *record, uintptr_t key)
{
    struct trace_object *object = trace_add(TRACE_OF_REQUEST, key);

    object->number = ++requests_begun;
    record->request = object->number;
    return object;
}

void trace_isend(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 unsigned flags, uintptr_t begins)
{
    describe(record, count, type, peer, tag, comm, TRACE_SENDS | flags);
    request_add(record, begins);
}

void trace_irecv(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 uintptr_t begins)
{
    describe(record, count, type, peer, tag, comm, TRACE_RECEIVES | TRACE_OPEN);
    request_add(record, begins)->record = record;
}

void trace_imrecv(struct trace_record *record, int count, MPI_Datatype type, uintptr_t message,
                  uintptr_t begins)
{
    describe_matched(record, count, type, message);
    record->flags |= TRACE_OPEN;
    request_add(record, begins)->record = record;
}

void trace_init_request(struct trace_record *record, int count, MPI_Datatype type, int peer, int tag,
                        MPI_Comm comm, unsigned flags, uintptr_t key)
{
    struct trace_record message = { .peer = TRACE_ANY_SOURCE };

    describe(&message, count, type, peer, tag, comm, flags | TRACE_PERSISTENT);
    struct trace_object *object = trace_add(TRACE_OF_REQUEST, key);
    object->message = record_copy(&message);
    record->comm = message.comm;
}

/* Records the message that a persistent request begins, in the call's record or a part of it. */
static void start(struct trace_record *record, struct trace_object *object)
{
    const struct trace_record *message = object->message;

    if (!message)
        return;
    record->flags |= message->flags;
    record->peer = message->peer;
    record->tag = message->tag;
    record->bytes = message->bytes;
    record->comm = message->comm;
    record->type_bytes = message->type_bytes;
    object->number = ++requests_begun;
    record->request = object->number;
    if (message->flags & TRACE_RECEIVES) {
        record->flags |= TRACE_OPEN;
        object->record = record;
    }
}

void trace_start(struct trace_record *record, int count, const uintptr_t *keys)
{
    for (int i = 0; i < count; i++) {
        struct trace_object *object = trace_find(TRACE_OF_REQUEST, keys[i]);
        struct trace_record *part = count == 1 ? record : trace_more(record, TRACE_PART);
        if (object && part)
            start(part, object);
    }
}

/* ---- Completion ---- */

/* Ends a request, and returns its number; 0: it is none, or not active. */
static uint32_t request_complete(uintptr_t key, const MPI_Status *status)
{
    struct trace_object *object = trace_find(TRACE_OF_REQUEST, key);

    if (!object || !object->number)
        return 0;
    uint32_t number = object->number;
    if (object->record)
        matched(object->record, status);
    if (object->made)
        trace_comm_completed(object->made, object->made_in_fortran);
    if (object->message) { /* a persistent request */
        object->number = 0;
        object->record = NULL;
    } else {
        trace_remove(object);
    }
    return number;
}

void trace_completed(struct trace_record *record, uintptr_t key, const MPI_Status *status)
{
    uint32_t number = request_complete(key, status);

    if (number) {
        record->request = number;
        record->flags |= TRACE_COMPLETES;
    }
}

void trace_completed_some(struct trace_record *record, int count, const uintptr_t *keys, const int *indices,
                          int base, const MPI_Status *statuses)
{
    uint32_t words[TRACE_PEERS];
    size_t here = 0, all = 0;

    if (count == MPI_UNDEFINED)
        return;
    record->flags |= TRACE_COMPLETES;
    for (int i = 0; i < count; i++) {
        uint32_t number = request_complete(keys[indices ? indices[i] - base : i], &statuses[i]);
        if (!number)
            continue;
        all++;
        words[here++] = number;
        if (here == TRACE_PEERS) {
            trace_words(record, words, here);
            here = 0;
        }
    }
    if (all == 1)
        record->request = words[0];
    else
        trace_words(record, words, here);
}

void trace_request_seen(struct trace_record *record, bool found, uintptr_t key, const MPI_Status *status)
{
    struct trace_object *object = found ? trace_find(TRACE_OF_REQUEST, key) : NULL;

    if (!object)
        return;
    if (object->record)
        matched(object->record, status);
    object->record = NULL;
    record->request = object->number;
    record->flags |= object->number ? TRACE_COMPLETES : 0;
}

void trace_request_named(struct trace_record *record, uintptr_t key)
{
    struct trace_object *object = trace_find(TRACE_OF_REQUEST, key);

    record->request = object ? object->number : 0;
}

void trace_request_freed(struct trace_record *record, uintptr_t key)
{
    trace_request_named(record, key);
    trace_remove(trace_find(TRACE_OF_REQUEST, key));
}

/* ---- Copies of arrays ---- */

void *trace_scratch(int count, size_t element, void **memory, size_t *bytes)
{
    size_t needed = count < 1 ? element : (size_t)count * element;

    if (needed > *bytes) {
        free(*memory);
        *memory = malloc(needed);
        *bytes = *memory ? needed : 0;
        if (!*memory)
            PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    return *memory;
}

uintptr_t *trace_keys(int count, const MPI_Request *requests)
{
    static void *memory;
    static size_t bytes;
    uintptr_t *keys = trace_scratch(count, sizeof(*keys), &memory, &bytes);

    for (int i = 0; requests && i < count; i++)
        keys[i] = TRACE_KEY(requests[i]);
    return keys;
}

MPI_Status *trace_statuses(int count)
{
    static void *memory;
    static size_t bytes;

    return trace_scratch(count, sizeof(MPI_Status), &memory, &bytes);
}

/* ---- Collectives ---- */

void trace_collective(struct trace_record *record, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      uintptr_t begins)
{
    describe(record, count, type, root, -1, comm, TRACE_COLLECTIVE);
    if (begins)
        request_add(record, begins);
}

/* Appends bytes of `parts` processes, and sets their sum. */
static void parts_append(struct trace_record *record, int parts, const int *counts, MPI_Datatype type,
                         const MPI_Datatype *types)
{
    uint32_t words[TRACE_PEERS];
    uint64_t all = 0;

    for (int i = 0; i < parts; i++) {
        uint64_t bytes = bytes_of(counts[i], trace_type_bytes(types ? types[i] : type));
        all += bytes;
        if (bytes > UINT32_MAX)
            record->flags |= TRACE_CLIPPED;
        words[i % TRACE_PEERS] = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
        if (i % TRACE_PEERS == TRACE_PEERS - 1 || i == parts - 1)
            trace_words(record, words, (size_t)(i % TRACE_PEERS) + 1);
    }
    record->bytes = all;
}

void trace_collective_parts(struct trace_record *record, const int *counts, MPI_Datatype type,
                            const MPI_Datatype *types, int root, MPI_Comm comm, uintptr_t begins)
{
    trace_collective(record, 0, types ? MPI_BYTE : type, root, comm, begins);
    parts_append(record, trace_remote_size(comm), counts, type, types);
}

void trace_neighbours(struct trace_record *record, const int *counts, MPI_Datatype type,
                      const MPI_Datatype *types, MPI_Comm comm, uintptr_t begins)
{
    trace_collective(record, 0, types ? MPI_BYTE : type, TRACE_ANY_SOURCE, comm, begins);
    parts_append(record, trace_neighbours_count(comm), counts, type, types);
}

bool trace_is_root(int root, MPI_Comm comm)
{
    struct trace_object *object = trace_comm(comm);

    return root == MPI_ROOT || (object && !object->is_inter && object->rank == root);
}

int trace_remote_size(MPI_Comm comm)
{
    struct trace_object *object = trace_comm(comm);

    return object ? object->size : 0;
}

int trace_neighbours_count(MPI_Comm comm)
{
    int kind, count = 0, in, weighted;

    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART && PMPI_Cartdim_get(comm, &count) == MPI_SUCCESS)
        return 2 * count;
    if (kind == MPI_GRAPH)
        PMPI_Graph_neighbors_count(comm, trace_comm(comm)->rank, &count);
    if (kind == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors_count(comm, &in, &count, &weighted);
    return count;
}
