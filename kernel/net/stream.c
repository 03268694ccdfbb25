/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.c: TCP connections as lwIP sees them: its callbacks, connecting, listening, ending. The network's
 * lock guards all of it. A stream without an owner lives on until lwIP has no pcb for it: its bytes are still
 * sent, bounded by the number of retransmissions, and then it frees itself.
 *
 * lwIP refers to the bytes in `out` (it copies nothing), so they stay until they are acknowledged. It is
 * given a few segments at a time: no call makes it work through a whole window. [RFC 9293]
 */
#include "net/stream_state.h"
#include "net/size.h"
#include "arch.h"
#include "debug/stop.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "net/interface.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/stream.h"
#include "process/event.h"
#include "lwip/priv/tcp_priv.h"

#define FED_BYTES_MAX (8 * TCP_MSS) /* bytes that lwIP has, but has not sent */
#define TICKS_PER_S   (1000 / TCP_SLOW_INTERVAL)
#define SYN_COUNT     6                          /* Linux's tcp_syn_retries */
#define SYN_TICKS     (3000 / TCP_SLOW_INTERVAL) /* between attempts to connect; lwIP's first rto */

_Static_assert(offsetof(struct stream, changes) == offsetof(struct inet_socket, changes), "inet.h");

void stream_changed(struct stream *stream)
{
    stream->changes++;
    if (stream->process)
        network_notify(stream->process, event_of(stream));
    if (stream->is_watched)
        network_watched();
}

/* Changes the state, along the arrows of stream_state.h, or back if the attempt to connect could not
 * begin. */
static void state_set(struct stream *stream, enum stream_state to)
{
    static const uint8_t after[] = {
        [STREAM_CLOSED] = 1 << STREAM_LISTENING | 1 << STREAM_CONNECTING,
        [STREAM_LISTENING] = 1 << STREAM_ENDED,
        [STREAM_CONNECTING] = 1 << STREAM_OPEN | 1 << STREAM_ENDED | 1 << STREAM_CLOSED,
        [STREAM_OPEN] = 1 << STREAM_ENDED,
        [STREAM_ENDED] = 1 << STREAM_CLOSED | 1 << STREAM_ENDED,
    };

    ASSERT(after[stream->state] & 1 << to);
    stream->state = to;
}

static void stream_free(struct stream *stream)
{
    stream_visit_end(stream);
    byte_queue_free(&stream->in);
    byte_queue_free(&stream->out);
    byte_queue_free(&stream->held);
    binding_release(&tcp_bindings, &stream->connection.port);
    network_free(stream);
}

/* Returns how many bytes the peer may send before they are read. */
static uint32_t window_of(const struct stream *stream)
{
    const uint32_t room = stream->socket.receive_room, clamp = stream->tcp.window_clamp;

    return clamp && clamp < room ? clamp : room;
}

/* Sets until when something has to come from the peer, if a limit holds for what is awaited: an answer to
 * SYN, an acknowledgement (TCP_USER_TIMEOUT), a connection's first bytes. */
static void limit_set(struct stream *stream)
{
    struct connection *connection = &stream->connection;
    uint64_t ticks = (stream->tcp.user_timeout_ms + TCP_SLOW_INTERVAL - 1ULL) / TCP_SLOW_INTERVAL;
    const uint64_t connecting = (stream->tcp.syn_count + 1ULL) * SYN_TICKS - 1; /* before lwIP repeats SYN */

    if (stream->is_deferred)
        ticks = (uint64_t)stream->tcp.defer_s * 1000 / TCP_SLOW_INTERVAL;
    else if (stream->state == STREAM_CONNECTING)
        ticks = ticks && ticks < connecting ? ticks : connecting;
    else if (!stream_is_sending(stream))
        ticks = 0;
    connection->is_limited = ticks;
    if (ticks)
        connection->limit_tick = connection_tick_now() + (uint32_t)ticks + 1; /* this tick has begun */
}

/* Lets accept return a connection. */
static void complete(struct stream *stream)
{
    list_remove(&stream->listener->incoming, &stream->queued);
    list_append(&stream->listener->complete, &stream->queued);
    stream->owned = true;
    stream->is_deferred = false;
    limit_set(stream);
    stream_changed(stream->listener);
}

