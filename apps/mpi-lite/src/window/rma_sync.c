/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma_sync.c: when accesses begin and are complete: fences, groups (start, complete, post, wait), locks and
 * flushes.
 *
 *   fence      flushes all, then a barrier
 *   post       a message to each member of the group, for which start waits. Each member of start's group
 *              completes by a message after its operations, for which wait waits
 *   lock       a message, and a wait for its grant; MPI_Win_lock_all asks a rank at the first operation on
 *              it, but at once if this process reaches the memory by loads and stores: its own memory, and
 *              all of a shared window
 *   flush      a message after the operations, and its acknowledgement
 *
 * Targets do their part in any call that makes progress. Assertions are checked. As they only promise what
 * need not be done, they are otherwise ignored, except MPI_MODE_NOSUCCEED, and MPI_MODE_NOCHECK of locks.
 * Every call here makes progress, so a program may wait for a value by calling one repeatedly.
 *
 * Runs under the library's lock. Source: MPI 3.1 §11.4, §11.5, §11.7.
 */
#include "window/window.h"
#include <stdlib.h>

/* Orders this process's own loads and stores, and its copies, before what follows. */
static void memory_order(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ---- Checks ---- */

static int check_assertion(int assertion, int allowed)
{
    if (assertion & ~allowed)
        return mpi_error(MPI_ERR_ASSERT, "argument assert: %d has bits that this call does not take",
                         assertion);
    return MPI_SUCCESS;
}

static int check_window_rank(const struct mpi_win *win, int rank)
{
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= win->comm->size))
        return mpi_error(MPI_ERR_RANK, "argument rank: %d is no rank of a window of %d", rank,
                         win->comm->size);
    return MPI_SUCCESS;
}

static const char *access_says(const struct mpi_win *win)
{
    switch (win->access) {
    case ACCESS_NONE:
        return "no access has begun";
    case ACCESS_FENCE:
        return "MPI_Win_fence has begun an access, with operations that no fence has completed";
    case ACCESS_START:
        return "MPI_Win_start has begun an access; MPI_Win_complete ends it";
    case ACCESS_LOCK:
        return "MPI_Win_lock has begun an access; MPI_Win_unlock ends it";
    case ACCESS_LOCK_ALL:
        return "MPI_Win_lock_all has begun an access; MPI_Win_unlock_all ends it";
    }
    return "";
}

/* Checks that no access is in progress. A fence without operations after it may have been the last one. */
static int check_no_access(const struct mpi_win *win)
{
    if (win->access == ACCESS_NONE || (win->access == ACCESS_FENCE && !win->fence_is_used))
        return MPI_SUCCESS;
    return mpi_error(MPI_ERR_RMA_SYNC, "%s", access_says(win));
}

static int check_access(const struct mpi_win *win, enum access_epoch requested, const char *opener)
{
    if (win->access == requested)
        return MPI_SUCCESS;
    return mpi_error(MPI_ERR_RMA_SYNC, "%s has not begun an access: %s", opener, access_says(win));
}

/* ---- Completion ----
 *
 * Operations on this rank itself, or on memory that it maps, are done at once. A program may call these
 * functions in a loop until another rank has written to such memory, so they make progress for others, too.
 */

/* Flushes all ranks with incomplete operations, and waits for them. Locks stay. */
static int all_flush(struct mpi_win *win)
{
    int error = MPI_SUCCESS;

    memory_order();
    for (int i = 0; i < win->comm->size && !error; i++)
        if (win->peers[i].is_dirty)
            error = rma_close(win, i, RMA_FLUSH);
    for (int i = 0; i < win->comm->size; i++) {
        int here = rma_wait_closed(&win->peers[i]);

        error = error ? error : here;
    }
    return error;
}

static int one_flush(struct mpi_win *win, int rank)
{
    struct rma_peer *peer = &win->peers[rank];
    int error = MPI_SUCCESS;

    memory_order();
    progress_poll();
    if (peer->is_dirty)
        error = rma_close(win, rank, RMA_FLUSH);
    int waited = rma_wait_closed(peer);
    return error ? error : waited;
}

