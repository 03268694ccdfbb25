/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_kernel.c: see stream.h: the kernel's own use of streams, as a mount makes it, and the launch of
 * jobs. Runs in system calls, or, at boot and between jobs, without any process: then waiting is polling.
 */
#include "net/stream.h"
#include "lib/errno.h"
#include "net/network.h"
#include "net/stream_state.h"
#include "process/process.h"
#include "lwip/def.h"

#define LISTENER_BACKLOG 16

int stream_open_begin(struct process *process, struct stream **out, uint32_t address, uint16_t port)
{
    struct stream *stream = stream_create(process);

    if (!stream)
        return -ENOMEM;
    stream->tcp.no_delay = true;
    __atomic_store_n(&stream->process, arch_process(), __ATOMIC_RELAXED);
    network_lock();
    int error = stream_connect_begin(stream, lwip_htonl(address), port);
    network_unlock();
    if (error)
        stream_end(stream, true);
    else
        *out = stream;
    return error;
}

int stream_open(struct process *process, struct stream **out, uint32_t address, uint16_t port,
                uint64_t deadline_ns)
{
    int error = stream_open_begin(process, out, address, port), waited = 0;

    if (error)
        return error;
    while (!waited && (*out)->state == STREAM_CONNECTING)
        waited = stream_wait_change(*out, deadline_ns);
    if ((*out)->state == STREAM_OPEN)
        return 0;
    error = waited == -EINTR ? -EINTR : -ETIMEDOUT;
    if ((*out)->error)
        error = (*out)->error;
    stream_end(*out, true);
    return error;
}

static int64_t kernel_move(struct stream *stream, void *bytes, uint64_t count, uint64_t deadline_ns,
                           bool write)
{
    struct stream_bytes kernel = { .kernel = bytes };
    int64_t result;
    int error = 0;

    if (deadline_ns == 0) /* another process may wait for this stream meanwhile */
        network_poll();
    else if (arch_process())
        __atomic_store_n(&stream->process, arch_process(), __ATOMIC_RELAXED);
    do
        result = write ? stream_send(stream, &kernel, count, false)
                       : stream_receive(stream, &kernel, count, false);
    while (result == -EAGAIN && !(error = stream_wait_change(stream, deadline_ns)));
    return error ? error : result;
}

int64_t stream_write(struct stream *stream, const void *bytes, uint64_t count, uint64_t deadline_ns)
{
    return kernel_move(stream, (void *)(uintptr_t)bytes, count, deadline_ns, true);
}

int64_t stream_read(struct stream *stream, void *bytes, uint64_t count, uint64_t deadline_ns)
{
    return kernel_move(stream, bytes, count, deadline_ns, false);
}

int64_t stream_peek(struct stream *stream, void *bytes, uint64_t count)
{
    struct stream_bytes kernel = { .kernel = bytes };

    return stream_receive(stream, &kernel, count, true);
}

int stream_wait(struct stream *stream, bool write_too, uint64_t deadline_ns)
{
    unsigned awaited = READY_IN | READY_ERROR | READY_HANG_UP | (write_too ? READY_OUT : 0);
    int error = 0;

    if (arch_process())
        __atomic_store_n(&stream->process, arch_process(), __ATOMIC_RELAXED);
    while (!error && !(stream_ready(stream) & awaited))
        error = stream_wait_change(stream, deadline_ns);
    return error;
}

/* ---- Listening ---- */

int stream_listen_kernel(struct stream **out, uint16_t port, uint32_t room)
{
    struct stream *stream = stream_create(NULL);

    if (!stream)
        return -ENOMEM;
    stream->tcp.no_delay = true;
    stream->socket.switches = 1 << SO_KEEPALIVE;
    stream->socket.receive_room = stream->socket.send_room = room;
    stream->connection.port.port = port;
    int error = stream_listen(stream, LISTENER_BACKLOG);
    if (error)
        stream_end(stream, true);
    else
        *out = stream;
    return error;
}

uint32_t stream_peer_address(const struct stream *stream)
{
    return lwip_ntohl(stream->connection.ends.remote_address);
}

void stream_watch(struct stream *stream, bool on)
{
    NETWORK_GUARD();
    stream->is_watched = on;
}
