/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_move.c: bytes of streams to and from programs and the kernel (stream_state.h). Copies are made
 * without the network's lock: `reading` and `writing` keep other threads away from the bytes meanwhile. Runs
 * in system calls, or, at boot and between jobs, without any process: then waiting is polling.
 */
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/size.h"
#include "net/stream_state.h"
#include "process/event.h"
#include "process/process.h"
#include "time/clock.h"
#include "lwip/priv/tcp_priv.h"

#define RECEIVED_MAX 16384 /* bytes that are read before the peer learns of the room */
#define LINES_ROOM   4096  /* for lines of the kernel, beyond the program's room */

static int copy(struct stream_bytes *bytes, void *kernel, uint64_t count, bool to_caller)
{
    if (bytes->vector)
        return user_vector_copy(bytes->vector, kernel, count, to_caller);
    memcpy(to_caller ? bytes->kernel : kernel, to_caller ? kernel : bytes->kernel, count);
    bytes->kernel += count;
    return 0;
}

/* ---- Reading ---- */

/* Returns what a read returns if there is nothing to read. */
static int64_t receive_end(struct stream *stream)
{
    if (stream->error)
        return inet_error_take(&stream->error);
    if (stream->state == STREAM_CLOSED || stream->state == STREAM_LISTENING)
        return -ENOTCONN;
    return stream->peer_ended || stream->receive_shut || stream->state == STREAM_ENDED ? 0 : -EAGAIN;
}

/* Opens the window by what was read. */
static void window_open(struct stream *stream, uint64_t bytes)
{
    struct connection *connection = &stream->connection;

    if (!connection->pcb || bytes == 0)
        return;
    connection_enter(connection);
    if (connection->pcb == tcp_active_pcbs) {
        if (connection->pcb->refused_data)
            tcp_process_refused_data(connection->pcb);
        for (uint64_t left = bytes, part; left > 0; left -= part) {
            part = smaller(left, UINT16_MAX);
            tcp_recved(connection->pcb, size_16(part));
        }
    }
    connection_push(connection); /* sends what found no memory before */
    connection_leave(connection);
}

/* Reads with the lock held, which is released for each copy. */
static int64_t receive_locked(struct stream *stream, struct stream_bytes *to, uint64_t count, bool peek)
{
    struct byte_place place = { 0 };
    uint64_t done = 0, unannounced = 0;
    uint32_t part;
    char *from;
    int error = 0;

    while (done < count && (part = byte_queue_at(&stream->in, &place, &from)) > 0) {
        part = (uint32_t)smaller(part, count - done);
        network_unlock();
        error = copy(to, from, part, true);
        network_lock();
        if (error)
            break;
        done += part;
        place.at += part;
        if (peek)
            continue;
        byte_queue_consume(&stream->in, part);
        place.piece = NULL;
        unannounced += part;
        if (unannounced >= RECEIVED_MAX) {
            window_open(stream, unannounced);
            unannounced = 0;
        }
    }
    window_open(stream, unannounced);
    return error && done == 0 ? error : (int64_t)done;
}

int64_t stream_receive(struct stream *stream, struct stream_bytes *to, uint64_t count, bool peek)
{
    int64_t result = -EAGAIN;

    NETWORK_GUARD();
    if (!stream->reading) {
        stream->reading = true;
        result = stream->in.bytes == 0 ? receive_end(stream) : receive_locked(stream, to, count, peek);
        stream->reading = false;
        if (stream->in.bytes > 0 && (!peek || stream->connection.is_of_process))
            stream_changed(stream); /* other threads may have found it busy */
    }
    return result;
}

/* ---- Writing ---- */

/* Returns 0 if bytes can be sent, else the error. */
static int64_t send_end(struct stream *stream)
{
    if (stream->error)
        return inet_error_take(&stream->error);
    if (stream->state == STREAM_CONNECTING && !stream->send_ended)
        return -EAGAIN;
    return stream->state != STREAM_OPEN || stream->send_ended ? -EPIPE : 0;
}

/* Returns whether so much is unsent that the program wants to wait (TCP_NOTSENT_LOWAT). */
static bool unsent_is_enough(const struct stream *stream)
{
    const struct tcp_pcb *pcb = stream->connection.pcb;
    const uint32_t low = stream->tcp.unsent_low;

    return low && pcb && stream->unfed + (pcb->snd_lbb - pcb->snd_nxt) >= low;
}

static uint32_t room_find(struct stream *stream, char **to)
{
    uint64_t room =
        stream->socket.send_room > stream->out.bytes ? stream->socket.send_room - stream->out.bytes : 0;

    if (unsent_is_enough(stream))
        return 0;

    NETWORK_PAYER(stream->connection.account);
    uint32_t found = room ? byte_queue_room(&stream->out, to) : 0;
    while (room && !found && stream->is_visitor && stream_visitor_dismiss(stream)) /* one may have little */
        found = byte_queue_room(&stream->out, to);
    return (uint32_t)smaller(room, found);
}

