/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma.c: the program's one-sided operations: their checks, and how they are carried out.
 *
 * The ranks know each other's sizes, so an operation outside the target's window is refused here. Puts and
 * gets between buffers that this process maps are copies; everything else goes through rma_origin.c.
 * Accumulations always do, even to this process itself, so that only the target changes its elements.
 *
 * Runs under the library's lock. Source: MPI 3.1 §11.3.
 */
#include "window/window.h"
#include "type/type_make.h"
#include <string.h>

/* One side of an operation: `count` elements at `buffer`. */
struct side {
    const void *buffer;
    int count;
    struct mpi_datatype *type;
};

/* The arguments of a call. */
struct call {
    const char *name;
    enum rma_kind kind;
    struct side origin, result, target;
    int rank;
    MPI_Aint disp;
    struct mpi_op *op;
    const void *compare;
    struct mpi_win *win;
    bool has_request;
    struct mpi_request **request;
};

static size_t side_bytes(const struct side *side)
{
    return side->type ? (size_t)side->count * side->type->bytes : 0;
}

/* ---- Checks ---- */

static int check_side(const struct side *side, const char *name, bool has_buffer)
{
    if (side->count < 0)
        return mpi_error(MPI_ERR_COUNT, "argument %s_count: %d is negative", name, side->count);
    if (side->type == MPI_DATATYPE_NULL)
        return mpi_error(MPI_ERR_TYPE, "argument %s_type: MPI_DATATYPE_NULL", name);
    if (!side->type->committed)
        return mpi_error(MPI_ERR_TYPE, "argument %s_type: %s", name, type_flaw(side->type));
    if (has_buffer && !side->buffer && side_bytes(side) && side->type->dense)
        return mpi_error(MPI_ERR_BUFFER, "argument %s: NULL, with a count of %d", name, side->count);
    return MPI_SUCCESS;
}

static bool uses_origin(const struct call *call)
{
    return call->kind != RMA_GET && call->op != MPI_NO_OP;
}

static bool uses_result(const struct call *call)
{
    return call->kind == RMA_GET || call->kind == RMA_FETCH || call->kind == RMA_SWAP;
}

static bool accumulates(const struct call *call)
{
    return call->kind == RMA_ACCUMULATE || call->kind == RMA_FETCH;
}

/* Returns the argument's name of the buffer that receives data. */
static const char *result_name(const struct call *call)
{
    return call->kind == RMA_GET ? "origin" : "result";
}

static int check_sides(const struct call *call)
{
    int error = MPI_SUCCESS;

    if (uses_origin(call))
        error = check_side(&call->origin, "origin", true);
    if (!error && uses_result(call))
        error = check_side(&call->result, result_name(call), true);
    if (!error)
        error = check_side(&call->target, "target", false);
    return error;
}

static int check_rank(const struct call *call)
{
    if (call->rank != MPI_PROC_NULL && (call->rank < 0 || call->rank >= call->win->comm->size))
        return mpi_error(MPI_ERR_RANK, "argument target_rank: %d is no rank of a window of %d", call->rank,
                         call->win->comm->size);
    return MPI_SUCCESS;
}

static int check_epoch(const struct call *call)
{
    const struct mpi_win *win = call->win;
    bool is_passive = win->access == ACCESS_LOCK || win->access == ACCESS_LOCK_ALL;

    if (call->has_request && !is_passive)
        return mpi_error(MPI_ERR_RMA_SYNC,
                         "this call needs a lock: call MPI_Win_lock or MPI_Win_lock_all first");
    if (win->access == ACCESS_NONE)
        return mpi_error(MPI_ERR_RMA_SYNC,
                         "no access to the window has begun: call MPI_Win_fence, MPI_Win_start, "
                         "MPI_Win_lock or MPI_Win_lock_all first");
    if (win->access == ACCESS_START && !win->peers[call->rank].is_started)
        return mpi_error(MPI_ERR_RMA_SYNC, "argument target_rank: %d is not in the group of MPI_Win_start",
                         call->rank);
    if (win->access == ACCESS_LOCK && win->peers[call->rank].lock == LOCK_NONE)
        return mpi_error(MPI_ERR_RMA_SYNC, "argument target_rank: this process has not locked rank %d",
                         call->rank);
    return MPI_SUCCESS;
}

