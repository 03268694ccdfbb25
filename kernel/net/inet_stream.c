/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet_stream.c: TCP sockets of programs: streams (stream_state.h) with Linux's calls, waits and errors. Runs
 * in system calls, which hold a reference of the file; a socket keeps its stream as long as it exists. [man 7
 * tcp, man 2 connect, accept, send, recv, shutdown; where they are silent, what Linux does]
 */
#include "net/inet.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "net/network.h"
#include "net/stream.h"
#include "net/stream_state.h"
#include "process/process.h"
#include "smp/crosscall.h"
#include "time/clock.h"
#include "time/timespec.h"
#include "lwip/priv/tcp_priv.h"

#define TCP_INFO_BYTES 104 /* Linux's struct tcp_info, up to the last field that is known here */
#define SEGMENT_MIN    88
#define WINDOW_MIN     1152
#define DEFER_MAX_S    127
#define UNSEGMENTED    536 /* TCP_MAXSEG without a connection */

static const char congestion[16] = "reno"; /* lwIP's, as far as programs can tell */

/* Linux's options of level TCP. */
enum tcp_option {
    OPTION_NODELAY = 1,
    OPTION_MAXSEG = 2,
    OPTION_CORK = 3,
    OPTION_KEEPIDLE = 4,
    OPTION_KEEPINTVL = 5,
    OPTION_KEEPCNT = 6,
    OPTION_SYNCNT = 7,
    OPTION_LINGER2 = 8,
    OPTION_DEFER_ACCEPT = 9,
    OPTION_WINDOW_CLAMP = 10,
    OPTION_INFO = 11,
    OPTION_QUICKACK = 12,
    OPTION_CONGESTION = 13,
    OPTION_USER_TIMEOUT = 18,
    OPTION_FASTOPEN = 23,
    OPTION_NOTSENT_LOWAT = 25,
    OPTION_FASTOPEN_CONNECT = 30,
};

static void socket_make(struct file *file, struct stream *stream);

/* ---- Names ---- */

static int stream_bind(struct file *file, const struct socket_address *name)
{
    struct stream *stream = file->object;
    struct binding *binding = &stream->connection.port;
    int error = inet_address_check(name);

    if (error)
        return error;
    NETWORK_GUARD();
    stream_attempt_clear(stream);
    if (stream->state != STREAM_CLOSED || binding->is_held)
        return -EINVAL;
    if (!inet_may_bind((struct inet_socket *)stream, name->inet.address))
        return -EADDRNOTAVAIL;
    return inet_hold(&tcp_bindings, binding, (struct inet_socket *)stream, name->inet.address,
                     lwip_ntohs(name->inet.port));
}

static int stream_name(struct file *file, bool of_peer, struct socket_address *name)
{
    const struct stream *stream = file->object;
    const struct connection *connection = &stream->connection;

    NETWORK_GUARD();
    bool has_peer = connection->ends.remote_port && stream->state >= STREAM_CONNECTING;
    if (of_peer && stream->state != STREAM_OPEN)
        return -ENOTCONN;
    if (of_peer)
        inet_address_write(name, connection->ends.remote_address, connection->ends.remote_port);
    else
        inet_address_write(name, has_peer ? connection->ends.local_address : connection->port.address,
                           has_peer ? connection->ends.local_port : connection->port.port);
    return 0;
}

/* ---- Connections ---- */

/* Returns what has become of the attempt that connect(2) waits for, which another thread may have begun. If a
 * third thread has begun the next attempt meanwhile, that attempt's outcome is left to the threads that wait
 * for it. */
static int connect_outcome(struct stream *stream)
{
    int error = 0;

    NETWORK_GUARD();
    if (stream->state != STREAM_CONNECTING)
        stream->is_pending = false;
    if (stream->state == STREAM_ENDED)
        error = inet_error_take(&stream->error);
    if (stream->state != STREAM_OPEN && !error)
        error = -ECONNABORTED;
    return error;
}

