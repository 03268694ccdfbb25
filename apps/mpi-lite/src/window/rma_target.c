/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma_target.c: what other ranks' messages do to this process's window: pieces of operations read and change
 * its memory, locks are granted in the order of their requests, completions end an exposure.
 *
 * Each message is handled as a whole when it arrives, by the thread that makes progress: so an accumulation
 * is atomic with respect to all others on this process. Everything that a message says of memory is checked
 * against the window. An origin checks what it can, so an error here ends the job. But only the target knows
 * what memory is attached to a dynamic window: it refuses an access to other memory, and the origin reports
 * that at its next synchronization.
 *
 * Runs under the library's lock. Source: MPI 3.1 §11.3, §11.5.3, §11.7.
 */
#include "window/window.h"
#include <string.h>

/* A piece of an operation: its runs and data may lie at any address. */
struct piece {
    const unsigned char *runs, *data;
    size_t run_count, bytes; /* of data at the target */
    struct mpi_datatype *type;
    struct mpi_op *op;
};

/* ---- Checks ---- */

static _Noreturn void piece_is_bad(const struct rma_peer *peer, const struct head *head, const char *why)
{
    mpi_abort(1, "rank %d has sent an invalid operation of kind %d on a window: %s", peer->world, head->tag,
              why);
}

static struct run_wire run_at(const struct piece *piece, size_t i)
{
    struct run_wire run;

    memcpy(&run, piece->runs + i * sizeof(run), sizeof(run));
    return run;
}

/* Splits a message into head and data. Checks that the runs have as many bytes as the head says, but not
 * their memory. `copies`: how many times data of that size is in the message. */
static struct piece piece_take(const struct mpi_win *win, const struct rma_peer *peer,
                               const struct head *head, const void *data, size_t bytes, size_t copies)
{
    struct piece piece = { .runs = data, .run_count = (uint32_t)head->cookie, .bytes = (size_t)head->other };
    size_t left = piece.bytes;

    if (piece.run_count > bytes / sizeof(struct run_wire) || !left || left > rma_room(win, peer))
        piece_is_bad(peer, head, "its size");
    piece.data = piece.runs + piece.run_count * sizeof(struct run_wire);
    if (bytes != piece.run_count * sizeof(struct run_wire) + copies * piece.bytes)
        piece_is_bad(peer, head, "its size");
    for (size_t i = 0; i < piece.run_count; i++) {
        struct run_wire run = run_at(&piece, i);

        if (!run.bytes || !run.count || run.bytes > left || run.count > left / run.bytes)
            piece_is_bad(peer, head, "the size of its runs");
        left -= run.bytes * run.count;
    }
    if (left)
        piece_is_bad(peer, head, "the size of its runs");
    return piece;
}

static bool run_is_attached(const struct mpi_win *win, struct run_wire run)
{
    for (uint64_t i = 0; i < run.count; i++) {
        int64_t offset;

        if (__builtin_mul_overflow((int64_t)i, run.stride, &offset) ||
            __builtin_add_overflow(offset, run.offset, &offset) ||
            !window_is_attached(win, offset, run.bytes))
            return false;
    }
    return true;
}

static bool run_is_within(const struct mpi_win *win, struct run_wire run)
{
    int64_t last, end;

    if (__builtin_mul_overflow((int64_t)run.count - 1, run.stride, &last) ||
        __builtin_add_overflow(last, run.offset, &last))
        return false;
    int64_t low = last < run.offset ? last : run.offset, high = last < run.offset ? run.offset : last;
    return low >= 0 && !__builtin_add_overflow(high, run.bytes, &end) && end <= win->size;
}

/* Checks the memory of a piece; returns false if it is not attached. */
static bool piece_is_within(const struct mpi_win *win, const struct rma_peer *peer, const struct head *head,
                            const struct piece *piece)
{
    bool is_dynamic = win->flavor == MPI_WIN_FLAVOR_DYNAMIC;

    for (size_t i = 0; i < piece->run_count; i++) {
        struct run_wire run = run_at(piece, i);

        if (is_dynamic && !run_is_attached(win, run))
            return false;
        if (!is_dynamic && !run_is_within(win, run))
            piece_is_bad(peer, head, "memory outside of the window");
    }
    return true;
}

/* ---- Memory ---- */

/* Copies a block. Words are moved as words, whatever the C library does: a concurrent reader never sees half
 * of one. */
static void block_copy(void *to, const void *from, size_t bytes)
{
    uint64_t long_word;
    uint32_t word;

    if (bytes == sizeof(long_word)) {
        memcpy(&long_word, from, sizeof(long_word));
        memcpy(to, &long_word, sizeof(long_word));
    } else if (bytes == sizeof(word)) {
        memcpy(&word, from, sizeof(word));
        memcpy(to, &word, sizeof(word));
    } else {
        memcpy(to, from, bytes);
    }
}

