/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.c: see transport.h: a session on a stream of the kernel's own (net/stream.h), in threads of the
 * kernel, with memory of the calling rank. Before there are threads, the only CPU polls.
 *
 * A signal does not end a wait, just as on Linux it does not end a read of a disk's file: programs do not
 * expect that. While one is pending the stream cannot wait for events, and is polled every POLL_NS.
 */
#include "ninep/session.h"
#include "debug/console.h"
#include "mm/page.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/stream.h"
#include "process/process.h"
#include "process/schedule.h"
#include "time/clock.h"

#define POLL_NS 1000000

int ninep_transport_open(struct ninep_transport *transport, uint64_t deadline_ns)
{
    struct stream *stream = NULL;
    int error;

    do {
        error = stream_open(NULL, &stream, transport->address, transport->port, deadline_ns);
        if (error == -EINTR)
            ninep_pause(clock_now_ns() + POLL_NS);
    } while (error == -EINTR && clock_now_ns() < deadline_ns);
    transport->connection = error ? NULL : stream;
    return error;
}

void ninep_transport_close(struct ninep_transport *transport)
{
    stream_end(transport->connection, true);
    transport->connection = NULL;
}

int64_t ninep_transport_read(struct ninep_transport *transport, void *bytes, uint64_t count)
{
    return stream_read(transport->connection, bytes, count, 0);
}

int64_t ninep_transport_write(struct ninep_transport *transport, const void *bytes, uint64_t count)
{
    return stream_write(transport->connection, bytes, count, 0);
}

void ninep_transport_wait(struct ninep_transport *transport, bool write_too, uint64_t deadline_ns)
{
    if (stream_wait(transport->connection, write_too, deadline_ns) != -EINTR)
        return;
    network_poll();
    ninep_pause(clock_now_ns() + POLL_NS);
}

uint64_t ninep_random(void)
{
    return arch_random();
}

uint64_t ninep_now_ns(void)
{
    return clock_now_ns();
}

void ninep_sleeper_begin(struct ninep_sleeper *sleeper)
{
    sleeper->thread = arch_thread();
    sleeper->woken = 0;
}

void ninep_sleep(struct ninep_sleeper *sleeper, uint64_t deadline_ns)
{
    if (sleeper->thread) {
        /* The caller checks why it ended. */
        thread_sleep_through(&sleeper->woken, deadline_ns);
        return;
    }
    while (clock_now_ns() < deadline_ns && !sleeper->woken)
        network_poll();
}

void ninep_wake(struct ninep_sleeper *sleeper)
{
    __atomic_store_n(&sleeper->woken, 1, __ATOMIC_RELEASE);
    if (sleeper->thread)
        thread_wake(sleeper->thread);
}

void *ninep_allocate(uint64_t bytes)
{
    struct process *process = arch_process();

    if (process) {
        uint64_t page = page_pool_allocate(process->vm.pages, page_up(bytes), ARCH_PAGE);

        return page == PAGE_POOL_NONE ? NULL : arch_physical(page);
    }
    NETWORK_GUARD();
    return network_allocate(bytes);
}

void ninep_free(void *memory, uint64_t bytes)
{
    uint64_t physical = arch_physical_of(memory);
    struct process *process = arch_process();

    if (!process || !memory_slice_has(process->slice, physical)) /* usually it is the caller's own */
        process = process_of_memory(physical);
    if (process) {
        page_pool_free(process->vm.pages, physical, page_up(bytes));
        return;
    }
    NETWORK_GUARD();
    network_free(memory);
}

void ninep_say(const char *source, const char *what)
{
    kernel_print("mount: %s: %s\n", source, what);
}
