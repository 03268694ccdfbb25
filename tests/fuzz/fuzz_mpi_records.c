/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_mpi_records.c: any bytes that other nodes send to a rank over TCP, in pieces of any size: hellos,
 * records, heads of messages. Posted receives must stay inside their buffers.
 */
#define _GNU_SOURCE
#include "apps/mpi-lite/src/transport/tcp.c"
#include "tests/fuzz/mpi_rank.h"

struct mpi_world mpi_world = {
    .size = RANKS, .nodes = RANKS, .node_size = 1, .initialized = true, .eager_bytes = 8192
};

/* ---- Stubs ---- */

static bool nothing_send(int peer, const struct head *head, const void *data, size_t bytes)
{
    (void)peer, (void)head, (void)data, (void)bytes;
    return true;
}

static const struct transport nothing = { .send = nothing_send, .fragment_bytes = tcp_fragment_bytes };

const struct transport transport_shared = { .eager_bytes = 8192 };

const struct transport *transport_to(int peer)
{
    (void)peer;
    return &nothing;
}

bool shared_peer_is_readable(int peer)
{
    (void)peer;
    return false;
}

bool shared_peer_move(int peer, void *here, uint64_t there, size_t bytes, bool writes)
{
    (void)peer, (void)here, (void)there, (void)bytes, (void)writes;
    return false;
}

struct share *shared_share_take(void)
{
    return NULL;
}

void shared_share_give(struct share *share)
{
    (void)share;
}

int shared_share_index(const struct share *share)
{
    (void)share;
    return 0;
}

struct share *shared_share_of(int peer, uint64_t index)
{
    (void)peer, (void)index;
    return NULL;
}

int pmi_get(const char *key, char *value, size_t bytes)
{
    (void)key, (void)value, (void)bytes;
    return MPI_ERR_OTHER;
}

int pmi_put(const char *key, const char *value)
{
    (void)key, (void)value;
    return MPI_SUCCESS;
}

void pmi_end_await(void)
{
}

int pmi_local_address(char *text, size_t bytes)
{
    (void)bytes;
    *text = '\0';
    return MPI_SUCCESS;
}

/* ---- The fuzzer ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct connection in, *answers[RANKS];
    static int ends[2] = { -1, -1 }; /* of what this rank answers */
    bool is_peer = bytes && data[0] & 1;
    size_t piece = bytes > 1 ? data[1] + 1u : 1;
    char answer[64];

    if (ends[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
        abort();
    while (recv(ends[1], answer, sizeof(answer), MSG_DONTWAIT) > 0)
        ;
    in.watch.fd = ends[0];
    in.events = EPOLLIN;
    in.begin = in.end = 0;
    in.waits = false;
    requests_make();
    secret = 0x0123456789abcdefu;
    outs = answers;
    memset(answers, 0, sizeof(answers));
    in.bytes = in.left = 0;
    in.rank = is_peer ? 1 : -1;
    strangers = !is_peer;
    if (setjmp(ended) == 0) {
        for (size_t at = 2; at < bytes; at += piece) {
            size_t more = bytes - at < piece ? bytes - at : piece;

            if (more > sizeof(in.data) - in.bytes + in.left)
                break;
            size_t placed = more < in.left ? more : in.left;
            if (placed)
                memcpy(in.place, data + at, placed);
            memcpy(in.data + in.bytes, data + at + placed, more - placed);
            in_came(&in, more);
            if (in.rank < 0 && !hello_is_good(&in))
                break;
            if (in.rank >= 0)
                records_take(&in);
        }
    }
    requests_end();
    return 0;
}
