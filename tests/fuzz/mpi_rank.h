/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpi_rank.h: a rank of mpi-lite for the fuzzers of its transports. Messages, their matching and requests are
 * the library's own; the other parts are stubs. Receives are posted, and a send waits for its receiver. The
 * rank must either take any input or end the job with a reason (mpi_abort jumps to `ended`). Included after
 * the transport's source, whose receiver it sets.
 */
#ifndef TESTS_FUZZ_MPI_RANK_H
#define TESTS_FUZZ_MPI_RANK_H

#include "message/message.h"
#include "tests/fuzz/mpi_stubs.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#define RANKS    4
#define RECEIVES 4
#define ROOM     64

struct mpi_comm mpi_lite_comm_world;
struct mpi_datatype mpi_lite_type_byte = {
    .references = 1, .bytes = 1, .extent = 1, .committed = true, .dense = true
};
static jmp_buf ended;

void mpi_abort(int status, const char *format, ...)
{
    char why[512];
    va_list arguments;

    (void)status;
    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    longjmp(ended, 1);
}

/* ---- Stubs ---- */

uint64_t clock_ns(void)
{
    static uint64_t now_ns;

    return ++now_ns;
}

bool progress_poll(void)
{
    return false;
}

int check_transfer(const void *buffer, int count, const struct mpi_datatype *type, int peer, int tag,
                   const struct mpi_comm *comm, bool receives)
{
    (void)buffer, (void)count, (void)type, (void)peer, (void)tag, (void)comm, (void)receives;
    return 0;
}

int check_peer(int peer, const struct mpi_comm *comm, bool may_be_any)
{
    (void)peer, (void)comm, (void)may_be_any;
    return 0;
}

int check_tag(int tag, bool may_be_any)
{
    (void)tag, (void)may_be_any;
    return 0;
}

int buffered_take(size_t bytes)
{
    (void)bytes;
    return 0;
}

void buffered_give(size_t bytes)
{
    (void)bytes;
}

/* Ends the job. fuzz_mpi_windows.c tries messages of windows. */
static void window_arrived(int peer, const struct head *head, const void *data, size_t bytes)
{
    mpi_abort(1, "rank %d: %d %p %zu", peer, head->tag, data, bytes);
}

void type_pack(const void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
               void *packed)
{
    (void)count, (void)type;
    memcpy(packed, (const char *)buffer + from, bytes);
}

void type_unpack(void *buffer, size_t count, const struct mpi_datatype *type, size_t from, size_t bytes,
                 const void *packed)
{
    (void)count, (void)type;
    memcpy((char *)buffer + from, packed, bytes);
}

int type_copy(const void *from, size_t from_count, const struct mpi_datatype *from_type, void *to,
              size_t to_count, const struct mpi_datatype *to_type)
{
    (void)from, (void)from_count, (void)from_type, (void)to, (void)to_count, (void)to_type;
    return 0;
}

int pmi_barrier(void)
{
    return MPI_SUCCESS;
}

/* ---- Requests ---- */

/* Receives that are posted, then a send that waits for its receiver. */
static struct mpi_request *requests[RECEIVES + 1];
static unsigned char rooms[RECEIVES][ROOM], large[20000];

static void requests_make(void)
{
    static const int world[RANKS] = { 0, 1, 2, 3 };
    static struct mpi_group group = { .references = 1, .size = RANKS, .world = world };

    mpi_lite_comm_world.group = mpi_lite_comm_world.remote = &group;
    mpi_lite_comm_world.size = RANKS;
    mpi_lite_comm_world.references = 1;
    receiver = message_receiver;
    message_windows_take(window_arrived);
    for (int i = 0; i < RECEIVES; i++)
        requests[i] =
            message_receive(rooms[i], ROOM, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : 1, i, MPI_COMM_WORLD, 0);
    requests[RECEIVES] = message_send(SEND_STANDARD, large, sizeof(large), MPI_BYTE, 1, 0, MPI_COMM_WORLD, 0);
}

static void requests_end(void)
{
    for (int i = 0; i < RECEIVES; i++) {
        if (!requests[i]->complete && !message_cancel(requests[i]))
            request_complete(requests[i]); /* its data was under way; its cookie is stale from now on */
        request_free(requests[i]);
    }
    if (!requests[RECEIVES]->complete)
        request_complete(requests[RECEIVES]);
    request_free(requests[RECEIVES]);
    match_end();
}

#endif