struct stream *stream_make(struct process *process, struct network_account *account)
{
    NETWORK_PAYER(account);
    struct stream *stream = network_allocate_array(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->process = process;
    stream->owned = true;
    stream->socket.receive_room = stream->socket.send_room = STREAM_ROOM_DEFAULT;
    stream->ip = IP_OPTIONS_INITIAL;
    stream->tcp = (struct tcp_options){ .acknowledges_at_once = true,
                                        .syn_count = SYN_COUNT,
                                        .keep_idle_s = TCP_KEEPIDLE_DEFAULT / 1000,
                                        .keep_interval_s = TCP_KEEPINTVL_DEFAULT / 1000,
                                        .keep_count = TCP_KEEPCNT_DEFAULT,
                                        .linger_s = STREAM_LINGER_S };
    stream->connection.window = window_of(stream);
    if (connection_initialise(&stream->connection, process, account)) {
        network_free(stream);
        return NULL;
    }
    return stream;
}

struct stream *stream_create(struct process *process)
{
    NETWORK_GUARD();
    return stream_make(process, network_account_of(process));
}

/* ---- What lwIP calls, between connection_enter and connection_leave ---- */

static void queue_remove(struct stream *stream)
{
    struct stream *listener = stream->listener;

    if (!listener)
        return;
    const bool is_complete =
        (stream->state == STREAM_OPEN || stream->state == STREAM_ENDED) && !stream->is_deferred;
    list_remove(is_complete ? &listener->complete : &listener->incoming, &stream->queued);
    listener->queued_count--;
    stream->listener = NULL;
}

static err_t received(void *argument, struct tcp_pcb *pcb, struct pbuf *packet, err_t error)
{
    struct stream *stream = argument;

    (void)error; /* lwIP passes none */
    if (!packet) {
        stream->peer_ended = true;
    } else if (stream->receive_shut) {
        tcp_recved(pcb, packet->tot_len);
        pbuf_free(packet);
        return ERR_OK;
    } else {
        if (!byte_queue_reserve(&stream->in, packet->tot_len))
            return ERR_MEM;
        for (struct pbuf *part = packet; part; part = part->next)
            byte_queue_append(&stream->in, part->payload, part->len);
        pbuf_free(packet);
    }
    if (stream->is_deferred)
        complete(stream);
    stream_changed(stream);
    return ERR_OK;
}

static err_t sent(void *argument, struct tcp_pcb *pcb, u16_t bytes)
{
    struct stream *stream = argument;

    char *next;

    (void)pcb;
    byte_queue_at(&stream->out, &stream->fed, &next); /* moves off a piece that is freed below */
    byte_queue_consume(&stream->out, smaller(bytes, stream->out.bytes - stream->unfed));
    if ((!stream->owned || stream->is_visitor) && stream->out.bytes == 0 && !stream->writing) {
        byte_queue_free(&stream->out);
        stream->fed = (struct byte_place){ 0 };
    }
    if (stream->connection.is_limited)
        limit_set(stream);
    if (stream->out.bytes <= stream->socket.send_room / 4 * 3)
        stream_changed(stream);
    return ERR_OK;
}

static err_t connected(void *argument, struct tcp_pcb *pcb, err_t error)
{
    struct stream *stream = argument;

    (void)pcb;
    (void)error; /* lwIP passes none */
    state_set(stream, STREAM_OPEN);
    stream_pcb_configure(stream); /* what the peer has said may be too much */
    limit_set(stream);
    stream->was_open = true;
    stream_changed(stream);
    return ERR_OK;
}

/* Notes why the pcb is lost, or will be at once. ERR_CLSD: both directions have ended. */
static void failed(void *argument, err_t error)
{
    struct stream *stream = argument;

    if (error == ERR_ABRT && !stream->error)
        stream->error = -ETIMEDOUT;
    if (error != ERR_RST)
        return;
    stream->error = stream->peer_ended ? -EPIPE : -ECONNRESET;
    if (stream->state == STREAM_CONNECTING)
        stream->error = -ECONNREFUSED;
}

static err_t completed(void *argument, struct tcp_pcb *pcb, err_t error)
{
    struct stream *stream = argument;

    (void)pcb;
    if (error != ERR_OK) /* of the listener: lwIP had no memory */
        return error;
    state_set(stream, STREAM_OPEN);
    stream->was_open = true;
    stream->is_deferred = stream->tcp.defer_s;
    if (stream->is_deferred)
        limit_set(stream);
    else
        complete(stream);
    return ERR_OK;
}

/* ---- What connection.c calls ---- */

bool stream_may_receive(struct stream *stream, unsigned bytes)
{
    NETWORK_PAYER(stream->connection.account);
    if (!(stream->owned || stream->is_deferred) || stream->receive_shut ||
        byte_queue_reserve(&stream->in, bytes))
        return true;
    if (stream->is_visitor)
        stream_visitor_dismiss(NULL);
    return false;
}

void stream_pcb_lost(struct stream *stream)
{
    if (stream->state != STREAM_LISTENING && stream->state != STREAM_CLOSED) {
        if (!stream->owned)
            queue_remove(stream);
        state_set(stream, STREAM_ENDED);
    }
    if (stream->owned)
        stream_changed(stream);
    else if (!stream->connection.is_owed)
        stream_free(stream);
}

void stream_dismiss(struct stream *stream)
{
    queue_remove(stream);
    stream->owned = false;
    if (stream->connection.pcb)
        connection_abort(&stream->connection, true);
    else
        stream_pcb_lost(stream);
}

struct stream *stream_incoming(struct stream *listener)
{
    struct stream *stream = NULL;