static int connect_wait(struct file *file)
{
    struct stream *stream = file->object;
    uint64_t deadline_ns = socket_deadline(file, true);
    int error = 0;

    while (stream->state == STREAM_CONNECTING && !error)
        error = stream_wait_change(stream, deadline_ns);
    if (error)
        return error == -EAGAIN ? -EINPROGRESS : error;
    return connect_outcome(stream);
}

/* Begins an attempt, or looks at the one that was begun, with the lock. Returns 1 if an attempt is under way
 * or no call has returned its outcome yet, 0 if there is a connection, or an error. */
static int connect_step(struct stream *stream, uint32_t address, uint16_t port)
{
    stream_attempt_clear(stream);
    if (stream->state == STREAM_CLOSED) {
        int error = stream_connect_begin(stream, address, port);

        stream->is_pending = !error;
        return error ? error : 1;
    }
    if (!stream->is_pending)
        return -EISCONN;
    if (stream->state != STREAM_OPEN)
        return 1;
    stream->is_pending = false;
    return 0;
}

static int stream_connect_call(struct file *file, const struct socket_address *name)
{
    struct stream *stream = file->object;
    int error = inet_address_check(name);

    if (error)
        return error;
    const uint32_t address = name->inet.address ? name->inet.address : lwip_htonl(IPADDR_LOOPBACK);
    if (inet_is_multicast(address) || address == IPADDR_BROADCAST)
        return -ENETUNREACH;
    network_lock();
    bool waited = stream->state == STREAM_CONNECTING;
    int step = connect_step(stream, address, lwip_ntohs(name->inet.port));
    network_unlock();
    if (step <= 0)
        return step;
    network_poll();
    if (stream->state == STREAM_CONNECTING && socket_nonblocking(file, 0))
        return waited ? -EALREADY : -EINPROGRESS;
    return connect_wait(file);
}

static int stream_listen_call(struct file *file, int backlog)
{
    return stream_listen(file->object, backlog < 0 ? STREAM_BACKLOG_MAX : (unsigned)backlog);
}

static int stream_accept_call(struct file *file, struct file *accepted, struct socket_address *peer)
{
    struct stream *listener = file->object, *stream;
    uint64_t deadline_ns = socket_deadline(file, false);
    int error = 0;

    if (listener->state != STREAM_LISTENING)
        return -EINVAL;
    network_poll();
    while (!(stream = stream_accept(listener))) {
        if (listener->state != STREAM_LISTENING)
            return -EINVAL; /* shut down meanwhile */
        error = socket_nonblocking(file, 0) ? -EAGAIN : stream_wait_change(listener, deadline_ns);
        if (error)
            return error;
    }
    stream->process = arch_process();
    socket_make(accepted, stream);
    if (peer)
        inet_address_write(peer, stream->connection.ends.remote_address, stream->connection.ends.remote_port);
    return 0;
}

/* ---- Bytes ---- */

/* Moves what the message's vector has, and waits as often as the call may: for `target` bytes of it. */
static int64_t bytes_move(struct file *file, struct socket_message *message, bool write, uint64_t target)
{
    struct stream *stream = file->object;
    struct stream_bytes bytes = { .vector = message->vector };
    uint64_t done = 0, deadline_ns = socket_deadline(file, write);
    int64_t result;

    do {
        result = write ? stream_send(stream, &bytes, message->vector->left, message->flags & MSG_MORE)
                       : stream_receive(stream, &bytes, message->vector->left, message->flags & MSG_PEEK);
        if (result >= 0) {
            done += (uint64_t)result;
            if (done >= target || message->vector->left == 0 || (result == 0 && !write))
                return (int64_t)done;
            result = 0;
        } else if (result == -EAGAIN && !socket_nonblocking(file, message->flags)) {
            result = stream_wait_change(stream, deadline_ns);
        } else if (result == -EAGAIN && write && network_poll()) {
            result = 0;
        }
    } while (result == 0);
    return done ? (int64_t)done : result;
}