static int64_t send_locked(struct stream *stream, struct stream_bytes *from, uint64_t count, bool more)
{
    uint64_t done = 0;
    uint32_t part;
    char *to;
    int error = 0;

    while (done < count && stream->state == STREAM_OPEN && (part = room_find(stream, &to)) > 0) {
        part = (uint32_t)smaller(part, count - done);
        network_unlock();
        error = copy(from, to, part, false);
        network_lock();
        if (error)
            break;
        byte_queue_added(&stream->out, part);
        stream->unfed += part;
        done += part;
        stream->more = done < count || more;
        connection_flush(&stream->connection);
    }
    stream->is_cut = done < count && !error;
    if (done < count && !more && stream->more) {
        stream->more = false;
        connection_flush(&stream->connection);
    }
    if (done == 0 && !error && stream->out.bytes == 0 && stream->state == STREAM_OPEN)
        error = -ENOBUFS; /* the slice has no memory, and nothing will be freed */
    if (done)
        return (int64_t)done;
    return error ? error : -EAGAIN;
}

int64_t stream_send(struct stream *stream, struct stream_bytes *from, uint64_t count, bool more)
{
    int64_t result = -EAGAIN;

    NETWORK_GUARD();
    if (!stream->writing) {
        stream->writing = true;
        result = send_end(stream);
        if (result == 0 && count > 0)
            result = send_locked(stream, from, count, more);
        stream->writing = false;
        if (stream->held.bytes > 0 && !stream->is_cut)
            stream_held_send(stream);
        if (stream->out.bytes < stream->socket.send_room)
            stream_changed(stream);
    }
    return result;
}

/* ---- Lines of the kernel ---- */

/* Appends bytes to `out`, after a newline if it ends within a line: all of them, or nothing. */
static bool out_append(struct stream *stream, const char *bytes, uint32_t count)
{
    const uint32_t before = !byte_queue_ends_line(&stream->out);

    if (!byte_queue_reserve(&stream->out, before + count))
        return false;
    byte_queue_append(&stream->out, "\n", before);
    byte_queue_append(&stream->out, bytes, count);
    stream->unfed += before + count;
    connection_flush(&stream->connection);
    return true;
}

void stream_held_send(struct stream *stream)
{
    struct byte_place place = { 0 };
    char *from;
    uint32_t bytes = byte_queue_at(&stream->held, &place, &from); /* all: they are one piece */

    NETWORK_PAYER(stream->connection.account);
    if (bytes > 0 && out_append(stream, from, bytes))
        byte_queue_free(&stream->held);
}

bool stream_line_add(struct stream *stream, const char *line, uint32_t bytes, bool ends)
{
    NETWORK_PAYER(stream->connection.account);
    if (stream->state != STREAM_OPEN || stream->send_ended)
        return false;
    if (stream->is_cut && !ends)
        return stream->held.bytes + bytes <= BYTE_PIECE_BYTES &&
               byte_queue_append(&stream->held, line, bytes) > 0;
    stream_held_send(stream);
    return stream->out.bytes <= stream->socket.send_room + LINES_ROOM && out_append(stream, line, bytes);
}

/* ---- Readiness, waiting ---- */

unsigned stream_ready(struct stream *stream)
{
    network_poll();
    switch (stream->state) {
    case STREAM_CLOSED:
        return READY_OUT | READY_HANG_UP;
    case STREAM_LISTENING:
        return stream->complete.first ? READY_IN : 0;
    case STREAM_CONNECTING:
        return stream->error ? READY_IN | READY_OUT | READY_ERROR : 0;
    default:
        break;
    }
    bool ended = stream->state == STREAM_ENDED, no_more = stream->peer_ended || stream->receive_shut || ended;
    bool room = (stream->out.bytes <= stream->socket.send_room / 4 * 3 && !unsent_is_enough(stream)) ||
                stream->send_ended || ended;
    bool enough = stream->in.bytes > 0 &&
                  stream->in.bytes >= smaller(stream->socket.low_water, stream->socket.receive_room / 2);
    return (enough || no_more ? READY_IN : 0) | (room ? READY_OUT : 0) | (no_more ? READY_PEER_ENDED : 0) |
           (no_more && (stream->send_ended || ended) ? READY_HANG_UP : 0) | (stream->error ? READY_ERROR : 0);
}

int stream_wait_change(struct stream *stream, uint64_t deadline_ns)
{
    struct process *process = arch_process();

    if (!process) { /* as at boot, before timers and programs: polls once */
        network_poll();
        connection_timers_serve();
        crosscall_serve();
        return clock_now_ns() >= deadline_ns ? -EAGAIN : 0;
    }
    if (deadline_ns) /* without a wait, another process may wait for this stream */
        __atomic_store_n(&stream->process, process, __ATOMIC_RELAXED);
    return network_wait(event_of(stream), deadline_ns);
}
