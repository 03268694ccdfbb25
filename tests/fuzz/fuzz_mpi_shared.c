/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_mpi_shared.c: any bytes in the ring from another rank of the node: lengths, places where the ring
 * wraps around, heads of messages. The rank must not read past the ring, and posted receives must stay inside
 * their buffers.
 */
#define _GNU_SOURCE
#include "apps/mpi-lite/src/transport/shared.c"
#include "tests/fuzz/mpi_rank.h"
#include <sanitizer/asan_interface.h>

struct mpi_world mpi_world = {
    .size = RANKS, .nodes = 1, .node_size = RANKS, .initialized = true, .eager_bytes = 8192
};

/* ---- Stubs ---- */

static bool nothing_send(int peer, const struct head *head, const void *data, size_t bytes)
{
    (void)peer, (void)head, (void)data, (void)bytes;
    return true;
}

static const struct transport nothing = { .send = nothing_send, .fragment_bytes = shared_fragment_bytes };

const struct transport transport_tcp = { .eager_bytes = 65536 };

const struct transport *transport_to(int peer)
{
    (void)peer;
    return &nothing;
}

void (*mpi_lock_left)(void);
void (*mpi_others_end)(int status, const char *why);

bool pmi_is_used(void)
{
    return true;
}

bool pmi_is_tied(void)
{
    return false;
}

bool tcp_is_used(void)
{
    return false;
}

void tcp_wait(void)
{
}

void tcp_wake(int rank)
{
    (void)rank;
}

int segment_begin(size_t bytes, void **memory)
{
    *memory = aligned_alloc(LINE_BYTES, bytes);
    if (!*memory)
        return MPI_ERR_NO_MEM;
    memset(*memory, 0, bytes);
    return MPI_SUCCESS;
}

void segment_meet(void)
{
}

void segment_unlink(void)
{
}

void segment_end(void)
{
}

/* ---- The fuzzer ---- */

#define SENDER 1

static void node_make(void)
{
    static int node_of[RANKS];

    mpi_world.node_of = node_of;
    if (shared_begin(&message_receiver) != MPI_SUCCESS)
        abort();
    for (int i = 0; i < RANKS; i++)
        if (i != SENDER)
            ASAN_POISON_MEMORY_REGION(ring_of(i, 0), sizeof(struct ring) + ring_bytes);
    ASAN_POISON_MEMORY_REGION(ring_of(SENDER, 1),
                              sizeof(struct ring) + ring_bytes); /* the memory after the sender's ring */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (places == &lone_place)
        node_make();
    struct side *side = &from_sides[SENDER];
    size_t begin = bytes ? ring_bytes - (size_t)data[0] * RECORD_ALIGN : 0;
    size_t written = bytes > 1 ? bytes - 1 : 0;

    requests_make();
    if (written > ring_bytes)
        written = ring_bytes;
    memset(side->ring->lines, 0, ring_bytes);
    for (size_t i = 0; i < written; i++)
        side->ring->lines[(begin + i) & (ring_bytes - 1)] = data[1 + i];
    side->at = side->consumed = begin;
    if (setjmp(ended) == 0)
        for (int polls = 0; polls < 8 && ring_take(SENDER, side); polls++)
            ;
    requests_end();
    return 0;
}
