/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma_errors.c: wrong one-sided calls have the standard's error class, through the window's handler, and
 * change nothing. Some libraries do not check everything: what they accept is tested with this library alone.
 * [MPI 3.1 §11.6; the errors of each function]
 */
#include "refused.h"
#include <stdint.h>

static long memory[8];
static MPI_Win win;

static void add(void *from, void *to, int *count, MPI_Datatype *type)
{
    (void)from, (void)to, (void)count, (void)type;
}

static void arguments(void)
{
    long value = 1, got = 0;
    MPI_Datatype uncommitted;
    MPI_Op own;

    MPI_Type_contiguous(2, MPI_LONG, &uncommitted);
    MPI_Op_create(add, 1, &own);
    MPI_Win_fence(0, win);
    REFUSED(MPI_Put(&value, 1, MPI_LONG, size, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
    REFUSED(MPI_Put(&value, 1, MPI_LONG, -7, 0, 1, MPI_LONG, win), MPI_ERR_RANK);
    REFUSED(MPI_Put(&value, -1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_COUNT);
    REFUSED(MPI_Get(&got, 1, MPI_LONG, 0, 0, -1, MPI_LONG, win), MPI_ERR_COUNT);
    REFUSED(MPI_Get(&got, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_LONG, win), MPI_ERR_TYPE);
    REFUSED(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, uncommitted, win), MPI_ERR_TYPE);
    REFUSED(MPI_Put(&value, 1, MPI_LONG, 0, -1, 1, MPI_LONG, win), MPI_ERR_DISP);
    REFUSED(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_WIN_NULL), MPI_ERR_WIN);
    REFUSED(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, own, win), MPI_ERR_OP);
    REFUSED(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_OP_NULL, win), MPI_ERR_OP);
    REFUSED(MPI_Compare_and_swap(&value, &value, &got, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE);
    if (!THIS_LIBRARY) {
        REFUSED(MPI_Put(&value, 1, MPI_LONG, 0, 8, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Put(memory, 8, MPI_LONG, 0, 1, 8, MPI_LONG, win), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Get(&got, 1, MPI_LONG, 0, INTPTR_MAX, 1, MPI_LONG, win), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Put(memory, 2, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_TRUNCATE);
        REFUSED(MPI_Get(&got, 1, MPI_LONG, 0, 0, 2, MPI_LONG, win), MPI_ERR_TRUNCATE);
        REFUSED(MPI_Put(NULL, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_BUFFER);
        REFUSED(MPI_Accumulate(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, win), MPI_ERR_OP);
        REFUSED(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, win), MPI_ERR_OP);
        REFUSED(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_LONG, MPI_SUM, win), MPI_ERR_TYPE);
        REFUSED(MPI_Fetch_and_op(&value, &got, uncommitted, 0, 0, MPI_SUM, win), MPI_ERR_TYPE);
    }
    MPI_Win_fence(0, win);
    CHECK_EQUAL(memory[0], 11);
    MPI_Op_free(&own);
    MPI_Type_free(&uncommitted);
    passed("arguments");
}

static void synchronization(void)
{
    long value = 1;
    MPI_Request request;
    MPI_Group group, world;
    int flag;

    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &group);
    REFUSED(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Rput(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush(rank, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_local(rank, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    REFUSED(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    if (size > 1 && !THIS_LIBRARY)
        REFUSED(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
    MPI_Win_unlock(rank, win);
    if (!THIS_LIBRARY) {
        REFUSED(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_lock(MPI_LOCK_SHARED + MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_ERR_LOCKTYPE);
        REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
        REFUSED(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
        REFUSED(MPI_Win_post(group, MPI_MODE_NOSUCCEED, win), MPI_ERR_ASSERT);
        MPI_Win_post(group, 0, win);
        REFUSED(MPI_Win_post(group, 0, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
        MPI_Win_start(group, 0, win);
        REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
        if (size > 1)
            REFUSED(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win);
        MPI_Put(&memory[0], 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
        REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    }
    CHECK_EQUAL(memory[0], 11);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    passed("synchronization");
}

/* Tests memory that is not attached: the target refuses it, and the call that completes the operation reports
 * it. */
static void attached(void)
{
    static long blocks[3][4];
    long value = 5, got = -1;
    MPI_Aint own, target;
    MPI_Request request;
    MPI_Win dynamic;
    int right = (rank + 1) % size;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    MPI_Win_attach(dynamic, blocks[0], sizeof(blocks[0]));
    MPI_Win_attach(dynamic, blocks[2], sizeof(blocks[2]));
    MPI_Get_address(blocks, &own);
    MPI_Sendrecv(&own, 1, MPI_AINT, (rank + size - 1) % size, 1, &target, 1, MPI_AINT, right, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!THIS_LIBRARY) {
        MPI_Aint between = target + (MPI_Aint)sizeof(blocks[0]);

        REFUSED(MPI_Win_attach(dynamic, &blocks[1][3], 2 * sizeof(long)), MPI_ERR_RMA_ATTACH);
        REFUSED(MPI_Win_attach(dynamic, &blocks[0][3], 2 * sizeof(long)), MPI_ERR_RMA_ATTACH);
        REFUSED(MPI_Win_detach(dynamic, blocks[1]), MPI_ERR_BASE);
        MPI_Win_lock_all(0, dynamic);
        MPI_Put(&value, 1, MPI_LONG, right, between, 1, MPI_LONG, dynamic);
        REFUSED(MPI_Win_flush(right, dynamic), MPI_ERR_RMA_RANGE);
        CHECK_EQUAL(MPI_Win_flush(right, dynamic), MPI_SUCCESS);
        MPI_Put(&value, 1, MPI_LONG, right, target + 1, 1, MPI_LONG, dynamic);
        MPI_Rget(&got, 1, MPI_LONG, right, between - 4, 1, MPI_LONG, dynamic, &request);
        REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Win_unlock_all(dynamic), MPI_ERR_RMA_RANGE);
        CHECK_EQUAL(got, -1);
        MPI_Win_fence(0, dynamic);
        MPI_Accumulate(&value, 1, MPI_LONG, right, between + 8, 1, MPI_LONG, MPI_SUM, dynamic);
        REFUSED(MPI_Win_fence(0, dynamic), MPI_ERR_RMA_RANGE);
        CHECK(blocks[1][0] == 0 && blocks[1][1] == 0);
        blocks[0][0] = blocks[0][1] = 0;
        MPI_Win_attach(dynamic, blocks[1], sizeof(blocks[1])); /* now the two are contiguous */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_fence(0, dynamic);
        for (int i = 0; i < 12; i++)
            blocks[i / 4][i % 4] = -1;
        MPI_Win_fence(0, dynamic);
        MPI_Put(memory, 8, MPI_LONG, right, target + 16, 8, MPI_LONG, dynamic);
        CHECK_EQUAL(MPI_Win_fence(0, dynamic), MPI_SUCCESS);
        CHECK(blocks[0][1] == -1 && blocks[0][2] == 11 && blocks[2][1] == 18 && blocks[2][2] == -1);
        MPI_Win_detach(dynamic, blocks[1]);
    }
    MPI_Win_detach(dynamic, blocks[0]);
    MPI_Win_detach(dynamic, blocks[2]);
    MPI_Win_free(&dynamic);
    passed("attached");
}

/* Tests NULL for arguments that calls write to. */
static void nulls(void)
{
    int a = 0;
    char text[MPI_MAX_OBJECT_NAME];
    void *value = NULL;
    MPI_Aint bytes;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Win shared, made = MPI_WIN_NULL;

    MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_SELF, &value, &shared);
    MPI_Win_set_errhandler(shared, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, shared);
    REFUSED(MPI_Win_create(memory, 4, 4, MPI_INFO_NULL, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_allocate(4, 4, MPI_INFO_NULL, world, &value, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_allocate(4, 4, MPI_INFO_NULL, world, NULL, &made), MPI_ERR_ARG);
    REFUSED(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, world, &value, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, world, NULL, &made), MPI_ERR_ARG);
    REFUSED(MPI_Win_create_dynamic(MPI_INFO_NULL, world, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_shared_query(shared, 0, NULL, &a, &value), MPI_ERR_ARG);
    REFUSED(MPI_Win_shared_query(shared, 0, &bytes, NULL, &value), MPI_ERR_ARG);
    REFUSED(MPI_Win_shared_query(shared, 0, &bytes, &a, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_get_group(shared, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_get_info(shared, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_get_name(shared, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Win_get_name(shared, text, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_get_errhandler(shared, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_get_attr(shared, MPI_WIN_BASE, NULL, &a), MPI_ERR_ARG);
    REFUSED(MPI_Win_get_attr(shared, MPI_WIN_BASE, &value, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Win_test(shared, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Rput(&a, 1, MPI_INT, 0, 0, 1, MPI_INT, shared, NULL), MPI_ERR_ARG);
    REFUSED(MPI_Rget(&a, 1, MPI_INT, 0, 0, 1, MPI_INT, shared, NULL), MPI_ERR_ARG);
    MPI_Win_unlock_all(shared);
    MPI_Win_free(&shared);
    CHECK(made == MPI_WIN_NULL);
    passed("nulls");
}

static void freed(void)
{
    int value = 7;
    MPI_Win short_lived, copy;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &short_lived);
    copy = short_lived;
    MPI_Win_free(&short_lived);
    REFUSED_BUT(IN_OTHERS, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, copy), MPI_ERR_WIN);
    REFUSED_BUT(IN_OTHERS, MPI_Win_fence(0, copy), MPI_ERR_WIN);
    REFUSED_BUT(IN_OTHERS, MPI_Win_set_errhandler(copy, MPI_ERRORS_RETURN), MPI_ERR_WIN);
    REFUSED_BUT(IN_OTHERS, MPI_Win_free(&copy), MPI_ERR_WIN);
    passed("freed");
}

int main(int count, char **words)
{
    begin(&count, &words);
    for (int i = 0; i < 8; i++)
        memory[i] = 11 + i;
    MPI_Win_create(memory, sizeof(memory), sizeof(memory[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    arguments();
    synchronization();
    nulls();
    freed();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    attached();
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