static void *place_of(const struct mpi_win *win, struct run_wire run, uint64_t i)
{
    return (void *)((uintptr_t)win->base + (uintptr_t)run.offset + (uintptr_t)i * (uintptr_t)run.stride);
}

static void piece_read(const struct mpi_win *win, const struct piece *piece, unsigned char *packed)
{
    for (size_t i = 0; i < piece->run_count; i++) {
        struct run_wire run = run_at(piece, i);

        for (uint64_t k = 0; k < run.count; k++, packed += run.bytes)
            block_copy(packed, place_of(win, run, k), run.bytes);
    }
}

static void piece_write(const struct mpi_win *win, const struct piece *piece, const unsigned char *packed)
{
    for (size_t i = 0; i < piece->run_count; i++) {
        struct run_wire run = run_at(piece, i);

        for (uint64_t k = 0; k < run.count; k++, packed += run.bytes)
            block_copy(place_of(win, run, k), packed, run.bytes);
    }
}

/* ---- Operations ---- */

static _Alignas(64) unsigned char seen[PIECE_MAX]; /* the window's previous data */
static _Alignas(64) unsigned char operand[PIECE_MAX], combined[PIECE_MAX];
/* Elements of a packed stream as an array of their type: pairs have gaps there, at most as long as the data.
 */
static _Alignas(64) unsigned char left_elements[2 * PIECE_MAX], right_elements[2 * PIECE_MAX];

/* Computes combined = data op seen. */
static void combine(const struct piece *piece)
{
    size_t count = piece->bytes / piece->type->bytes;

    memcpy(operand, piece->data, piece->bytes); /* to align it */
    memcpy(combined, seen, piece->bytes);
    if (piece->type->dense) {
        op_apply(piece->op, operand, combined, count, piece->type);
        return;
    }
    memset(left_elements, 0, count * (size_t)piece->type->extent);
    memset(right_elements, 0, count * (size_t)piece->type->extent);
    type_unpack(left_elements, count, piece->type, 0, piece->bytes, operand);
    type_unpack(right_elements, count, piece->type, 0, piece->bytes, combined);
    op_apply(piece->op, left_elements, right_elements, count, piece->type);
    type_pack(right_elements, count, piece->type, 0, piece->bytes, combined);
}

static void operation_take(struct piece *piece, const struct rma_peer *peer, const struct head *head)
{
    piece->type = type_of_code(head->cookie >> 32 & 0xffff);
    piece->op = op_of_code((unsigned)(head->cookie >> 48));
    if (!piece->type || !piece->op || !piece->type->bytes || piece->bytes % piece->type->bytes)
        piece_is_bad(peer, head, "its type or operation");
    if (piece->op != MPI_REPLACE && piece->op != MPI_NO_OP && op_check(piece->op, piece->type))
        piece_is_bad(peer, head, "the operation is not defined for its type");
}

/* Changes the window's memory; `seen` has its previous data. */
static void accumulate(const struct mpi_win *win, const struct piece *piece)
{
    if (piece->op == MPI_REPLACE) {
        piece_write(win, piece, piece->data);
    } else if (piece->op != MPI_NO_OP) {
        combine(piece);
        piece_write(win, piece, combined);
    }
}

static void swap(const struct mpi_win *win, const struct piece *piece)
{
    if (memcmp(seen, piece->data + piece->bytes, piece->bytes) == 0)
        piece_write(win, piece, piece->data);
}

static void answer(struct mpi_win *win, struct rma_peer *peer, const struct piece *piece, bool is_within)
{
    rma_post(win, peer, RMA_ANSWER, piece->bytes, !is_within, is_within ? seen : NULL,
             is_within ? piece->bytes : 0);
}

/* Handles a put or an accumulation, which have no answer. */
static void write_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head,
                          const void *data, size_t bytes)
{
    struct piece piece = piece_take(win, peer, head, data, bytes, 1);

    if (head->tag == RMA_ACCUMULATE)
        operation_take(&piece, peer, head);
    if (!piece_is_within(win, peer, head, &piece)) {
        peer->was_refused = true;
    } else if (head->tag == RMA_PUT) {
        piece_write(win, &piece, piece.data);
    } else {
        piece_read(win, &piece, seen);
        accumulate(win, &piece);
    }
}

