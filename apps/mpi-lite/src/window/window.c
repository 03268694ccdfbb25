/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.c: windows: how they are made and ended, memory that is attached to them, and the table in which a
 * message finds its window by its context.
 *
 * A window has its own communicator, whose context no other message has. A process adds it to the table
 * before the ranks exchange their sizes, so a rank that knows another rank's size may send to it.
 *
 * Runs under the library's lock. Source: MPI 3.1 §11.2.
 */
#include "window/window.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 64

static struct mpi_win *windows[BUCKETS];
static int live_count;

static struct mpi_win **bucket_of(uint32_t context)
{
    return &windows[context / 2 % BUCKETS];
}

struct mpi_win *window_find(uint32_t context)
{
    struct mpi_win *win = *bucket_of(context);

    while (win && win->comm->context != context)
        win = win->next;
    return win;
}

int window_live_count(void)
{
    return live_count;
}

int check_window(const struct mpi_win *win)
{
    int error = check_comm(MPI_COMM_WORLD);

    if (!error && win == MPI_WIN_NULL)
        error = mpi_error(MPI_ERR_WIN, "argument win: MPI_WIN_NULL");
    return error ? error : check_live(win->comm, MPI_ERR_WIN, "win");
}

int mpi_return_win(struct mpi_win *win, const char *function, int error)
{
    return win ? mpi_return_to(&win->hearer, function, error) : mpi_return(NULL, function, error);
}

/* ---- Making and end ---- */

static void window_end(struct mpi_win *win)
{
    struct mpi_win **link = bucket_of(win->comm->context);

    window_progress(); /* drops ranks whose queues are empty */
    while (*link != win)
        link = &(*link)->next;
    *link = win->next;
    live_count--;
    win->comm->window = NULL; /* a request may still have it */
    window_memory_free(win->memory);
    errhandler_release(win->hearer.errhandler);
    free(win->started);
    comm_release(win->comm);
    free(win->regions);
    free(win->peers);
    handle_release(win);
    object_end(win, sizeof(*win));
}

/* Makes a window with its own communicator, and adds it to the table. */
static int window_make(struct mpi_comm *comm, int flavor, struct mpi_win **made)
{
    uint32_t context;
    int error = context_agree(comm, &context);
    struct mpi_win *win = error ? NULL : object_make(sizeof(*win));

    if (!error && win)
        win->comm = comm_make_child(comm, context, comm->group, comm->group, false);
    if (win)
        win->peers = calloc((size_t)comm->size, sizeof(*win->peers));
    if (error || !win || !win->comm || !win->peers) {
        if (win && win->comm)
            comm_release(win->comm);
        free(win ? win->peers : NULL);
        free(win);
        return error ? error : mpi_out_of_memory();
    }
    comm_hide(win->comm);
    win->comm->window = &win->hearer;
    win->flavor = flavor;
    win->model = MPI_WIN_UNIFIED;
    win->disp_unit = 1;
    for (int i = 0; i < comm->size; i++) {
        win->peers[i].win = win;
        win->peers[i].rank = i;
        win->peers[i].world = comm->group->world[i];
    }
    win->next = *bucket_of(context);
    *bucket_of(context) = win;
    live_count++;
    *made = win;
    return MPI_SUCCESS;
}

/* What each rank sends the others. If a rank has an `error` because its memory could not be made, no rank
 * gets a window. */
struct notice {
    int64_t size;
    int32_t disp_unit, error;
};

static int window_exchange(struct mpi_win *win, int own_error)
{
    const struct notice own = { win->size, win->disp_unit, own_error };
    struct notice *all = calloc((size_t)win->comm->size, sizeof(*all));

    if (!all)
        mpi_abort(1, "no memory for what %d ranks say of their window", win->comm->size);
    int error = PMPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE, win->comm);
    for (int i = 0; i < win->comm->size && !error; i++) {
        struct rma_peer *peer = &win->peers[i];

        if (all[i].error && !own_error)
            error = mpi_error(all[i].error, "rank %d has no memory for its part of the window", i);
        peer->size = all[i].size;
        peer->disp_unit = all[i].disp_unit;
        if (win->memory)
            peer->direct = window_memory_of(win->memory, win->comm, i);
    }
    free(all);
    if (!error && win->base)
        win->peers[win->comm->rank].direct = win->base;
    return own_error ? own_error : error;
}

static int check_making(const struct mpi_comm *comm, MPI_Aint size, int disp_unit)
{
    int error = check_comm(comm);

    if (!error && comm->inter)
        error = mpi_error(MPI_ERR_COMM, "argument comm: an intercommunicator, which has no windows");
    if (!error && size < 0)
        error = mpi_error(MPI_ERR_SIZE, "argument size: %lld is negative", (long long)size);
    if (!error && disp_unit <= 0)
        error = mpi_error(MPI_ERR_DISP, "argument disp_unit: %d is not positive", disp_unit);
    return error;
}

int PMPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *made)
{
    struct mpi_win *win = MPI_WIN_NULL;

    (void)info; /* no hint has an effect */
    mpi_enter();
    int error = check_making(comm, size, disp_unit);
    struct mpi_comm *heard = check_comm(comm) ? NULL : comm;
    if (!error)
        error = check_output(made, "win");
    if (!error && !base && size)
        error = mpi_error(MPI_ERR_BASE, "argument base: NULL, with a size of %lld", (long long)size);
    if (!error)
        error = window_make(comm, MPI_WIN_FLAVOR_CREATE, &win);
    if (!error) {
        win->base = base;
        win->size = size;
        win->disp_unit = disp_unit;
        error = window_exchange(win, MPI_SUCCESS);
    }
    if (!error)
        *made = win;
    else if (win)
        window_end(win);
    return mpi_leave_with(heard, "MPI_Win_create", error);
}
MPI_ALIAS(Win_create);

static bool hint_is_true(struct mpi_info *info, const char *key)
{
    char value[8];
    int is_given = 0;

    if (info != MPI_INFO_NULL)
        PMPI_Info_get(info, key, sizeof(value) - 1, value, &is_given);
    return is_given && strcmp(value, "true") == 0;
}

static int check_one_node(const struct mpi_comm *comm)
{
    for (int i = 0; i < comm->size; i++)
        if (mpi_world.node_of[comm->group->world[i]] != mpi_world.node)
            return mpi_error(MPI_ERR_RMA_SHARED,
                             "argument comm: rank %d is on another node; MPI_Comm_split_type makes "
                             "communicators of a node's ranks",
                             i);
    return MPI_SUCCESS;
}

static int window_allocate(const char *name, int flavor, MPI_Aint size, int disp_unit, struct mpi_info *info,
                           struct mpi_comm *comm, void *base, struct mpi_win **made)
{
    bool shares = flavor == MPI_WIN_FLAVOR_SHARED;
    struct mpi_win *win = MPI_WIN_NULL;

    mpi_enter();
    int error = check_making(comm, size, disp_unit);
    struct mpi_comm *heard = check_comm(comm) ? NULL : comm;
    if (!error)
        error = check_output(made, "win");
    if (!error && !base)
        error = mpi_error(MPI_ERR_ARG, "argument baseptr: NULL");
    if (!error && shares)
        error = check_one_node(comm);
    if (!error)
        error = window_make(comm, flavor, &win);
    if (!error) {
        win->size = size;
        win->disp_unit = disp_unit;
        win->is_noncontiguous = hint_is_true(info, "alloc_shared_noncontig");
        error = window_memory_make(win->comm, size, shares && !win->is_noncontiguous, shares, &win->memory,
                                   &win->base);
        error = window_exchange(win, error);
    }
    if (!error) {
        memcpy(base, &win->base, sizeof(win->base)); /* a pointer of any type */
        *made = win;
    } else if (win) {
        window_end(win);
    }
    return mpi_leave_with(heard, name, error);
}

int PMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
    return window_allocate("MPI_Win_allocate", MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit, info, comm, base,
                           win);
}
MPI_ALIAS(Win_allocate);

int PMPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *base,
                             MPI_Win *win)
{
    return window_allocate("MPI_Win_allocate_shared", MPI_WIN_FLAVOR_SHARED, size, disp_unit, info, comm,
                           base, win);
}
MPI_ALIAS(Win_allocate_shared);

int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *made)
{
    struct mpi_win *win = MPI_WIN_NULL;

    (void)info; /* no hint has an effect */
    mpi_enter();
    int error = check_making(comm, 0, 1);
    struct mpi_comm *heard = check_comm(comm) ? NULL : comm;
    if (!error)
        error = check_output(made, "win");
    if (!error)
        error = window_make(comm, MPI_WIN_FLAVOR_DYNAMIC, &win);
    if (!error)
        error = window_exchange(win, MPI_SUCCESS);
    if (!error)
        *made = win;
    else if (win)
        window_end(win);
    return mpi_leave_with(heard, "MPI_Win_create_dynamic", error);
}
MPI_ALIAS(Win_create_dynamic);

static int check_idle(const struct mpi_win *win)
{
    if (win->access > ACCESS_FENCE || win->is_posted)
        return mpi_error(MPI_ERR_RMA_SYNC, "argument win: it is freed while %s",
                         win->is_posted                ? "MPI_Win_post has opened it"
                         : win->access == ACCESS_START ? "MPI_Win_start has begun an access"
                                                       : "this process has locked it");
    return MPI_SUCCESS;
}