    if (!listener->connection.is_of_process)
        stream = stream_visitor_make();
    else if (listener->queued_count <= listener->backlog)
        stream = stream_make(listener->process, listener->connection.account);
    if (!stream)
        return NULL;
    stream->owned = false;
    state_set(stream, STREAM_CONNECTING);
    stream->listener = listener;
    stream->socket = listener->socket;
    if (stream->is_visitor)
        stream->socket.receive_room = STREAM_ROOM_MIN;
    stream->connection.window = window_of(stream);
    stream->ip = listener->ip;
    stream->tcp = listener->tcp;
    list_append(&listener->incoming, &stream->queued);
    listener->queued_count++;
    return stream;
}

void stream_pcb_configure(struct stream *stream)
{
    struct tcp_pcb *pcb = stream->connection.pcb;

    pcb->ttl = stream->ip.ttl;
    pcb->tos = stream->ip.tos;
    if (pcb->state == LISTEN)
        return;
    pcb->callback_arg = stream;
    pcb->recv = received;
    pcb->sent = sent;
    pcb->errf = failed;
    pcb->keep_idle = stream->tcp.keep_idle_s * 1000;
    pcb->keep_intvl = stream->tcp.keep_interval_s * 1000;
    pcb->keep_cnt = stream->tcp.keep_count;
    if (stream->tcp.segment_max)
        pcb->mss = size_16(smaller(pcb->mss, stream->tcp.segment_max));
    ip_reset_option(pcb, SOF_KEEPALIVE);
    tcp_clear_flags(pcb, TF_NODELAY);
    if (socket_switch(&stream->socket, SO_KEEPALIVE))
        ip_set_option(pcb, SOF_KEEPALIVE);
    if (stream->tcp.no_delay)
        tcp_set_flags(pcb, TF_NODELAY);
}

/* Returns whether lwIP is to get bytes. A segment that is not full waits if more is to come. */
static bool is_feedable(const struct stream *stream, const struct tcp_pcb *pcb)
{
    bool waits = (stream->more || stream->tcp.corked) && !stream->send_ended && stream->unfed < pcb->mss;

    return stream->unfed > 0 && !waits && pcb->snd_lbb - pcb->snd_nxt < FED_BYTES_MAX;
}

static void feed(struct stream *stream, struct tcp_pcb *pcb)
{
    char *from;

    while (is_feedable(stream, pcb)) {
        uint64_t part = smaller(byte_queue_at(&stream->out, &stream->fed, &from), stream->unfed);
        bool last = part == stream->unfed;

        if (part == 0)
            return;
        if (tcp_write(pcb, from, size_16(part), last ? 0 : TCP_WRITE_FLAG_MORE) != ERR_OK) {
            tcp_set_flags(pcb, TF_NAGLEMEMERR); /* to try again in the next step of its timer */
            return;
        }
        stream->fed.at += (uint32_t)part;
        stream->unfed -= part;
    }
}

static void end_give(struct stream *stream, struct tcp_pcb *pcb)
{
    stream->end_given = true;
    if (stream->owned) {
        tcp_shutdown(pcb, 0, 1);
    } else {
        pcb->rcv_wnd = TCP_WND_MAX(pcb); /* nothing is unread: no reset */
        tcp_close(pcb);
    }
}

void stream_push(struct stream *stream)
{
    struct connection *connection = &stream->connection;
    struct tcp_pcb *pcb = connection->pcb;

    if (pcb->state != ESTABLISHED && pcb->state != CLOSE_WAIT)
        return;
    feed(stream, pcb);
    if (stream->send_ended && !stream->end_given && stream->unfed == 0) {
        end_give(stream, pcb); /* this sends, too */
        return;
    }
    if (pcb->unsent && tcp_output(pcb) == ERR_OK && !pcb->unsent && is_feedable(stream, pcb))
        connection_owe(connection); /* the window has room for more */
    if (!connection->is_limited && stream->tcp.user_timeout_ms)
        limit_set(stream);
}

void stream_late(struct stream *stream)
{
    if (stream->is_deferred)
        complete(stream);
    else
        tcp_abandon(stream->connection.pcb, 0);
}

bool stream_is_sending(const struct stream *stream)
{
    const struct tcp_pcb *pcb = stream->connection.pcb;

    return pcb && pcb->state != LISTEN && (stream->unfed || pcb->unsent || pcb->unacked);
}

/* ---- Connecting, listening ---- */

static int pcb_connect(struct stream *stream)
{
    struct connection *connection = &stream->connection;
    ip4_addr_t to = { connection->ends.remote_address };

    connection_enter(connection);
    connection->pcb = tcp_new();
    if (!connection->pcb) {
        connection_leave(connection);
        return -ENOMEM;
    }
    stream_pcb_configure(stream);
    connection->pcb->local_ip.addr = connection->ends.local_address;
    connection->pcb->local_port = connection->ends.local_port;
    state_set(stream, STREAM_CONNECTING);
    limit_set(stream);
    err_t error = tcp_connect(connection->pcb, &to, connection->ends.remote_port, connected);
    if (error != ERR_OK) {
        tcp_free(connection->pcb);
        connection->pcb = NULL;
        state_set(stream, STREAM_CLOSED);
    }
    connection_leave(connection);
    if (error == ERR_RTE)
        return -ENETUNREACH;
    return error == ERR_OK ? 0 : -ENOMEM;
}

int stream_connect_begin(struct stream *stream, uint32_t address, uint16_t port)
{
    struct connection *connection = &stream->connection;
    const uint32_t source = interface_source(address), own = connection->port.address;

    connection->ends = (struct connection_ends){ own ? own : source, address, connection->port.port, port };
    connection->window = window_of(stream);
    stream->error = 0;
    if (!source)
        return -ENETUNREACH;
    if ((!connection->port.port && connection_port_choose(connection)) || connection_peer_set(connection))
        return -EADDRNOTAVAIL;
    int error = pcb_connect(stream);
    if (error)
        connection_peer_clear(connection);
    return error;
}

void stream_attempt_clear(struct stream *stream)
{
    const bool is_ending = stream->connection.pcb; /* listener_stop has released the lock for a moment */

    if (stream->state != STREAM_ENDED || stream->was_open || stream->is_pending || is_ending)
        return;
    state_set(stream, STREAM_CLOSED);
    stream->error = 0;
    stream->peer_ended = stream->receive_shut = stream->send_ended = stream->end_given = false;
    stream->connection.window = window_of(stream);
}

/* Makes a listener's pcb, which lwIP makes from another one. */
static struct tcp_pcb *listener_pcb(const struct connection *connection)
{
    struct tcp_pcb *pcb = tcp_new(), *listening = pcb ? tcp_listen(pcb) : NULL;