static void read_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head,
                         const void *data, size_t bytes)
{
    bool has_operand = head->tag == RMA_FETCH && op_of_code((unsigned)(head->cookie >> 48)) != MPI_NO_OP;
    size_t copies = head->tag == RMA_SWAP ? 2 : has_operand;
    struct piece piece = piece_take(win, peer, head, data, bytes, copies);

    if (head->tag == RMA_FETCH)
        operation_take(&piece, peer, head);
    bool is_within = piece_is_within(win, peer, head, &piece);
    if (is_within) {
        piece_read(win, &piece, seen);
        if (head->tag == RMA_FETCH)
            accumulate(win, &piece);
        else if (head->tag == RMA_SWAP)
            swap(win, &piece);
    }
    answer(win, peer, &piece, is_within);
}

/* ---- Locks ---- */

static bool may_hold(const struct mpi_win *win, enum lock_state requested)
{
    return win->holders == 0 || (requested == LOCK_SHARED && !win->is_exclusive);
}

static void grant(struct mpi_win *win, struct rma_peer *peer, enum lock_state requested)
{
    peer->holds = requested;
    win->holders++;
    win->is_exclusive = requested == LOCK_EXCLUSIVE;
    rma_post(win, peer, RMA_GRANT, requested, 0, NULL, 0);
}

/* Grants a lock, or queues the request. New requests wait after earlier ones, even for a shared lock, so that
 * none waits for ever. */
static void lock_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head)
{
    if (peer->holds != LOCK_NONE || (head->cookie != LOCK_SHARED && head->cookie != LOCK_EXCLUSIVE))
        piece_is_bad(peer, head, "it holds the lock already, or the lock's kind is invalid");
    peer->waits_for = (enum lock_state)head->cookie;
    if (!win->first_waiting && may_hold(win, peer->waits_for)) {
        grant(win, peer, peer->waits_for);
        return;
    }
    peer->holds = LOCK_WAITS;
    peer->next_waiting = NULL;
    *(win->last_waiting ? &win->last_waiting->next_waiting : &win->first_waiting) = peer;
    win->last_waiting = peer;
}

static void acknowledge(struct mpi_win *win, struct rma_peer *peer)
{
    bool was_refused = peer->was_refused;

    peer->was_refused = false;
    rma_post(win, peer, RMA_ACKNOWLEDGE, 0, was_refused, NULL, 0);
}

static void unlock_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head)
{
    if (peer->holds != LOCK_SHARED && peer->holds != LOCK_EXCLUSIVE)
        piece_is_bad(peer, head, "an unlock without a lock");
    peer->holds = LOCK_NONE;
    win->holders--;
    win->is_exclusive = false;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* of shared memory: the next holder sees what this one stored */
    acknowledge(win, peer);
    while (win->first_waiting && may_hold(win, win->first_waiting->waits_for)) {
        struct rma_peer *next = win->first_waiting;

        win->first_waiting = next->next_waiting;
        if (!win->first_waiting)
            win->last_waiting = NULL;
        grant(win, next, next->waits_for);
    }
}

static void complete_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head)
{
    if (!peer->is_exposed_to)
        piece_is_bad(peer, head, "it completes an access that MPI_Win_post has not allowed");
    peer->is_exposed_to = false;
    win->exposed--;
}

/* ---- What arrives ---- */

void rma_arrived(struct mpi_win *win, struct rma_peer *peer, const struct head *head, const void *data,
                 size_t bytes)
{
    if (bytes && head->tag >= RMA_FLUSH && head->tag != RMA_ANSWER)
        piece_is_bad(peer, head, "it has data");
    switch (head->tag) {
    case RMA_PUT:
    case RMA_ACCUMULATE:
        write_arrived(win, peer, head, data, bytes);
        return;
    case RMA_GET:
    case RMA_FETCH:
    case RMA_SWAP:
        read_arrived(win, peer, head, data, bytes);
        return;
    case RMA_FLUSH:
        acknowledge(win, peer);
        return;
    case RMA_UNLOCK:
        unlock_arrived(win, peer, head);
        return;
    case RMA_COMPLETE:
        complete_arrived(win, peer, head);
        return;
    case RMA_LOCK:
        lock_arrived(win, peer, head);
        return;
    default:
        rma_answered(win, peer, head, data, bytes);
    }
}

/* Handles a head of HEAD_WINDOW from a rank of the world. */
static void window_arrived(int world, const struct head *head, const void *data, size_t bytes)
{
    struct mpi_win *win = window_find(head->context);

    if (!win || head->source >= win->comm->size || win->peers[head->source].world != world || head->tag < 0 ||
        head->tag >= RMA_KINDS || head->bytes != bytes)
        mpi_abort(1, "rank %d has sent an invalid message of kind %d for a window, with %zu bytes", world,
                  head->tag, bytes);
    rma_arrived(win, &win->peers[head->source], head, data, bytes);
}

void window_begin(void)
{
    message_windows_take(window_arrived);
}
