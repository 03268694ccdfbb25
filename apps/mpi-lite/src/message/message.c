/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.c: how a message goes from a send to a receive.
 *
 *   eager        HEAD_EAGER with the data; synchronous: HEAD_EAGER_SYNC, and HEAD_DONE once it matches
 *   rendezvous   HEAD_REQUEST; in a node both ends copy from memory to memory (peer_copy.c), up to HEAD_DONE;
 *                if they may not, or the sender's data has gaps, HEAD_CLEAR, and HEAD_DATA in fragments
 *   to oneself   copied once, at the match
 *
 * If a transport has no room, outputs wait in their peer's queue, in order. A cookie names a request in a
 * table, with a generation, so that a stale or wrong cookie is noticed. Runs under the library's lock.
 */
#include "message/message.h"
#include <stdlib.h>
#include <string.h>

/* For a single message, copying from memory to memory is the fastest way. If several are under way, smaller
 * messages than this may go through the segment, where the two ends work at the same time. */
#define COPIED_ALWAYS ((size_t)1 << 20)

/* Something to be sent: a head, and for an eager message or fragments the request with the data. */
struct output {
    struct output *next;
    struct head head;
    struct mpi_request *request;
    size_t at, end; /* HEAD_DATA: the next byte to send, and the end */
    void *owned;    /* HEAD_WINDOW: a copy of its `end` bytes of data, freed with it; or NULL */
};

struct peer {
    struct output *first, *last;
    int world;
    const struct transport *transport; /* NULL: before the first message to it, and for this process itself */
    size_t fragment_bytes;             /* maximum data with one head */
    size_t eager_bytes;                /* messages of at most this many bytes go eagerly */
    bool is_listed;
    struct peer *next;
};

struct cookie {
    struct mpi_request *request;
    uint32_t generation, next_free;
};

static struct peer *peers, *listed;
static struct cookie *cookies;
static uint32_t cookie_count, cookie_free; /* index + 1; 0: none */
static int rendezvous_sends;               /* under way */
static unsigned char *scratch;
static size_t scratch_bytes;
/* Called for HEAD_WINDOW. */
static void (*windows)(int peer, const struct head *head, const void *data, size_t bytes);

/* ---- Cookies ---- */

void message_cookie_make(struct mpi_request *request)
{
    if (!cookie_free) {
        uint32_t count = cookie_count ? 2 * cookie_count : 64;
        struct cookie *more = realloc(cookies, count * sizeof(*more));

        if (!more)
            mpi_abort(1, "no memory for %u messages under way", count);
        for (uint32_t i = cookie_count; i < count; i++)
            more[i] = (struct cookie){ .next_free = i + 1 < count ? i + 2 : 0 };
        cookies = more;
        cookie_free = cookie_count + 1;
        cookie_count = count;
    }
    struct cookie *cookie = &cookies[cookie_free - 1];
    request->message->cookie = (uint64_t)++cookie->generation << 32 | cookie_free;
    cookie_free = cookie->next_free;
    cookie->request = request;
}

static void cookie_drop(struct message *message)
{
    uint32_t index = (uint32_t)message->cookie;

    cookies[index - 1].request = NULL;
    cookies[index - 1].next_free = cookie_free;
    cookie_free = index;
    message->cookie = 0;
}

static struct mpi_request *cookie_find(int peer, const struct head *head, enum request_kind kind)
{
    uint32_t index = (uint32_t)head->cookie;
    struct mpi_request *request = index && index <= cookie_count ? cookies[index - 1].request : NULL;

    if (!request || request->message->cookie != head->cookie || request->kind != kind ||
        request->message->world != peer)
        mpi_abort(1, "rank %d has sent a head of kind %u that answers no message of this rank", peer,
                  head->kind);
    return request;
}

/* ---- Data ---- */

static unsigned char *scratch_get(size_t bytes)
{
    if (bytes > scratch_bytes) {
        free(scratch);
        scratch = malloc(bytes);
        scratch_bytes = bytes;
        if (!scratch)
            mpi_abort(1, "no memory for a fragment of %zu bytes", bytes);
    }
    return scratch;
}

static const void *data_of(const struct message *message, size_t from, size_t bytes)
{
    if (!bytes)
        return NULL;
    if (message->type->dense)
        return (const char *)message->buffer + from;
    unsigned char *packed = scratch_get(bytes);
    type_pack(message->buffer, message->count, message->type, from, bytes, packed);
    return packed;
}

