/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma_origin.c: sends operations in pieces, each a message, as the transport has room for them, so that an
 * operation of any size takes no memory in addition to its buffers. An incomplete operation stays in the
 * queue of its target; later operations, flushes and unlocks go through the same queue.
 *
 * A piece that asks for data gets an answer. A target answers in order, so an answer belongs to the oldest
 * operation that still expects one. The number of expected answer bytes is limited, because the target must
 * keep answers for which there is no room.
 *
 * Runs under the library's lock.
 */
#include "window/window.h"
#include <stdlib.h>
#include <string.h>

#define ANSWERS_MAX (256 << 10) /* bytes, from one target */

static struct rma_op *ops_free;
static struct rma_peer *active;
static struct rma_peer **active_last = &active;

/* ---- Operations ---- */

static bool has_data(const struct rma_op *op)
{
    return op->kind == RMA_PUT || op->kind == RMA_ACCUMULATE || op->kind == RMA_SWAP ||
           (op->kind == RMA_FETCH && op->op != MPI_NO_OP);
}

static bool has_answer(const struct rma_op *op)
{
    return op->kind == RMA_GET || op->kind == RMA_FETCH || op->kind == RMA_SWAP;
}

static void type_drop(struct mpi_datatype *type)
{
    if (type)
        type_release(type);
}

static void op_free(struct rma_op *op)
{
    type_drop(op->origin_type);
    type_drop(op->result_type);
    type_drop(op->target_type);
    op->next = ops_free;
    ops_free = op;
}

static void op_complete(struct rma_op *op)
{
    if (op->request)
        request_complete(op->request);
    op->request = NULL;
}

static struct rma_op *op_make(const struct rma_op *from)
{
    struct rma_op *op = ops_free;

    if (op)
        ops_free = op->next;
    else
        op = malloc(sizeof(*op));
    if (!op)
        return NULL;
    *op = *from;
    if (op->origin_type)
        type_hold(op->origin_type);
    if (op->result_type)
        type_hold(op->result_type);
    if (op->target_type)
        type_hold(op->target_type);
    return op;
}

/* ---- Messages ---- */

static bool is_own(const struct mpi_win *win, const struct rma_peer *peer)
{
    return peer->rank == win->comm->rank;
}

size_t rma_room(const struct mpi_win *win, const struct rma_peer *peer)
{
    size_t room = is_own(win, peer) ? PIECE_MAX : message_fragment(peer->world);

    return room < PIECE_MAX ? room : PIECE_MAX;
}

static struct head head_of(const struct mpi_win *win, enum rma_kind kind, size_t bytes, uint64_t cookie,
                           uint64_t other)
{
    return (struct head){
        .context = win->comm->context,
        .tag = kind,
        .source = win->comm->rank,
        .kind = HEAD_WINDOW,
        .bytes = bytes,
        .cookie = cookie,
        .other = other,
    };
}

void rma_post(struct mpi_win *win, struct rma_peer *peer, enum rma_kind kind, uint64_t cookie, uint64_t other,
              const void *data, size_t bytes)
{
    const struct head head = head_of(win, kind, bytes, cookie, other);

    if (is_own(win, peer))
        rma_arrived(win, peer, &head, data, bytes);
    else
        message_post(peer->world, &head, data, bytes);
}

/* Sends a message to a rank, which may be this one. Returns false if there is no room. */
static bool message_go(struct mpi_win *win, struct rma_peer *peer, const struct head *head, const void *data)
{
    if (!is_own(win, peer))
        return message_try(peer->world, head, data, (size_t)head->bytes);
    rma_arrived(win, peer, head, data, (size_t)head->bytes);
    return true;
}

/* ---- Pieces ---- */

/* Finds the runs of the next piece, which fits into `room` with its data; returns how many bytes it moves. A
 * strided run that is cut may become two. */