static bool peer_is_local(void *argument)
{
    return rma_is_local(argument);
}

static void local_wait(struct rma_peer *peer)
{
    memory_order();
    if (!rma_is_local(peer))
        progress_wait(peer_is_local, peer);
}

/* ---- Fences ---- */

static int Win_fence(int assertion, MPI_Win win)
{
    int error = check_assertion(assertion,
                                MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);

    if (error)
        return error;
    if (win->access > ACCESS_FENCE)
        return mpi_error(MPI_ERR_RMA_SYNC, "%s", access_says(win));
    if (win->is_posted)
        return mpi_error(MPI_ERR_RMA_SYNC, "MPI_Win_post has opened the window; MPI_Win_wait closes it");
    error = all_flush(win);
    int barrier_error = PMPI_Barrier(win->comm);
    memory_order();
    win->access = assertion & MPI_MODE_NOSUCCEED ? ACCESS_NONE : ACCESS_FENCE;
    win->fence_is_used = false;
    return error ? error : barrier_error;
}
MPI_CALL(Win_fence);

/* ---- Groups ---- */

/* Finds the window's ranks of a group. The caller frees *ranks. */
static int ranks_find(const struct mpi_win *win, const struct mpi_group *group, int **ranks)
{
    int *index = group_index(win->comm->group);
    int error = MPI_SUCCESS;

    *ranks = calloc((size_t)group->size + 1, sizeof(int));
    if (!index || !*ranks)
        error = mpi_out_of_memory();
    for (int i = 0; i < group->size && !error; i++) {
        (*ranks)[i] = index[group->world[i]] - 1;
        if ((*ranks)[i] < 0)
            error = mpi_error(MPI_ERR_GROUP, "argument group: its rank %d is not in the window's group", i);
    }
    free(index);
    if (error) {
        free(*ranks);
        *ranks = NULL;
    }
    return error;
}

static bool has_posted(void *argument)
{
    const struct rma_peer *peer = argument;

    return peer->posts > 0;
}

static int Win_start(MPI_Group group, int assertion, MPI_Win win)
{
    int *ranks = NULL;
    int error = check_assertion(assertion, MPI_MODE_NOCHECK);

    if (error)
        return error;
    error = check_no_access(win);
    if (error)
        return error;
    error = ranks_find(win, group, &ranks);
    if (error)
        return error;
    win->access = ACCESS_START;
    win->started = ranks;
    win->started_count = group->size;
    for (int i = 0; i < win->started_count; i++) {
        struct rma_peer *peer = &win->peers[ranks[i]];

        progress_wait(has_posted, peer);
        peer->posts--;
        peer->is_started = true;
    }
    memory_order();
    return MPI_SUCCESS;
}
MPI_CALL(Win_start);

/* Completes an access. In a dynamic window it flushes first, because otherwise no message would carry a
 * target's refusal. */
static int started_complete(struct mpi_win *win)
{
    int error = win->flavor == MPI_WIN_FLAVOR_DYNAMIC ? all_flush(win) : MPI_SUCCESS;

    memory_order();
    for (int i = 0; i < win->started_count; i++) {
        int here = rma_close(win, win->started[i], RMA_COMPLETE);

        error = error ? error : here;
    }
    for (int i = 0; i < win->started_count; i++) {
        local_wait(&win->peers[win->started[i]]);
        win->peers[win->started[i]].is_started = false;
    }
    free(win->started);
    win->started = NULL;
    win->started_count = 0;
    win->access = ACCESS_NONE;
    return error;
}

static int Win_complete(MPI_Win win)
{
    int error = check_access(win, ACCESS_START, "MPI_Win_start");
    return error ? error : started_complete(win);
}
MPI_CALL(Win_complete);

static int Win_post(MPI_Group group, int assertion, MPI_Win win)
{
    int *ranks = NULL;
    int error = check_assertion(assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);

    if (error)
        return error;
    if (win->is_posted)
        return mpi_error(MPI_ERR_RMA_SYNC, "MPI_Win_post has opened the window; MPI_Win_wait closes it");
    error = ranks_find(win, group, &ranks);
    if (!error) {
        win->is_posted = true;
        win->exposed = group->size;
        memory_order();
        for (int i = 0; i < group->size; i++)
            win->peers[ranks[i]].is_exposed_to = true;
        for (int i = 0; i < group->size; i++)
            rma_post(win, &win->peers[ranks[i]], RMA_POST, 0, 0, NULL, 0);
    }
    free(ranks);
    return error;
}
MPI_CALL(Win_post);

