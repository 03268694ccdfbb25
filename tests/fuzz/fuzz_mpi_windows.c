/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_mpi_windows.c: messages of other ranks to a window: pieces of operations with their runs, answers,
 * locks. The rank must do any message within the window's memory, or refuse it, or end the job with a reason.
 * An answer must stay inside the buffer that waits for it.
 *
 * The input is a byte, whose lowest bit says that the window is dynamic, then messages (struct spoken) with
 * their data. In a dynamic window the runs' offsets count from its first attached memory.
 */
#define _GNU_SOURCE
#include "apps/mpi-lite/src/base/handle.h"
#include "apps/mpi-lite/src/window/rma_origin.c"
#include "apps/mpi-lite/src/window/window.c"
#include "tests/fuzz/mpi_stubs.h"
#include <setjmp.h>
#include <stdio.h>

#define RANKS        4
#define WINDOW_BYTES 512
#define REGION_BYTES 128
#define RESULT_BYTES 64

struct __attribute__((packed)) spoken {
    uint8_t kind, source;
    uint16_t bytes;
    uint64_t cookie, other;
};

struct mpi_world mpi_world = { .size = RANKS, .nodes = 1, .node_size = RANKS, .initialized = true };
struct mpi_comm mpi_lite_comm_world, mpi_lite_comm_self;
static jmp_buf ended;

void mpi_abort(int status, const char *format, ...)
{
    (void)status, (void)format;
    longjmp(ended, 1);
}

/* ---- Stubs ---- */

bool message_try(int world, const struct head *head, const void *data, size_t bytes)
{
    static unsigned char sent[PIECE_MAX];

    (void)world, (void)head;
    if (bytes)
        memcpy(sent, data, bytes); /* all of it must be readable */
    return true;
}

void message_post(int world, const struct head *head, const void *data, size_t bytes)
{
    message_try(world, head, data, bytes);
}

size_t message_fragment(int world)
{
    (void)world;
    return 16 << 10;
}

int mpi_return_to(struct hearer *hearer, const char *function, int error)
{
    (void)hearer, (void)function;
    return error;
}

static message_taker *taken_by;

void message_windows_take(message_taker *taker)
{
    taken_by = taker;
}

void progress_add(bool (*poll)(void))
{
    (void)poll;
}

int request_complete(struct mpi_request *request)
{
    (void)request;
    return MPI_SUCCESS;
}

int mpi_live[LIVE_KINDS];

MPI_Fint handle_number(enum fortran_kind kind, void *object)
{
    (void)kind, (void)object;
    return 0;
}

int mpi_out_of_memory(void)
{
    return MPI_ERR_NO_MEM;
}

int context_agree(struct mpi_comm *comm, uint32_t *context)
{
    (void)comm, (void)context;
    return MPI_ERR_OTHER;
}

struct mpi_comm *comm_make_child(const struct mpi_comm *parent, uint32_t context, struct mpi_group *group,
                                 struct mpi_group *remote, bool inter)
{
    (void)parent, (void)context, (void)group, (void)remote, (void)inter;
    return NULL;
}

void comm_hide(struct mpi_comm *comm)
{
    (void)comm;
}

void errhandler_release(struct mpi_errhandler *handler)
{
    (void)handler;
}

int attributes_free(void *owner, struct mpi_attributes **attributes)
{
    (void)owner, (void)attributes;
    return 0;
}

int window_memory_make(struct mpi_comm *comm, MPI_Aint size, bool is_contiguous, bool must_share,
                       struct window_memory **memory, unsigned char **base)
{
    (void)comm, (void)size, (void)is_contiguous, (void)must_share, (void)memory, (void)base;
    return MPI_ERR_OTHER;
}

unsigned char *window_memory_of(const struct window_memory *memory, const struct mpi_comm *comm, int rank)
{
    (void)memory, (void)comm, (void)rank;
    return NULL;
}

void window_memory_free(struct window_memory *memory)
{
    (void)memory;
}

int PMPI_Allgather(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                   MPI_Datatype to_type, MPI_Comm comm)
{
    (void)from, (void)from_count, (void)from_type, (void)to, (void)to_count, (void)to_type, (void)comm;
    return MPI_ERR_OTHER;
}