static void data_take(struct message *message, size_t from, size_t bytes, const void *data)
{
    if (!bytes)
        return;
    if (message->type->dense)
        memcpy((char *)message->buffer + from, data, bytes);
    else
        type_unpack(message->buffer, message->count, message->type, from, bytes, data);
}

static void send_complete(struct mpi_request *request)
{
    struct message *message = request->message;

    if (message->cookie)
        cookie_drop(message);
    if (message->is_rendezvous && --rendezvous_sends == 0)
        burst_end();
    if (message->is_buffered) {
        buffered_give(message->buffered);
        free(message->packed);
        message->packed = NULL;
    }
    request_complete(request);
}

/* ---- Outputs ---- */

/* Sends as much of an output as there is room for. Returns whether all of it is sent. */
static bool output_send(struct peer *peer, struct output *output, bool *moved)
{
    const struct transport *transport = peer->transport;
    struct mpi_request *request = output->request;
    struct head *head = &output->head;

    if (head->kind == HEAD_DATA) {
        while (output->at < output->end) {
            size_t bytes = output->end - output->at;

            if (bytes > peer->fragment_bytes)
                bytes = peer->fragment_bytes;
            if (!transport->send(peer->world, head, data_of(request->message, output->at, bytes), bytes))
                return false;
            output->at += bytes;
            *moved = true;
        }
    } else if (head->kind == HEAD_WINDOW) {
        if (!transport->send(peer->world, head, output->owned, output->end))
            return false;
        free(output->owned);
        *moved = true;
    } else {
        size_t bytes = head->kind == HEAD_EAGER || head->kind == HEAD_EAGER_SYNC ? (size_t)head->bytes : 0;

        if (!transport->send(peer->world, head, bytes ? data_of(request->message, 0, bytes) : NULL, bytes))
            return false;
        *moved = true;
    }
    if (head->kind == HEAD_EAGER || head->kind == HEAD_DATA)
        send_complete(request);
    return true;
}

static void peer_begin(struct peer *peer)
{
    bool is_self = peer->world == mpi_world.rank;
    const struct transport *transport = is_self ? &transport_shared : transport_to(peer->world);

    peer->transport = is_self ? NULL : transport;
    peer->fragment_bytes = is_self ? SIZE_MAX : transport->fragment_bytes();
    peer->eager_bytes = mpi_world.eager_bytes == SIZE_MAX ? transport->eager_bytes : mpi_world.eager_bytes;
    if (peer->eager_bytes > peer->fragment_bytes)
        peer->eager_bytes = peer->fragment_bytes;
}

static struct peer *peer_of(int world)
{
    if (!peers) {
        peers = calloc((size_t)mpi_world.size, sizeof(*peers));
        if (!peers)
            mpi_abort(1, "no memory for %d peers", mpi_world.size);
        for (int i = 0; i < mpi_world.size; i++)
            peers[i].world = i;
    }
    struct peer *peer = &peers[world];
    if (!peer->fragment_bytes)
        peer_begin(peer);
    return peer;
}

/* Appends an output to the queue of its peer. */
static void output_keep(struct peer *peer, const struct output *output)
{
    struct output *kept = malloc(sizeof(*kept));

    if (!kept)
        mpi_abort(1, "no memory for a message to rank %d", peer->world);
    *kept = *output;
    *(peer->last ? &peer->last->next : &peer->first) = kept;
    peer->last = kept;
    if (!peer->is_listed) {
        peer->is_listed = true;
        peer->next = listed;
        listed = peer;
    }
}

/* Sends an output now, or queues it if there is no room or others wait already. */
static void output_begin(int world, const struct head *head, struct mpi_request *request, size_t end)
{
    struct peer *peer = peer_of(world);
    struct output output = { .head = *head, .request = request, .end = end };
    bool moved = false;

    if (peer->first || !output_send(peer, &output, &moved))
        output_keep(peer, &output);
}

bool message_try(int world, const struct head *head, const void *data, size_t bytes)
{
    struct peer *peer = peer_of(world);

    return !peer->first && peer->transport->send(world, head, data, bytes);
}

void message_post(int world, const struct head *head, const void *data, size_t bytes)
{
    struct output output = { .head = *head, .end = bytes };

    if (message_try(world, head, data, bytes))
        return;
    if (bytes && !(output.owned = malloc(bytes)))
        mpi_abort(1, "no memory for %zu bytes to rank %d", bytes, world);
    if (bytes)
        memcpy(output.owned, data, bytes);
    output_keep(peer_of(world), &output);
}

size_t message_fragment(int world)
{
    return peer_of(world)->fragment_bytes;
}