static size_t piece_fit(const struct rma_op *op, size_t room, struct run_wire *runs, size_t *used)
{
    size_t copies = op->kind == RMA_SWAP ? 2 : has_data(op);
    size_t max = (copies ? room / 2 : room) / sizeof(*runs), bytes = op->bytes - op->sent, found = 0;

    bytes = bytes < room ? bytes : room;
    do {
        bytes -= bytes % op->unit;
        found = type_runs(op->target_type, op->target_count, op->offset, op->sent, bytes, runs, max, used);
        bytes = found;
        if (*used * sizeof(*runs) + copies * found > room)
            bytes = (room - (*used + 1) * sizeof(*runs)) / copies;
    } while (bytes != found || found % op->unit);
    if (!found)
        mpi_abort(1, "no element of %zu bytes fits into a message of %zu", op->unit, room);
    return found;
}

static bool piece_send(struct mpi_win *win, struct rma_peer *peer, struct rma_op *op)
{
    static _Alignas(16) unsigned char piece[PIECE_MAX];
    size_t used, moved;

    if (has_answer(op) && peer->answers >= ANSWERS_MAX)
        return false;
    moved = piece_fit(op, rma_room(win, peer), (struct run_wire *)(void *)piece, &used);
    size_t bytes = used * sizeof(struct run_wire);
    if (has_data(op)) {
        type_pack(op->origin, op->origin_count, op->origin_type, op->sent, moved, piece + bytes);
        bytes += moved;
    }
    if (op->kind == RMA_SWAP) {
        memcpy(piece + bytes, op->compare, moved);
        bytes += moved;
    }
    uint64_t word = piece_word(used, op->basic ? type_code(op->basic) : 0, op->op ? op_code(op->op) : 0);
    const struct head head = head_of(win, op->kind, bytes, word, moved);
    /* Recorded before the send: this process's own answer comes at once. */
    op->sent += moved;
    if (has_answer(op)) {
        peer->answers += moved;
        if (!op->is_awaited) {
            *(peer->last_answer ? &peer->last_answer->next_answer : &peer->first_answer) = op;
            peer->last_answer = op;
            op->next_answer = NULL;
            op->is_awaited = true;
        }
    }
    return message_go(win, peer, &head, piece);
}

/* Takes back what piece_send has recorded, if there was no room. */
static void piece_take_back(struct rma_peer *peer, struct rma_op *op, size_t sent)
{
    if (has_answer(op))
        peer->answers -= op->sent - sent;
    op->sent = sent;
}

/* Sends as much of an operation as there is room for; returns whether all of it is sent. */
static bool op_send(struct mpi_win *win, struct rma_peer *peer, struct rma_op *op, bool *moved)
{
    if (op->kind >= RMA_FLUSH) {
        const struct head head = head_of(win, op->kind, 0, 0, 0);

        return message_go(win, peer, &head, NULL);
    }
    while (op->sent < op->bytes) {
        size_t sent = op->sent;

        if (!piece_send(win, peer, op)) {
            piece_take_back(peer, op, sent);
            return false;
        }
        *moved = true;
    }
    if (!has_answer(op))
        op_complete(op);
    return true;
}

/* ---- Queues ---- */

static bool queue_send(struct rma_peer *peer)
{
    bool moved = false;

    while (peer->first && peer->lock != LOCK_WAITS && op_send(peer->win, peer, peer->first, &moved)) {
        struct rma_op *op = peer->first;

        moved = true;
        peer->first = op->next;
        if (!peer->first)
            peer->last = NULL;
        op->is_queued = false;
        if (!op->is_awaited)
            op_free(op);
    }
    return moved;
}

bool window_progress(void)
{
    bool moved = false;

    for (struct rma_peer **link = &active; *link;) {
        struct rma_peer *peer = *link;

        moved |= queue_send(peer);
        peer->is_active = peer->first != NULL;
        if (peer->is_active) {
            link = &peer->next_active;
            continue;
        }
        *link = peer->next_active;
        if (!*link)
            active_last = link;
    }
    return moved;
}

static void queue_add(struct rma_peer *peer, struct rma_op *op)
{
    bool was_empty = !peer->first;

    op->is_queued = true;
    *(peer->last ? &peer->last->next : &peer->first) = op;
    op->next = NULL;
    peer->last = op;
    if (was_empty)
        queue_send(peer);
    if (!peer->first || peer->is_active)
        return;
    peer->is_active = true;
    peer->next_active = NULL;
    *active_last = peer;
    active_last = &peer->next_active;
    progress_add(window_progress);
}