    if (!listening) {
        if (pcb)
            tcp_free(pcb);
        return NULL;
    }
    listening->local_ip.addr = connection->port.address;
    listening->local_port = connection->port.port;
    tcp_accept(listening, completed);
    return listening;
}

int stream_listen(struct stream *stream, unsigned backlog)
{
    struct connection *connection = &stream->connection;

    NETWORK_GUARD();
    stream_attempt_clear(stream);
    stream->backlog = (unsigned)smaller(backlog, STREAM_BACKLOG_MAX);
    if (stream->state != STREAM_CLOSED)
        return stream->state == STREAM_LISTENING ? 0 : -EINVAL;
    if ((!connection->port.is_held && binding_hold(&tcp_bindings, &connection->port)) ||
        binding_open(&tcp_bindings, &connection->port))
        return -EADDRINUSE;
    connection_enter(connection);
    connection->pcb = listener_pcb(connection);
    if (connection->pcb) {
        state_set(stream, STREAM_LISTENING);
        stream_pcb_configure(stream);
    } else {
        connection->port.open = false;
    }
    connection_leave(connection);
    return connection->pcb ? 0 : -ENOMEM;
}

struct stream *stream_accept(struct stream *listener)
{
    NETWORK_GUARD();
    if (!listener->complete.first)
        return NULL;
    struct stream *stream = LIST_OWNER(listener->complete.first, stream, queued);
    queue_remove(stream);
    stream->process = listener->process;
    return stream;
}

void stream_configure(struct stream *stream)
{
    struct connection *connection = &stream->connection;

    if (connection->pcb) {
        connection_enter(connection);
        stream_pcb_configure(stream);
        if (connection->pcb->state != LISTEN && window_of(stream) > connection->window) {
            connection->pcb->rcv_wnd += window_of(stream) - connection->window;
            connection->window = window_of(stream);
        }
        limit_set(stream);
        connection_push(connection);
        connection_leave(connection);
    }
    if (!connection->pcb || stream->state == STREAM_LISTENING)
        connection->window = window_of(stream);
}

/* ---- Ending ---- */

/* Ends listening, and the connections that were not accepted, taking the lock for each. */
static int listener_stop(struct stream *listener)
{
    struct connection *connection = &listener->connection;
    struct list_link *link;

    network_lock();
    if (listener->state != STREAM_LISTENING) { /* another thread was faster */
        network_unlock();
        return -ENOTCONN;
    }
    state_set(listener, STREAM_ENDED);
    connection->port.open = false;
    while ((link = listener->complete.first ? listener->complete.first : listener->incoming.first)) {
        struct stream *stream = LIST_OWNER(link, stream, queued);

        stream_dismiss(stream);
        network_unlock();
        network_lock();
    }
    connection_enter(connection);
    tcp_close(connection->pcb);
    connection->pcb = NULL;
    connection_leave(connection);
    stream_changed(listener);
    network_unlock();
    return 0;
}

int stream_shutdown(struct stream *stream, bool receiving, bool sending)
{
    struct connection *connection = &stream->connection;

    if (stream->state == STREAM_LISTENING)
        return receiving ? listener_stop(stream) : 0;
    NETWORK_GUARD();
    int error = stream->state == STREAM_OPEN || stream->state == STREAM_CONNECTING ? 0 : -ENOTCONN;
    if (!error && receiving)
        stream->receive_shut = true;
    if (!error && sending && !stream->send_ended) {
        stream->send_ended = true;
        connection_flush(connection);
    }
    stream_changed(stream);
    return error;
}

static void connection_end(struct stream *stream, bool abort)
{
    struct connection *connection = &stream->connection;
    struct tcp_pcb *pcb = connection->pcb;
    bool lost = abort || stream->in.bytes > 0;

    byte_queue_free(&stream->in);
    stream_held_send(stream);
    stream->send_ended = true;
    connection_enter(connection);
    if (pcb->state == SYN_SENT)
        tcp_abandon(pcb, 0);
    else if (lost)
        tcp_abort(pcb);
    if (tcp_active_pcbs == pcb) {
        tcp_set_flags(pcb, TF_RXCLOSED);
        connection->linger_ticks =
            (uint32_t)(stream->tcp.linger_s > 0 ? stream->tcp.linger_s : 0) * TICKS_PER_S;
        pcb->tmr = tcp_ticks; /* its time-outs begin now */
        if (stream->end_given)
            tcp_close(pcb);
    }
    connection_push(connection);
    connection_leave(connection);
}

void stream_end(struct stream *stream, bool abort)
{
    if (stream->state == STREAM_LISTENING)
        listener_stop(stream);
    NETWORK_GUARD();
    stream->owned = false;
    stream->process = NULL;
    if (stream->connection.pcb)
        connection_end(stream, abort);
    else
        stream_pcb_lost(stream);
}