bool message_progress(void)
{
    bool moved = peer_copy_progress();

    for (struct peer **at = &listed; *at;) {
        struct peer *peer = *at;

        while (peer->first && output_send(peer, peer->first, &moved)) {
            struct output *sent = peer->first;

            peer->first = sent->next;
            if (!peer->first)
                peer->last = NULL;
            free(sent);
        }
        peer->is_listed = peer->first != NULL;
        if (peer->is_listed)
            at = &peer->next;
        else
            *at = peer->next;
    }
    return moved;
}

bool outputs_are_empty(void *unused)
{
    (void)unused;
    return !listed && request_detached == 0;
}

void message_answer(int peer, enum head_kind kind, uint64_t cookie, uint64_t bytes, uint64_t other)
{
    const struct head head = { .kind = kind, .bytes = bytes, .cookie = cookie, .other = other };

    output_begin(peer, &head, NULL, 0);
}

/* ---- Receives that have met their message ---- */

/* Reads the sender's memory into a buffer with gaps. Returns false if that is not possible. */
static bool scattered_read(struct message *message, uint64_t from)
{
    const size_t step = 64 << 10;

    if (!from || message->type->dense || !shared_peer_is_readable(message->world))
        return false;
    for (size_t at = 0; at < message->bytes; at += step) {
        size_t bytes = message->bytes - at < step ? message->bytes - at : step;

        if (!shared_peer_move(message->world, scratch_get(bytes), from + at, bytes, false))
            return false;
        data_take(message, at, bytes, scratch);
    }
    return true;
}

static void self_take(struct message *message, struct mpi_request *sender)
{
    const struct message *from = sender->message;

    if (message->bytes)
        (void)type_copy(from->buffer, from->count, from->type, message->buffer, message->count,
                        message->type);
    send_complete(sender); /* the receive has reported a truncation already */
}

/* Gives a message to the receive that it matches: copies the data that has arrived, and requests the rest. */
static void receive_match(struct mpi_request *request, int peer, const struct head *head, const void *data,
                          struct mpi_request *sender)
{
    struct message *message = request->message;

    message->world = peer;
    if (head->bytes > message->bytes)
        request->error = MPI_ERR_TRUNCATE;
    else
        message->bytes = (size_t)head->bytes;
    status_set(&request->status, head->source, head->tag, message->bytes);
    if (sender) {
        self_take(message, sender);
    } else if (head->kind == HEAD_REQUEST) {
        if (message->bytes && peer_copy_receive(request, head->other, head->cookie))
            return;
        if (message->bytes && !scattered_read(message, head->other)) {
            message_cookie_make(request);
            message_answer(peer, HEAD_CLEAR, head->cookie, message->bytes, message->cookie);
            return;
        }
        message_answer(peer, HEAD_DONE, head->cookie, 0, 0);
    } else {
        data_take(message, 0, message->bytes, data);
        if (head->kind == HEAD_EAGER_SYNC)
            message_answer(peer, HEAD_DONE, head->cookie, 0, 0);
    }
    request_complete(request);
}

/* ---- What arrives ---- */

static struct arrival *arrival_make(int peer, const struct head *head, const void *data, size_t bytes)
{
    struct arrival *arrival = arrival_take(bytes);

    if (!arrival)
        mpi_abort(1, "no memory for a message of %zu bytes from rank %d that no receive has asked for yet",
                  bytes, peer);
    arrival->head = *head;
    arrival->world = peer;
    arrival->sender = NULL;
    arrival->comm = NULL;
    if (bytes && data)
        memcpy(arrival->data, data, bytes);
    return arrival;
}

/* Returns the receive that a fragment belongs to. */
static struct mpi_request *data_request(int peer, const struct head *head, size_t bytes)
{
    struct mpi_request *request = cookie_find(peer, head, REQUEST_RECEIVE);
    const struct message *message = request->message;

    if (!bytes || bytes > message->bytes - message->moved)
        mpi_abort(1, "rank %d has sent %zu bytes of a message of which %zu bytes are left", peer, bytes,
                  message->bytes - message->moved);
    return request;
}

static void data_moved(struct mpi_request *request, size_t bytes)
{
    request->message->moved += bytes;
    if (request->message->moved == request->message->bytes)
        message_receive_end(request);
}

static void data_arrived(int peer, const struct head *head, const void *data, size_t bytes)
{
    struct mpi_request *request = data_request(peer, head, bytes);

    data_take(request->message, request->message->moved, bytes, data);
    data_moved(request, bytes);
}

static void *data_place(int peer, const struct head *head, size_t bytes)
{
    const struct message *message = data_request(peer, head, bytes)->message;

    return message->type->dense ? (char *)message->buffer + message->moved : NULL;
}