int PMPI_Barrier(MPI_Comm comm)
{
    (void)comm;
    return MPI_ERR_OTHER;
}

int PMPI_Info_get(MPI_Info info, const char *key, int length, char *value, int *flag)
{
    (void)info, (void)key, (void)length, (void)value;
    *flag = 0;
    return 0;
}

/* ---- The fuzzer ---- */

static struct mpi_win win;
static struct rma_peer peers[RANKS];
static unsigned char *memory[2], *result;

static void window_open(bool is_dynamic)
{
    static const int world[] = { 0, 1, 2, 3 };
    static struct mpi_group group = { .references = 1, .size = RANKS, .world = world };
    static struct mpi_comm comm = { .references = 1, .context = 6, .group = &group, .size = RANKS };
    const struct rma_op get = {
        .kind = RMA_GET,
        .result = result = malloc(RESULT_BYTES),
        .result_count = RESULT_BYTES,
        .target_count = RESULT_BYTES,
        .result_type = MPI_BYTE,
        .target_type = MPI_BYTE,
        .unit = 1,
        .bytes = RESULT_BYTES,
    };

    for (int i = 0; i < 2; i++)
        memory[i] = calloc(1, is_dynamic ? REGION_BYTES : WINDOW_BYTES);
    win = (struct mpi_win){ .comm = &comm, .peers = peers, .access = ACCESS_FENCE };
    win.flavor = is_dynamic ? MPI_WIN_FLAVOR_DYNAMIC : MPI_WIN_FLAVOR_CREATE;
    for (int i = 0; i < RANKS; i++)
        peers[i] = (struct rma_peer){ .win = &win, .rank = i, .world = i };
    for (int i = 0; i < 2 && is_dynamic; i++)
        PMPI_Win_attach(&win, memory[i], REGION_BYTES);
    if (!is_dynamic) {
        win.base = memory[0];
        win.size = WINDOW_BYTES;
    }
    *bucket_of(comm.context) = &win;
    rma_begin(&win, 1, &get);
    rma_close(&win, 1, RMA_FLUSH);
    rma_lock_request(&win, &peers[2], LOCK_SHARED);
    peers[3].is_exposed_to = true;
    win.exposed = 1;
}

static void window_close(void)
{
    if (peers[1].first_answer)
        op_free(peers[1].first_answer);
    free(win.regions);
    for (int i = 0; i < 2; i++)
        free(memory[i]);
    free(result);
}

/* Turns the runs' offsets from the first attached memory into addresses. */
static void runs_move(unsigned char *data, const struct spoken *spoken)
{
    for (size_t i = 0; i < (uint32_t)spoken->cookie && (i + 1) * sizeof(struct run_wire) <= spoken->bytes;
         i++) {
        struct run_wire run;

        memcpy(&run, data + i * sizeof(run), sizeof(run));
        run.offset = (int64_t)((uint64_t)run.offset + (uintptr_t)memory[0]);
        memcpy(data + i * sizeof(run), &run, sizeof(run));
    }
}

static void message_say(const struct spoken *spoken, unsigned char *data)
{
    const struct head head = {
        .context = 6,
        .tag = spoken->kind,
        .source = spoken->source % RANKS,
        .kind = HEAD_WINDOW,
        .bytes = spoken->bytes,
        .cookie = spoken->cookie,
        .other = spoken->other,
    };

    if (win.flavor == MPI_WIN_FLAVOR_DYNAMIC && spoken->kind <= RMA_SWAP)
        runs_move(data, spoken);
    taken_by(head.source, &head, data, spoken->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    unsigned char *volatile copy = NULL;
    struct spoken spoken;

    window_begin();
    window_open(bytes && data[0] & 1);
    if (setjmp(ended) == 0) {
        for (size_t at = 1; at + sizeof(spoken) <= bytes;) {
            memcpy(&spoken, data + at, sizeof(spoken));
            at += sizeof(spoken);
            if (spoken.bytes > bytes - at)
                break;
            copy = malloc(spoken.bytes + 1u); /* at an odd address, at the end of its memory */
            memcpy(copy + 1, data + at, spoken.bytes);
            at += spoken.bytes;
            message_say(&spoken, copy + 1);
            free(copy);
            copy = NULL;
        }
    }
    free(copy);
    window_close();
    return 0;
}