static int64_t stream_send_call(struct file *file, struct socket_message *message)
{
    return bytes_move(file, message, true, UINT64_MAX);
}

static int64_t stream_receive_call(struct file *file, struct socket_message *message)
{
    uint64_t target = socket_of(file)->low_water;

    if (message->flags & MSG_OOB)
        return -EINVAL;
    if (message->address)
        message->address->bytes = 0;
    if (message->vector->left == 0)
        return 0;
    if (((struct stream *)file->object)->in.bytes == 0)
        network_poll();
    if (message->flags & MSG_PEEK)
        target = 0;
    else if (message->flags & MSG_WAITALL)
        target = UINT64_MAX;
    return bytes_move(file, message, false, target);
}

static int stream_shutdown_call(struct file *file, bool receiving, bool sending)
{
    return stream_shutdown(file->object, receiving, sending);
}

/* ---- Lines of the kernel ---- */

uint64_t inet_lines_dropped;

void inet_stream_say(struct file *file, const char *line, size_t bytes, bool ends)
{
    struct stream *stream = file->object;

    network_lock();
    while (stream->writing) { /* another thread copies, which ends soon */
        network_unlock();
        crosscall_serve();
        network_lock();
    }
    inet_lines_dropped += !stream_line_add(stream, line, (uint32_t)bytes, ends);
    network_unlock();
}

/* ---- Options ---- */

#define FIELD(name) sizeof(((struct stream *)NULL)->tcp.name), false, offsetof(struct stream, tcp.name)
#define ROOM(name) \
    sizeof(uint32_t), true, offsetof(struct stream, socket.name), STREAM_ROOM_MIN, STREAM_ROOM_MAX
#define BOUNDED(name) sizeof(((struct stream *)NULL)->tcp.name), true, offsetof(struct stream, tcp.name)

static const struct inet_option options[] = {
    { SOL_SOCKET, SO_RCVBUF, ROOM(receive_room), 0 },
    { SOL_SOCKET, SO_SNDBUF, ROOM(send_room), 0 },
    { LEVEL_TCP, OPTION_NODELAY, FIELD(no_delay), 0, 1, 0 },
    { LEVEL_TCP, OPTION_CORK, FIELD(corked), 0, 1, 0 },
    { LEVEL_TCP, OPTION_KEEPIDLE, FIELD(keep_idle_s), 1, 32767, 0 },
    { LEVEL_TCP, OPTION_KEEPINTVL, FIELD(keep_interval_s), 1, 32767, 0 },
    { LEVEL_TCP, OPTION_KEEPCNT, FIELD(keep_count), 1, 127, 0 },
    { LEVEL_TCP, OPTION_SYNCNT, FIELD(syn_count), 1, 127, 0 },
    { LEVEL_TCP, OPTION_LINGER2, BOUNDED(linger_s), -1, 120, 0 },
    { LEVEL_TCP, OPTION_WINDOW_CLAMP, BOUNDED(window_clamp), WINDOW_MIN, INT32_MAX, 0 },
    { LEVEL_TCP, OPTION_DEFER_ACCEPT, FIELD(defer_s), 0, 0, 0 }, /* only for reading */
    { LEVEL_TCP, OPTION_QUICKACK, FIELD(acknowledges_at_once), 0, 1, 0 },
    { LEVEL_TCP, OPTION_USER_TIMEOUT, FIELD(user_timeout_ms), 0, INT32_MAX, 0 },
    { LEVEL_TCP, OPTION_FASTOPEN, FIELD(fast_queued), 0, INT32_MAX, 0 },
    { LEVEL_TCP, OPTION_FASTOPEN_CONNECT, FIELD(connects_fast), 0, 1, 0 },
    { LEVEL_TCP, OPTION_NOTSENT_LOWAT, FIELD(unsent_low), 0, 0, 0 },
    { 0 },
};