int rma_begin(struct mpi_win *win, int rank, const struct rma_op *from)
{
    struct rma_peer *peer = &win->peers[rank];
    struct rma_op *op = op_make(from);

    if (!op)
        return mpi_out_of_memory();
    if (win->access == ACCESS_LOCK_ALL && !win->is_unchecked && peer->lock == LOCK_NONE)
        rma_lock_request(win, peer, LOCK_SHARED);
    peer->is_dirty = true;
    queue_add(peer, op);
    return MPI_SUCCESS;
}

int rma_close(struct mpi_win *win, int rank, enum rma_kind kind)
{
    const struct rma_op closing = { .kind = kind };
    struct rma_peer *peer = &win->peers[rank];
    struct rma_op *op = op_make(&closing);

    if (!op)
        return mpi_out_of_memory();
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* stores to shared memory come before it */
    peer->is_dirty = false;
    peer->requested += kind != RMA_COMPLETE;
    queue_add(peer, op);
    return MPI_SUCCESS;
}

/* ---- Answers ---- */

struct closing {
    const struct rma_peer *peer;
    uint64_t number;
};

static bool is_closed(void *argument)
{
    const struct closing *closing = argument;

    return closing->peer->acknowledged >= closing->number;
}

int rma_wait_closed(struct rma_peer *peer)
{
    struct closing closing = { peer, peer->requested };

    progress_wait(is_closed, &closing);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!peer->has_failed)
        return MPI_SUCCESS;
    peer->has_failed = false;
    return mpi_error(MPI_ERR_RMA_RANGE, "rank %d has refused an access to memory that is not attached there",
                     peer->rank);
}

bool rma_is_local(const struct rma_peer *peer)
{
    return !peer->first && !peer->first_answer;
}

void rma_lock_request(struct mpi_win *win, struct rma_peer *peer, enum lock_state requested)
{
    peer->lock = LOCK_WAITS;
    rma_post(win, peer, RMA_LOCK, requested, 0, NULL, 0);
}

static void answer_take(struct rma_peer *peer, const struct head *head, const void *data, size_t bytes)
{
    struct rma_op *op = peer->first_answer;
    bool failed = head->other != 0;

    if (!op || !head->cookie || head->cookie > op->sent - op->answered ||
        bytes != (failed ? 0 : head->cookie))
        mpi_abort(1, "rank %d has answered with %zu bytes that were not requested", peer->world, bytes);
    if (failed) {
        peer->has_failed = true;
        if (op->request)
            op->request->error = MPI_ERR_RMA_RANGE;
    } else {
        type_unpack(op->result, op->result_count, op->result_type, op->answered, bytes, data);
    }
    op->answered += (size_t)head->cookie;
    peer->answers -= (size_t)head->cookie;
    if (op->answered < op->bytes)
        return;
    peer->first_answer = op->next_answer;
    if (!peer->first_answer)
        peer->last_answer = NULL;
    op->is_awaited = false;
    op_complete(op);
    if (!op->is_queued)
        op_free(op);
}

void rma_answered(struct mpi_win *win, struct rma_peer *peer, const struct head *head, const void *data,
                  size_t bytes)
{
    switch (head->tag) {
    case RMA_ANSWER:
        answer_take(peer, head, data, bytes);
        return;
    case RMA_ACKNOWLEDGE:
        if (peer->acknowledged == peer->requested)
            mpi_abort(1, "rank %d acknowledges an operation that was not requested", peer->world);
        peer->acknowledged++;
        peer->has_failed |= head->other != 0;
        return;
    case RMA_GRANT:
        if (peer->lock != LOCK_WAITS || (head->cookie != LOCK_SHARED && head->cookie != LOCK_EXCLUSIVE))
            mpi_abort(1, "rank %d grants a lock that was not requested", peer->world);
        peer->lock = (enum lock_state)head->cookie;
        return;
    default: /* RMA_POST */
        peer->posts++;
        (void)win;
    }
}