static bool is_unexposed(void *argument)
{
    const struct mpi_win *win = argument;

    return win->exposed == 0;
}

/* Ends an exposure; `flag` is used only if it does not wait. */
static int exposure_end(const char *name, bool waits, struct mpi_win *win, int *flag)
{
    mpi_enter();
    int error = check_window(win);
    struct mpi_win *heard = error ? NULL : win;
    if (!error && !waits)
        error = check_output(flag, "flag");
    if (!error && !win->is_posted)
        error = mpi_error(MPI_ERR_RMA_SYNC, "MPI_Win_post has not opened the window");
    if (!error && flag) {
        if (!is_unexposed(win))
            progress_poll();
        *flag = is_unexposed(win);
    } else if (!error) {
        progress_wait(is_unexposed, win);
    }
    if (!error && is_unexposed(win)) {
        win->is_posted = false;
        memory_order();
    }
    error = mpi_return_win(heard, name, error);
    mpi_leave();
    return error;
}

int PMPI_Win_wait(MPI_Win win)
{
    return exposure_end("MPI_Win_wait", true, win, NULL);
}
MPI_ALIAS(Win_wait);

int PMPI_Win_test(MPI_Win win, int *flag)
{
    return exposure_end("MPI_Win_test", false, win, flag);
}
MPI_ALIAS(Win_test);

/* ---- Locks ---- */

static bool is_granted(void *argument)
{
    const struct rma_peer *peer = argument;

    return peer->lock != LOCK_WAITS;
}

static void lock_wait(struct rma_peer *peer)
{
    progress_wait(is_granted, peer);
    memory_order();
}

static int check_lock(int type, int rank, int assertion, const struct mpi_win *win)
{
    int error = MPI_SUCCESS;

    if (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)
        error = mpi_error(MPI_ERR_LOCKTYPE,
                          "argument lock_type: %d is neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE", type);
    if (!error)
        error = check_window_rank(win, rank);
    if (!error)
        error = check_assertion(assertion, MPI_MODE_NOCHECK);
    if (!error && win->access != ACCESS_LOCK)
        error = check_no_access(win);
    if (!error && rank != MPI_PROC_NULL && win->peers[rank].lock != LOCK_NONE)
        error = mpi_error(MPI_ERR_RMA_SYNC, "argument rank: this process has locked rank %d already", rank);
    return error;
}

static int Win_lock(int type, int rank, int assertion, MPI_Win win)
{
    int error = check_lock(type, rank, assertion, win);

    if (error || rank == MPI_PROC_NULL)
        return error;
    struct rma_peer *peer = &win->peers[rank];
    win->access = ACCESS_LOCK;
    win->locked++;
    if (assertion & MPI_MODE_NOCHECK)
        peer->lock = LOCK_UNCHECKED;
    else
        rma_lock_request(win, peer, type == MPI_LOCK_SHARED ? LOCK_SHARED : LOCK_EXCLUSIVE);
    lock_wait(peer);
    return MPI_SUCCESS;
}
MPI_CALL(Win_lock);

static int check_locked(const struct mpi_win *win, int rank)
{
    int error = check_window_rank(win, rank);

    if (!error && rank != MPI_PROC_NULL && (win->access != ACCESS_LOCK || win->peers[rank].lock == LOCK_NONE))
        error = mpi_error(MPI_ERR_RMA_SYNC, "argument rank: MPI_Win_lock has not locked rank %d", rank);
    return error;
}