static void data_placed(int peer, const struct head *head, size_t bytes)
{
    data_moved(data_request(peer, head, bytes), bytes);
}

void message_receive_end(struct mpi_request *request)
{
    if (request->message->cookie)
        cookie_drop(request->message);
    request_complete(request);
}

static void clear_arrived(int peer, const struct head *head)
{
    struct mpi_request *request = cookie_find(peer, head, REQUEST_SEND);
    const struct head data = {
        .context = head->context, .kind = HEAD_DATA, .bytes = head->bytes, .cookie = head->other
    };

    if (!head->bytes || head->bytes > request->message->bytes)
        mpi_abort(1, "rank %d asks for %llu bytes of a message of %zu", peer, (unsigned long long)head->bytes,
                  request->message->bytes);
    output_begin(peer, &data, request, (size_t)head->bytes);
}

static void message_arrived(int peer, const struct head *head, const void *data, size_t bytes)
{
    struct mpi_request *request;

    if (head->source < 0 || head->source >= mpi_world.size || head->kind >= HEAD_WAKE ||
        ((head->kind == HEAD_EAGER || head->kind == HEAD_EAGER_SYNC) && head->bytes != bytes))
        mpi_abort(1, "invalid head of kind %u from rank %d: it says %llu bytes and comes with %zu",
                  head->kind, peer, (unsigned long long)head->bytes, bytes);
    switch (head->kind) {
    case HEAD_CLEAR:
        clear_arrived(peer, head);
        return;
    case HEAD_DATA:
        data_arrived(peer, head, data, bytes);
        return;
    case HEAD_DONE:
        request = cookie_find(peer, head, REQUEST_SEND);
        peer_copy_done(request);
        send_complete(request);
        return;
    case HEAD_OFFER:
        peer_copy_offered(cookie_find(peer, head, REQUEST_SEND), (uint32_t)head->bytes, head->other);
        return;
    case HEAD_COPIED:
        peer_copy_copied(cookie_find(peer, head, REQUEST_RECEIVE));
        return;
    case HEAD_WINDOW:
        windows(peer, head, data, bytes);
        return;
    default:
        request = match_posted(head);
        if (request)
            receive_match(request, peer, head, data, NULL);
        else
            match_keep(arrival_make(peer, head, data, bytes));
    }
}

void message_windows_take(message_taker *taker)
{
    windows = taker;
}

const struct receiver message_receiver = { .arrived = message_arrived,
                                           .data_place = data_place,
                                           .data_placed = data_placed };

/* ---- Sends ---- */

static void self_send(struct mpi_request *request, const struct head *head, bool is_eager)
{
    struct message *message = request->message;
    struct mpi_request *receive = match_posted(head);

    if (receive) {
        receive_match(receive, mpi_world.rank, head, NULL, request);
        return;
    }
    bool copies = is_eager && message->mode != SEND_SYNCHRONOUS;
    struct arrival *arrival = arrival_make(mpi_world.rank, head, NULL, copies ? message->bytes : 0);
    arrival->head.kind = HEAD_EAGER;
    if (copies && message->bytes)
        type_pack(message->buffer, message->count, message->type, 0, message->bytes, arrival->data);
    if (!copies)
        arrival->sender = request;
    match_keep(arrival);
    if (copies)
        send_complete(request);
}

static bool is_copied(const struct message *message)
{
    if (!rendezvous_sends || message->bytes >= COPIED_ALWAYS)
        return true;
    return shared_peer_is_readable(message->world) && burst_copies(message->bytes);
}

static void send_begin(struct mpi_request *request)
{
    struct message *message = request->message;
    bool is_eager = message->bytes <= peer_of(message->world)->eager_bytes;
    struct head head = { .context = message->context,
                         .tag = message->tag,
                         .source = request->comm->rank,
                         .bytes = message->bytes };

    if (message->world == mpi_world.rank) {
        self_send(request, &head, is_eager);
        return;
    }
    head.kind = !is_eager ? HEAD_REQUEST : message->mode == SEND_SYNCHRONOUS ? HEAD_EAGER_SYNC : HEAD_EAGER;
    if (head.kind != HEAD_EAGER) {
        message_cookie_make(request);
        head.cookie = message->cookie;
    }
    if (!is_eager && message->type->dense && is_copied(message))
        head.other = (uint64_t)(uintptr_t)message->buffer;
    if (!is_eager) {
        message->is_rendezvous = true;
        rendezvous_sends++;
    }
    output_begin(message->world, &head, request, 0);
}

int message_rendezvous_sends(void)
{
    return rendezvous_sends;
}