/* Returns the time that Linux makes of TCP_DEFER_ACCEPT's: that of a whole number of repeated answers. */
static int32_t defer_time(int32_t seconds)
{
    int32_t time = 0;

    while (time < seconds && time < DEFER_MAX_S)
        time = 2 * time + 1;
    return time;
}

static int tcp_option_set(struct stream *stream, int option, const void *value, uint32_t bytes)
{
    const int32_t number = inet_option_value(value, bytes);

    if (option == OPTION_CONGESTION)
        return bytes >= 4 && memcmp(value, congestion, 4) == 0 && (bytes == 4 || !((const char *)value)[4])
                   ? 0
                   : -ENOENT;
    if (bytes < sizeof(number))
        return -EINVAL;
    if (option == OPTION_MAXSEG) {
        if (number && (number < SEGMENT_MIN || number > INT16_MAX))
            return -EINVAL;
        stream->tcp.segment_max = (uint32_t)number;
        return 0;
    }
    if (option == OPTION_DEFER_ACCEPT) {
        stream->tcp.defer_s = defer_time(number);
        return 0;
    }
    return inet_option_set((struct inet_socket *)stream, options, LEVEL_TCP, option, value, bytes);
}

static int stream_option_set(struct file *file, int level, int option, const void *value, uint32_t bytes)
{
    struct stream *stream = file->object;

    NETWORK_GUARD();
    int error = level == LEVEL_TCP
                    ? tcp_option_set(stream, option, value, bytes)
                    : inet_option_set((struct inet_socket *)stream, options, level, option, value, bytes);
    stream_configure(stream); /* also for what the caller has set */
    return error;
}

/* Writes Linux's struct tcp_info, as far as lwIP knows it. */
static int info_get(const struct stream *stream, void *value, uint32_t *bytes)
{
    /* lwIP's states as Linux's; without a pcb: closed. */
    static const uint8_t states[] = { 7, 10, 2, 3, 1, 4, 5, 8, 11, 9, 6 };
    union {
        uint8_t octets[TCP_INFO_BYTES];
        uint32_t words[TCP_INFO_BYTES / 4];
    } info = { .octets = { 7 } };
    const struct tcp_pcb *pcb = stream->connection.pcb;
    if (pcb && pcb->state == LISTEN) {
        info.octets[0] = states[LISTEN];
        info.words[6] = stream->queued_count; /* tcpi_unacked: for a listener, those that wait */
        info.words[7] = stream->backlog;
    } else if (pcb) {
        info.octets[0] = states[pcb->state];
        info.octets[2] = pcb->nrtx;
        info.words[2] = (uint32_t)pcb->rto * 100000;
        info.words[4] = info.words[5] = pcb->mss;
        info.words[6] = pcb->mss ? (pcb->snd_nxt - pcb->lastack + pcb->mss - 1) / pcb->mss : 0;
        info.words[15] = pcb->mss + IP_HLEN + TCP_HLEN;              /* tcpi_pmtu */
        info.words[16] = info.words[24] = stream->connection.window; /* of the receiver */
        info.words[19] = pcb->mss ? (uint32_t)(pcb->ssthresh / pcb->mss) : 0;
        info.words[17] = (uint32_t)(pcb->sa >> 3) * 100000;
        info.words[20] = pcb->mss ? pcb->cwnd / pcb->mss : 0;
    }
    *bytes = (uint32_t)smaller(*bytes, sizeof(info));
    memcpy(value, &info, *bytes);
    return 0;
}