static int Win_unlock(int rank, MPI_Win win)
{
    int error = check_locked(win, rank);

    if (error || rank == MPI_PROC_NULL)
        return error;
    struct rma_peer *peer = &win->peers[rank];
    progress_poll();
    error = rma_close(win, rank, peer->lock == LOCK_UNCHECKED ? RMA_FLUSH : RMA_UNLOCK);
    int waited = rma_wait_closed(peer);
    peer->lock = LOCK_NONE;
    if (--win->locked == 0)
        win->access = ACCESS_NONE;
    return error ? error : waited;
}
MPI_CALL(Win_unlock);

static int Win_lock_all(int assertion, MPI_Win win)
{
    int error = check_assertion(assertion, MPI_MODE_NOCHECK);
    if (error)
        return error;
    error = check_no_access(win);
    if (error)
        return error;
    bool is_lock_all = win->flavor == MPI_WIN_FLAVOR_SHARED;
    int first = is_lock_all ? 0 : win->comm->rank, last = is_lock_all ? win->comm->size - 1 : first;

    win->access = ACCESS_LOCK_ALL;
    win->is_unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
    for (int i = first; i <= last && !win->is_unchecked; i++)
        rma_lock_request(win, &win->peers[i], LOCK_SHARED);
    for (int i = first; i <= last; i++)
        lock_wait(&win->peers[i]);
    return MPI_SUCCESS;
}
MPI_CALL(Win_lock_all);

static int all_unlock(struct mpi_win *win)
{
    int error = MPI_SUCCESS;

    progress_poll();
    for (int i = 0; i < win->comm->size && !error; i++) {
        struct rma_peer *peer = &win->peers[i];

        if (peer->lock != LOCK_NONE)
            error = rma_close(win, i, RMA_UNLOCK);
        else if (peer->is_dirty)
            error = rma_close(win, i, RMA_FLUSH);
    }
    for (int i = 0; i < win->comm->size; i++) {
        int here = rma_wait_closed(&win->peers[i]);

        error = error ? error : here;
        win->peers[i].lock = LOCK_NONE;
    }
    memory_order();
    return error;
}

static int Win_unlock_all(MPI_Win win)
{
    int error = check_access(win, ACCESS_LOCK_ALL, "MPI_Win_lock_all");

    if (error)
        return error;
    error = all_unlock(win);
    win->access = ACCESS_NONE;
    win->is_unchecked = false;
    return error;
}
MPI_CALL(Win_unlock_all);

/* ---- Flushes ---- */

static int check_passive(const struct mpi_win *win)
{
    if (win->access != ACCESS_LOCK && win->access != ACCESS_LOCK_ALL)
        return mpi_error(MPI_ERR_RMA_SYNC,
                         "neither MPI_Win_lock nor MPI_Win_lock_all has begun an access: %s",
                         access_says(win));
    return MPI_SUCCESS;
}

static int check_flush(const struct mpi_win *win, int rank)
{
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    int error = check_passive(win);
    if (!error)
        error = win->access == ACCESS_LOCK ? check_locked(win, rank) : check_window_rank(win, rank);
    return error;
}

static int Win_flush(int rank, MPI_Win win)
{
    int error = check_flush(win, rank);
    if (error)
        return error;
    if (rank != MPI_PROC_NULL)
        return one_flush(win, rank);
    return MPI_SUCCESS;
}
MPI_CALL(Win_flush);

static int Win_flush_all(MPI_Win win)
{
    int error = check_passive(win);
    if (error)
        return error;
    progress_poll();
    return all_flush(win);
}
MPI_CALL(Win_flush_all);

static int Win_flush_local(int rank, MPI_Win win)
{
    int error = check_flush(win, rank);

    if (error || rank == MPI_PROC_NULL)
        return error;
    progress_poll();
    local_wait(&win->peers[rank]);
    return MPI_SUCCESS;
}
MPI_CALL(Win_flush_local);

static int Win_flush_local_all(MPI_Win win)
{
    int error = check_passive(win);

    if (error)
        return error;
    progress_poll();
    for (int i = 0; i < win->comm->size; i++)
        local_wait(&win->peers[i]);
    return MPI_SUCCESS;
}
MPI_CALL(Win_flush_local_all);

static int Win_sync(MPI_Win win)
{
    (void)win;
    memory_order();
    progress_poll();
    memory_order();
    return MPI_SUCCESS;
}
MPI_CALL(Win_sync);