int PMPI_Win_free(MPI_Win *win)
{
    mpi_enter();
    int error = win ? check_window(*win) : mpi_error(MPI_ERR_WIN, "argument win: NULL");
    struct mpi_win *heard = error ? NULL : *win;
    if (!error)
        error = check_idle(heard);
    if (!error)
        error = attributes_free(heard, &heard->attributes);
    for (int i = 0; heard && i < heard->comm->size && !error; i++)
        if (heard->peers[i].is_dirty) /* if operations followed the last fence */
            error = rma_close(heard, i, RMA_FLUSH);
    for (int i = 0; heard && i < heard->comm->size && !error; i++)
        error = rma_wait_closed(&heard->peers[i]);
    if (!error)
        error = PMPI_Barrier(heard->comm);
    if (error) {
        error = mpi_return_win(heard, "MPI_Win_free", error);
    } else {
        window_end(heard);
        *win = MPI_WIN_NULL;
    }
    mpi_leave();
    return error;
}
MPI_ALIAS(Win_free);

/* ---- Attached memory ---- */

/* Returns the index of the first region that begins above an address. */
static int region_above(const struct mpi_win *win, MPI_Aint address)
{
    int low = 0, high = win->region_count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (win->regions[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool window_is_attached(const struct mpi_win *win, int64_t begin, uint64_t bytes)
{
    int64_t end;

    if (__builtin_add_overflow(begin, bytes, &end))
        return false;
    for (int i = region_above(win, begin) - 1; i >= 0 && i < win->region_count; i++) {
        const struct region *region = &win->regions[i];

        if (begin < region->begin || begin > region->begin + region->bytes)
            return false;
        begin = region->begin + region->bytes; /* the next region may continue it */
        if (begin >= end)
            return true;
    }
    return false;
}

static int check_attach(const struct mpi_win *win, const void *base, MPI_Aint size)
{
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return mpi_error(MPI_ERR_RMA_FLAVOR, "argument win: MPI_Win_create_dynamic has not made it");
    if (size < 0)
        return mpi_error(MPI_ERR_SIZE, "argument size: %lld is negative", (long long)size);
    if ((!base && size) || size > INTPTR_MAX - (MPI_Aint)base)
        return mpi_error(MPI_ERR_BASE, "argument base: %p, with a size of %lld", base, (long long)size);
    int i = region_above(win, (MPI_Aint)base);
    if ((i && win->regions[i - 1].begin + win->regions[i - 1].bytes > (MPI_Aint)base) ||
        (i < win->region_count && win->regions[i].begin < (MPI_Aint)base + size))
        return mpi_error(MPI_ERR_RMA_ATTACH, "argument base: memory from %p on is attached already", base);
    return MPI_SUCCESS;
}

static int region_add(struct mpi_win *win, struct region region)
{
    int i = region_above(win, region.begin);

    if (win->region_count == win->region_room) {
        int room = win->region_room ? 2 * win->region_room : 8;
        struct region *larger = realloc(win->regions, (size_t)room * sizeof(*larger));

        if (!larger)
            return mpi_out_of_memory();
        win->regions = larger;
        win->region_room = room;
    }
    memmove(win->regions + i + 1, win->regions + i, (size_t)(win->region_count - i) * sizeof(region));
    win->regions[i] = region;
    win->region_count++;
    return MPI_SUCCESS;
}

static int Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    int error = check_attach(win, base, size);
    return error ? error : region_add(win, (struct region){ (MPI_Aint)base, size });
}
MPI_CALL(Win_attach);

static int Win_detach(MPI_Win win, const void *base)
{
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC)
        return mpi_error(MPI_ERR_RMA_FLAVOR, "argument win: MPI_Win_create_dynamic has not made it");
    int i = region_above(win, (MPI_Aint)base) - 1;
    if (i < 0 || win->regions[i].begin != (MPI_Aint)base)
        return mpi_error(MPI_ERR_BASE, "argument base: no memory that begins at %p is attached", base);
    win->region_count--;
    memmove(win->regions + i, win->regions + i + 1,
            (size_t)(win->region_count - i) * sizeof(win->regions[0]));
    return MPI_SUCCESS;
}
MPI_CALL(Win_detach);

/* ---- Shared memory ---- */

/* Returns the rank to query: for MPI_PROC_NULL the lowest rank with memory, or rank 0 if there is none. */
static int query_rank(const struct mpi_win *win, int rank)
{
    if (rank != MPI_PROC_NULL)
        return rank;
    for (rank = 0; rank < win->comm->size; rank++)
        if (win->peers[rank].size)
            return rank;
    return 0;
}

static int Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit, void *base)
{
    if (win->flavor != MPI_WIN_FLAVOR_SHARED)
        return mpi_error(MPI_ERR_RMA_FLAVOR, "argument win: MPI_Win_allocate_shared has not made it");
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= win->comm->size))
        return mpi_error(MPI_ERR_RANK, "argument rank: %d is no rank of a window of %d", rank,
                         win->comm->size);
    const struct rma_peer *peer = &win->peers[query_rank(win, rank)];
    unsigned char *place = peer->size ? peer->direct : NULL;

    *size = peer->size;
    *disp_unit = peer->disp_unit;
    memcpy(base, &place, sizeof(place)); /* a pointer of any type */
    return MPI_SUCCESS;
}
MPI_CALL(Win_shared_query);