static int tcp_option_get(struct stream *stream, int option, void *value, uint32_t *bytes)
{
    const struct tcp_pcb *pcb = stream->connection.pcb;

    switch (option) {
    case OPTION_MAXSEG:
        if (pcb && pcb->state != LISTEN)
            return inet_option_answer(value, bytes, pcb->mss);
        return inet_option_answer(value, bytes,
                                  stream->tcp.segment_max ? (int32_t)stream->tcp.segment_max : UNSEGMENTED);
    case OPTION_INFO:
        return info_get(stream, value, bytes);
    case OPTION_CONGESTION:
        *bytes = (uint32_t)smaller(*bytes, sizeof(congestion));
        memcpy(value, congestion, *bytes);
        return 0;
    default:
        return inet_option_get((struct inet_socket *)stream, 0, options, LEVEL_TCP, option, value, bytes);
    }
}

static int stream_option_get(struct file *file, int level, int option, void *value, uint32_t *bytes)
{
    struct stream *stream = file->object;

    NETWORK_GUARD();
    if (level == LEVEL_TCP)
        return tcp_option_get(stream, option, value, bytes);
    if (level == SOL_SOCKET && option == SO_ACCEPTCONN)
        return inet_option_answer(value, bytes, stream->state == STREAM_LISTENING);
    if (level != LEVEL_IP && level != SOL_SOCKET)
        return -EOPNOTSUPP;
    const uint32_t peer = stream->state == STREAM_OPEN ? stream->connection.ends.remote_address : 0;
    return inet_option_get((struct inet_socket *)stream, peer, options, level, option, value, bytes);
}

static int64_t stream_queued(struct file *file, bool unsent)
{
    struct stream *stream = file->object;

    if (!unsent && stream->state == STREAM_LISTENING)
        return -EINVAL;
    network_poll();
    NETWORK_GUARD();
    return (int64_t)(unsent ? stream->out.bytes : stream->in.bytes);
}

/* ---- As a file ---- */

static unsigned file_stream_ready(struct file *file)
{
    struct stream *stream = file->object;

    __atomic_store_n(&stream->process, arch_process(), __ATOMIC_RELAXED);
    return stream_ready(stream);
}

/* Waits, for SO_LINGER, until the peer has everything, at most linger_s. Not called if the process ends. */
static void linger(struct stream *stream)
{
    uint64_t deadline_ns = time_add(clock_now_ns(), (uint64_t)stream->socket.linger_s * NS_PER_S);

    stream_shutdown(stream, false, true);
    while (stream->state == STREAM_OPEN && stream->out.bytes > 0)
        if (stream_wait_change(stream, deadline_ns))
            return;
}

static void stream_release(struct file *file)
{
    struct stream *stream = file->object;
    bool lingers = socket_switch(&stream->socket, SO_LINGER);

    if (lingers && stream->socket.linger_s > 0 && !arch_process()->ending)
        linger(stream);
    stream_end(stream, lingers && stream->socket.linger_s == 0 && stream->state == STREAM_OPEN);
}

static const struct socket_operations stream_operations = {
    .bind = stream_bind,
    .connect = stream_connect_call,
    .listen = stream_listen_call,
    .accept = stream_accept_call,
    .send = stream_send_call,
    .receive = stream_receive_call,
    .shutdown = stream_shutdown_call,
    .name = stream_name,
    .option_set = stream_option_set,
    .option_get = stream_option_get,
    .queued = stream_queued,
};

static const struct file_operations stream_files = {
    .move = socket_move,
    .ready = file_stream_ready,
    .activity = inet_activity,
    .events = inet_events,
    .release = stream_release,
    .waits = true,
};

static void socket_make(struct file *file, struct stream *stream)
{
    socket_initialise(file, &stream->socket, &stream_files, &stream_operations, AF_INET, SOCK_STREAM,
                      PROTOCOL_TCP);
}

void inet_stream_adopt(struct file *file, struct process *process, struct stream *stream)
{
    __atomic_store_n(&stream->process, process, __ATOMIC_RELAXED);
    socket_make(file, stream);
}

int inet_stream_create(struct file *file)
{
    struct stream *stream = stream_create(arch_process());

    if (!stream)
        return -ENOMEM;
    socket_make(file, stream);
    return 0;
}