/* Computes the number of bytes, and checks that they fit. */
static int check_sizes(const struct call *call, size_t *bytes)
{
    size_t target = side_bytes(&call->target);

    *bytes = uses_origin(call) ? side_bytes(&call->origin) : target;
    if (*bytes > target)
        return mpi_error(MPI_ERR_TRUNCATE, "%zu bytes at the origin, and room for %zu at the target", *bytes,
                         target);
    if (uses_result(call) && *bytes > side_bytes(&call->result))
        return mpi_error(MPI_ERR_TRUNCATE, "argument %s_count: room for %zu of %zu bytes", result_name(call),
                         side_bytes(&call->result), *bytes);
    return MPI_SUCCESS;
}

/* Checks the displacement. *offset is in the target's window, in bytes; in a dynamic window the address. */
static int check_place(const struct call *call, MPI_Aint *offset)
{
    const struct rma_peer *peer = &call->win->peers[call->rank];
    MPI_Aint begin, low, high;

    *offset = call->disp;
    if (call->win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return MPI_SUCCESS; /* only the target knows what is attached */
    if (call->disp < 0)
        return mpi_error(MPI_ERR_DISP, "argument target_disp: %lld is negative", (long long)call->disp);
    if (side_bytes(&call->target) == 0)
        return MPI_SUCCESS;
    MPI_Aint span = (MPI_Aint)type_span(call->target.type, (size_t)call->target.count, &begin);
    if (__builtin_mul_overflow(call->disp, (MPI_Aint)peer->disp_unit, offset) ||
        __builtin_add_overflow(*offset, begin, &low) || __builtin_add_overflow(low, span, &high) || low < 0 ||
        high > peer->size)
        return mpi_error(MPI_ERR_RMA_RANGE,
                         "argument target_disp: %lld, in units of %d bytes, with %lld bytes from %lld on, is "
                         "not within the %lld bytes of rank %d",
                         (long long)call->disp, peer->disp_unit, (long long)span, (long long)begin,
                         (long long)peer->size, call->rank);
    return MPI_SUCCESS;
}

static int check_op(const struct call *call)
{
    if (call->op == MPI_OP_NULL)
        return mpi_error(MPI_ERR_OP, "argument op: MPI_OP_NULL");
    int error = check_live(call->op->references, MPI_ERR_OP, "op");
    if (error)
        return error;
    if (!call->op->predefined)
        return mpi_error(MPI_ERR_OP, "argument op: an operation of the program's own; one-sided "
                                     "communication takes predefined ones");
    if (call->op == MPI_NO_OP && call->kind == RMA_ACCUMULATE)
        return mpi_error(MPI_ERR_OP, "argument op: MPI_NO_OP, which only calls that fetch take");
    return MPI_SUCCESS;
}

/* Finds the type of the elements that an accumulation combines. MPI_REPLACE and MPI_NO_OP take any. */
static int basic_find(const struct call *call, size_t bytes, struct mpi_datatype **basic)
{
    bool combines = call->op != MPI_REPLACE && call->op != MPI_NO_OP;

    *basic = type_basic(call->target.type);
    if (!*basic && !combines)
        *basic = MPI_BYTE;
    if (!*basic)
        return mpi_error(MPI_ERR_TYPE, "argument target_type: it is made of several predefined types");
    if (uses_origin(call) && combines && type_basic(call->origin.type) != *basic)
        return mpi_error(MPI_ERR_TYPE, "argument origin_type: its elements are not those of target_type, %s",
                         (*basic)->name);
    if (bytes % (*basic)->bytes)
        return mpi_error(MPI_ERR_TYPE, "%zu bytes are not a whole number of elements of %s", bytes,
                         (*basic)->name);
    return combines ? op_check(call->op, *basic) : MPI_SUCCESS;
}

/* ---- What a call comes to ---- */

static int done_give(const struct call *call)
{
    if (!call->has_request)
        return MPI_SUCCESS;
    *call->request = request_done_make(REQUEST_RMA, call->win->comm);
    return *call->request ? MPI_SUCCESS : mpi_out_of_memory();
}

/* Returns the target's memory if a copy is allowed; NULL if not, e.g. while a lock is requested that must
 * come before it. */
static unsigned char *direct_place(const struct call *call, MPI_Aint offset)
{
    const struct mpi_win *win = call->win;
    const struct rma_peer *peer = &win->peers[call->rank];
    bool is_locked = win->access != ACCESS_LOCK_ALL || win->is_unchecked ||
                     (peer->lock != LOCK_NONE && peer->lock != LOCK_WAITS);

    return peer->direct && is_locked ? peer->direct + offset : NULL;
}

/* Makes a request that a wait finds, and the operation completes. */
static int request_give(const struct call *call, struct rma_op *op)
{
    op->request = request_make(REQUEST_RMA, call->win->comm);
    if (!op->request)
        return mpi_out_of_memory();
    status_empty(&op->request->status, MPI_ANY_SOURCE);
    *call->request = op->request;
    return MPI_SUCCESS;
}

static int operation_begin(const struct call *call, MPI_Aint offset, size_t bytes, struct mpi_datatype *basic)
{
    struct rma_op op = {
        .kind = call->kind,
        .origin = call->origin.buffer,
        .compare = call->compare,
        .result = (void *)(uintptr_t)call->result.buffer,
        .origin_count = (size_t)call->origin.count,
        .result_count = (size_t)call->result.count,
        .target_count = (size_t)call->target.count,
        .origin_type = uses_origin(call) ? call->origin.type : NULL,
        .result_type = uses_result(call) ? call->result.type : NULL,
        .target_type = call->target.type,
        .offset = offset,
        .basic = basic,
        .op = call->op,
        .unit = basic ? basic->bytes : 1,
        .bytes = bytes,
    };
    int error = call->has_request ? request_give(call, &op) : MPI_SUCCESS;

    return error ? error : rma_begin(call->win, call->rank, &op);
}

static int call_run(const struct call *call)
{
    struct mpi_datatype *basic = NULL;
    MPI_Aint offset = 0;
    size_t bytes = 0;
    int error = accumulates(call) ? check_op(call) : MPI_SUCCESS;

    if (!error && call->has_request) {
        error = check_output(call->request, "request");
        progress_poll(); /* as calls that complete do (rma_sync.c) */
    }
    if (!error)
        error = check_sides(call);
    if (!error)
        error = check_rank(call);
    if (error)
        return error;
    if (call->rank == MPI_PROC_NULL)
        return done_give(call);
    error = check_epoch(call);
    if (!error)
        error = check_sizes(call, &bytes);
    if (!error)
        error = check_place(call, &offset);
    if (!error && accumulates(call) && bytes)
        error = basic_find(call, bytes, &basic);
    if (error)
        return error;
    call->win->fence_is_used = true;
    if (bytes == 0)
        return done_give(call);
    unsigned char *place = direct_place(call, offset);
    if (place && call->kind == RMA_PUT)
        (void)type_copy(call->origin.buffer, (size_t)call->origin.count, call->origin.type, place,
                        (size_t)call->target.count,
                        call->target.type); /* check_sizes has checked that it fits */
    else if (place && call->kind == RMA_GET)
        (void)type_copy(place, (size_t)call->target.count, call->target.type,
                        (void *)(uintptr_t)call->result.buffer, (size_t)call->result.count,
                        call->result.type);
    else
        return operation_begin(call, offset, bytes, basic);
    return done_give(call);
}

static int call_make(const struct call *call)
{
    mpi_enter();
    int error = check_window(call->win);
    struct mpi_win *heard = error ? NULL : call->win;
    if (!error)
        error = call_run(call);
    error = mpi_return_win(heard, call->name, error);
    mpi_leave();
    return error;
}

/* ---- The calls ---- */

/* Arguments that several calls share, by the standard's names. */
#define AT_TARGET \
    .target = { NULL, target_count, target_type }, .rank = target_rank, .disp = target_disp, .win = win
#define WITH_REQUEST .has_request = true, .request = request

int PMPI_Put(const void *origin, int origin_count, MPI_Datatype origin_type, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win)
{
    return call_make(&(struct call){
        .name = "MPI_Put",
        .kind = RMA_PUT,
        .origin = { origin, origin_count, origin_type },
        AT_TARGET,
    });
}
MPI_ALIAS(Put);

int PMPI_Rput(const void *origin, int origin_count, MPI_Datatype origin_type, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win,
              MPI_Request *request)
{
    return call_make(&(struct call){
        .name = "MPI_Rput",
        .kind = RMA_PUT,
        .origin = { origin, origin_count, origin_type },
        AT_TARGET,
        WITH_REQUEST,
    });
}
MPI_ALIAS(Rput);

int PMPI_Get(void *origin, int origin_count, MPI_Datatype origin_type, int target_rank, MPI_Aint target_disp,
             int target_count, MPI_Datatype target_type, MPI_Win win)
{
    return call_make(&(struct call){
        .name = "MPI_Get",
        .kind = RMA_GET,
        .result = { origin, origin_count, origin_type },
        AT_TARGET,
    });
}
MPI_ALIAS(Get);

int PMPI_Rget(void *origin, int origin_count, MPI_Datatype origin_type, int target_rank, MPI_Aint target_disp,
              int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request *request)
{
    return call_make(&(struct call){
        .name = "MPI_Rget",
        .kind = RMA_GET,
        .result = { origin, origin_count, origin_type },
        AT_TARGET,
        WITH_REQUEST,
    });
}
MPI_ALIAS(Rget);

int PMPI_Accumulate(const void *origin, int origin_count, MPI_Datatype origin_type, int target_rank,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
    return call_make(&(struct call){
        .name = "MPI_Accumulate",
        .kind = RMA_ACCUMULATE,
        .origin = { origin, origin_count, origin_type },
        .op = op,
        AT_TARGET,
    });
}
MPI_ALIAS(Accumulate);

int PMPI_Raccumulate(const void *origin, int origin_count, MPI_Datatype origin_type, int target_rank,
                     MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                     MPI_Request *request)
{
    return call_make(&(struct call){
        .name = "MPI_Raccumulate",
        .kind = RMA_ACCUMULATE,
        .origin = { origin, origin_count, origin_type },
        .op = op,
        AT_TARGET,
        WITH_REQUEST,
    });
}
MPI_ALIAS(Raccumulate);

int PMPI_Get_accumulate(const void *origin, int origin_count, MPI_Datatype origin_type, void *result,
                        int result_count, MPI_Datatype result_type, int target_rank, MPI_Aint target_disp,
                        int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
    return call_make(&(struct call){
        .name = "MPI_Get_accumulate",
        .kind = RMA_FETCH,
        .origin = { origin, origin_count, origin_type },
        .result = { result, result_count, result_type },
        .op = op,
        AT_TARGET,
    });
}
MPI_ALIAS(Get_accumulate);

int PMPI_Rget_accumulate(const void *origin, int origin_count, MPI_Datatype origin_type, void *result,
                         int result_count, MPI_Datatype result_type, int target_rank, MPI_Aint target_disp,
                         int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                         MPI_Request *request)
{
    return call_make(&(struct call){
        .name = "MPI_Rget_accumulate",
        .kind = RMA_FETCH,
        .origin = { origin, origin_count, origin_type },
        .result = { result, result_count, result_type },
        .op = op,
        AT_TARGET,
        WITH_REQUEST,
    });
}
MPI_ALIAS(Rget_accumulate);

/* ---- One element ---- */

static int single_make(const struct call *call, bool compares)
{
    const struct mpi_datatype *type = call->target.type;
    int kinds = 1 << KIND_SIGNED | 1 << KIND_UNSIGNED | 1 << KIND_LOGICAL | 1 << KIND_BYTE;

    mpi_enter();
    int error = check_window(call->win);
    struct mpi_win *heard = error ? NULL : call->win;
    if (!error && type == MPI_DATATYPE_NULL)
        error = mpi_error(MPI_ERR_TYPE, "argument datatype: MPI_DATATYPE_NULL");
    if (!error)
        error = check_live(type->kind != KIND_ENDED, MPI_ERR_TYPE, "datatype");
    if (!error && (!type->predefined || !type->bytes))
        error = mpi_error(MPI_ERR_TYPE, "argument datatype: it is not a predefined type with data");
    if (!error && compares && !(kinds >> type->kind & 1))
        error = mpi_error(MPI_ERR_TYPE, "argument datatype: %s is no type of integers, logicals or bytes",
                          type->name);
    if (!error && compares && !call->compare)
        error = mpi_error(MPI_ERR_BUFFER, "argument compare: NULL");
    if (!error)
        error = call_run(call);
    error = mpi_return_win(heard, call->name, error);
    mpi_leave();
    return error;
}

int PMPI_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target_rank,
                      MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    const struct call call = {
        .name = "MPI_Fetch_and_op",
        .kind = RMA_FETCH,
        .origin = { origin, 1, type },
        .result = { result, 1, type },
        .target = { NULL, 1, type },
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
    };

    return single_make(&call, false);
}
MPI_ALIAS(Fetch_and_op);

int PMPI_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                          int target_rank, MPI_Aint target_disp, MPI_Win win)
{
    const struct call call = {
        .name = "MPI_Compare_and_swap",
        .kind = RMA_SWAP,
        .origin = { origin, 1, type },
        .result = { result, 1, type },
        .target = { NULL, 1, type },
        .rank = target_rank,
        .disp = target_disp,
        .compare = compare,
        .win = win,
    };

    return single_make(&call, true);
}
MPI_ALIAS(Compare_and_swap);