static struct mpi_request *transfer_make(enum request_kind kind, const void *buffer, size_t count,
                                         struct mpi_datatype *type, int peer, int tag, struct mpi_comm *comm,
                                         uint32_t context)
{
    struct mpi_request *request = request_make(kind, comm);

    if (!request)
        return NULL;
    type_hold(type);
    *request->message = (struct message){
        .buffer = (void *)(uintptr_t)buffer,
        .count = count,
        .type = type,
        .bytes = count * type->bytes,
        .peer = peer,
        .tag = tag,
        .context = context,
        .world = peer == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : comm->remote->world[peer],
    };
    status_empty(&request->status, MPI_ANY_SOURCE);
    return request;
}

bool message_send_now(const void *buffer, size_t count, const struct mpi_datatype *type, int peer, int tag,
                      const struct mpi_comm *comm, uint32_t context)
{
    size_t bytes = count * type->bytes;

    if (peer == MPI_PROC_NULL)
        return true;
    struct peer *to = peer_of(comm->remote->world[peer]);
    if (!to->transport || to->first || bytes > to->eager_bytes || (!type->dense && bytes))
        return false;
    const struct head head = {
        .context = context, .tag = tag, .source = comm->rank, .kind = HEAD_EAGER, .bytes = bytes
    };
    return to->transport->send(to->world, &head, buffer, bytes);
}

/* Sends a copy; returns a completed request for the program. */
static struct mpi_request *buffered_send(struct mpi_request *request)
{
    struct message *message = request->message;
    void *packed = malloc(message->bytes ? message->bytes : 1);
    struct mpi_request *done = packed ? request_done_make(REQUEST_SEND, request->comm) : NULL;

    if (!done) {
        free(packed);
        request_complete(request);
        request_free(request);
        return NULL;
    }
    if (message->bytes)
        type_pack(message->buffer, message->count, message->type, 0, message->bytes, packed);
    type_hold(MPI_BYTE);
    type_release(message->type);
    message->type = MPI_BYTE;
    message->count = message->bytes;
    message->buffer = message->packed = packed;
    message->is_buffered = true;
    message->buffered = message->bytes + MPI_BSEND_OVERHEAD;
    request->freed = true;
    request_detached++;
    send_begin(request);
    return done;
}

struct mpi_request *message_send(enum send_mode mode, const void *buffer, size_t count,
                                 struct mpi_datatype *type, int peer, int tag, struct mpi_comm *comm,
                                 uint32_t context)
{
    if (peer == MPI_PROC_NULL)
        return request_done_make(REQUEST_SEND, comm);
    struct mpi_request *request = transfer_make(REQUEST_SEND, buffer, count, type, peer, tag, comm, context);
    if (!request)
        return NULL;
    request->message->mode = mode;
    if (mode == SEND_BUFFERED)
        return buffered_send(request);
    send_begin(request);
    return request;
}

struct mpi_request *message_receive_arrival(void *buffer, size_t count, struct mpi_datatype *type,
                                            struct arrival *arrival, struct mpi_comm *comm)
{
    struct mpi_request *request = transfer_make(REQUEST_RECEIVE, buffer, count, type, MPI_ANY_SOURCE,
                                                arrival->head.tag, comm, arrival->head.context);

    if (!request)
        return NULL;
    receive_match(request, arrival->world, &arrival->head, arrival->data, arrival->sender);
    if (arrival->comm)
        comm_release(arrival->comm);
    arrival_give(arrival);
    return request;
}

struct mpi_request *message_receive(void *buffer, size_t count, struct mpi_datatype *type, int peer, int tag,
                                    struct mpi_comm *comm, uint32_t context)
{
    if (peer == MPI_PROC_NULL) {
        struct mpi_request *done = request_done_make(REQUEST_RECEIVE, comm);

        if (done)
            status_empty(&done->status, MPI_PROC_NULL);
        return done;
    }
    struct arrival *arrival = match_unexpected_count() ? message_find(context, peer, tag) : NULL;
    if (arrival) {
        message_unlink(arrival);
        return message_receive_arrival(buffer, count, type, arrival, comm);
    }
    struct mpi_request *request =
        transfer_make(REQUEST_RECEIVE, buffer, count, type, peer, tag, comm, context);
    if (request)
        match_post(request);
    return request;
}

bool message_cancel(struct mpi_request *request)
{
    if (request->kind != REQUEST_RECEIVE || request->complete || !request->message->is_queued)
        return false;
    match_unpost(request);
    request->status.mpi_lite_cancelled = 1;
    request_complete(request);
    return true;
}
