/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma.c: one-sided operations of each kind, on windows of each flavor, between fences, in groups and under
 * locks; data with gaps at both sides; large and empty operations; this rank itself and MPI_PROC_NULL as a
 * target. [MPI 3.1 §11.3-11.5]
 */
#include "check.h"

#define ROOM 64 /* integers in each rank's part of the small windows */

/* A window of ROOM integers on each rank, all -1 at first. */
struct small {
    MPI_Win win;
    int *own;
    MPI_Aint *bases; /* of a dynamic window: each rank's address; else NULL */
};

enum flavor { CREATED, ALLOCATED, DYNAMIC, FLAVORS };

static struct small small_make(enum flavor flavor)
{
    static int memory[ROOM];
    struct small small = { MPI_WIN_NULL, memory, NULL };
    MPI_Aint bytes = ROOM * sizeof(int), address;

    if (flavor == CREATED) {
        MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &small.win);
    } else if (flavor == ALLOCATED) {
        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &small.own, &small.win);
    } else {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &small.win);
        MPI_Win_attach(small.win, memory, bytes);
        small.bases = malloc((size_t)size * sizeof(MPI_Aint));
        MPI_Get_address(memory, &address);
        MPI_Allgather(&address, 1, MPI_AINT, small.bases, 1, MPI_AINT, MPI_COMM_WORLD);
    }
    for (int i = 0; i < ROOM; i++)
        small.own[i] = -1;
    MPI_Barrier(MPI_COMM_WORLD); /* before any rank accesses it */
    return small;
}

/* Returns the displacement of integer i on a rank. */
static MPI_Aint at(const struct small *small, int target, int i)
{
    return small->bases ? small->bases[target] + i * (MPI_Aint)sizeof(int) : i;
}

static void small_free(struct small *small)
{
    if (small->bases)
        MPI_Win_detach(small->win, small->own);
    free(small->bases);
    MPI_Win_free(&small->win);
}

static void fences(enum flavor flavor)
{
    struct small small = small_make(flavor);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int values[4] = { rank, 10 * rank, 100 * rank, 7 }, got[4] = { -5, -5, -5, -5 };

    MPI_Win_fence(MPI_MODE_NOPRECEDE, small.win);
    MPI_Put(values, 3, MPI_INT, right, at(&small, right, 2), 3, MPI_INT, small.win);
    MPI_Put(values, 0, MPI_INT, right, at(&small, right, 0), 0, MPI_INT, small.win);
    MPI_Put(values, 4, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, small.win);
    MPI_Win_fence(0, small.win);
    for (int i = 0; i < ROOM; i++)
        CHECK_EQUAL(small.own[i], i == 2 ? left : i == 3 ? 10 * left : i == 4 ? 100 * left : -1);
    MPI_Get(got, 3, MPI_INT, right, at(&small, right, 2), 3, MPI_INT, small.win);
    MPI_Get(got, 4, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, small.win);
    MPI_Win_fence(0, small.win);
    CHECK(got[0] == rank && got[1] == 10 * rank && got[2] == 100 * rank && got[3] == -5);
    small.own[0] = 0;
    MPI_Win_fence(0, small.win);
    for (int target = 0; target < size; target++) /* all to all, including itself */
        MPI_Accumulate(&values[3], 1, MPI_INT, target, at(&small, target, 0), 1, MPI_INT, MPI_SUM, small.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, small.win);
    CHECK_EQUAL(small.own[0], 7 * size);
    small_free(&small);
}

/* Tests groups: each rank opens its window to its neighbours, and accesses theirs. */
static void groups(enum flavor flavor)
{
    struct small small = small_make(flavor);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, ranks[2] = { left, right };
    int value = rank, count = left == right ? 1 : 2, flag = 0;
    MPI_Group world, group;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &group);
    for (int round = 0; round < 5; round++) {
        value = 10 * round + rank;
        MPI_Win_post(group, 0, small.win);
        MPI_Win_start(group, 0, small.win);
        MPI_Put(&value, 1, MPI_INT, left, at(&small, left, 1), 1, MPI_INT, small.win);
        MPI_Put(&value, 1, MPI_INT, right, at(&small, right, 0), 1, MPI_INT, small.win);
        MPI_Win_complete(small.win);
        if (round % 2)
            MPI_Win_wait(small.win);
        else
            for (flag = 0; !flag;)
                MPI_Win_test(small.win, &flag);
        CHECK_EQUAL(small.own[0], 10 * round + left);
        CHECK_EQUAL(small.own[1], 10 * round + right);
    }
    MPI_Win_post(MPI_GROUP_EMPTY, 0, small.win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, small.win);
    MPI_Win_complete(small.win);
    MPI_Win_wait(small.win);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    small_free(&small);
}

/* Tests a counter that is read and written under an exclusive lock, and counters that need no lock. */
static void locks(enum flavor flavor)
{
    struct small small = small_make(flavor);
    const int rounds = 20;
    int one = 1, seen = 0, sum = 0, all = 0;

    for (int i = 0; i < 4; i++)
        small.own[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, small.win);
        MPI_Get(&seen, 1, MPI_INT, 0, at(&small, 0, 0), 1, MPI_INT, small.win);
        MPI_Win_flush(0, small.win);
        seen++;
        MPI_Put(&seen, 1, MPI_INT, 0, at(&small, 0, 0), 1, MPI_INT, small.win);
        MPI_Win_unlock(0, small.win);
        MPI_Win_lock(MPI_LOCK_SHARED, i % size, 0, small.win);
        MPI_Accumulate(&one, 1, MPI_INT, i % size, at(&small, i % size, 1), 1, MPI_INT, MPI_SUM, small.win);
        MPI_Win_unlock(i % size, small.win);
    }
    MPI_Win_lock_all(0, small.win);
    for (int i = 0; i < rounds; i++) {
        int target = (rank + i) % size;

        MPI_Fetch_and_op(&one, &seen, MPI_INT, target, at(&small, target, 2), MPI_SUM, small.win);
        MPI_Win_flush_local(target, small.win);
        CHECK(seen >= 0 && seen < rounds * size);
        sum += seen;
        MPI_Accumulate(&one, 1, MPI_INT, target, at(&small, target, 3), 1, MPI_INT, MPI_SUM, small.win);
    }
    MPI_Win_flush_local_all(small.win);
    MPI_Win_flush_all(small.win);
    MPI_Win_unlock_all(small.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, small.win);
    CHECK(rank || small.own[0] == rounds * size);
    for (int i = 1; i < 4; i++) {
        MPI_Allreduce(&small.own[i], &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK_EQUAL(all, rounds * size);
    }
    /* Each value below a rank's count was fetched from it once. */
    int expected = small.own[2] * (small.own[2] - 1) / 2, sums[2] = { sum, expected }, both[2];
    MPI_Allreduce(sums, both, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(both[0], both[1]);
    MPI_Win_unlock(rank, small.win);
    small_free(&small);
}

/* Tests a lock made with MPI_Compare_and_swap, and the effect and result of each operation. */
static void atomics(enum flavor flavor)
{
    struct small small = small_make(flavor);
    int right = (rank + 1) % size, free_ = -1, mine = rank, seen = 0, values[3] = { 5, 12, 9 }, was[3];
    MPI_Request requests[4];

    MPI_Win_lock_all(0, small.win);
    for (int i = 0; i < 5; i++) {
        do {
            MPI_Compare_and_swap(&mine, &free_, &seen, MPI_INT, 0, at(&small, 0, 9), small.win);
            MPI_Win_flush(0, small.win);
        } while (seen != -1);
        MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, at(&small, 0, 9), MPI_NO_OP, small.win);
        MPI_Win_flush(0, small.win);
        CHECK_EQUAL(seen, rank);
        MPI_Fetch_and_op(&free_, &seen, MPI_INT, 0, at(&small, 0, 9), MPI_REPLACE, small.win);
        MPI_Win_flush(0, small.win);
        CHECK_EQUAL(seen, rank);
    }
    MPI_Accumulate(values, 3, MPI_INT, right, at(&small, right, 20), 3, MPI_INT, MPI_REPLACE, small.win);
    MPI_Get_accumulate(values, 3, MPI_INT, was, 3, MPI_INT, right, at(&small, right, 20), 3, MPI_INT,
                       MPI_PROD, small.win); /* ordered after the previous one */
    MPI_Win_flush(right, small.win);
    CHECK(was[0] == 5 && was[1] == 12 && was[2] == 9);
    MPI_Rget_accumulate(NULL, 0, MPI_INT, was, 3, MPI_INT, right, at(&small, right, 20), 3, MPI_INT,
                        MPI_NO_OP, small.win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(was[0] == 25 && was[1] == 144 && was[2] == 81);
    MPI_Rput(values, 3, MPI_INT, right, at(&small, right, 30), 3, MPI_INT, small.win, &requests[0]);
    MPI_Raccumulate(values, 3, MPI_INT, right, at(&small, right, 20), 3, MPI_INT, MPI_BXOR, small.win,
                    &requests[1]);
    MPI_Rput(values, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, small.win, &requests[2]);
    MPI_Rget(was, 0, MPI_INT, right, at(&small, right, 0), 0, MPI_INT, small.win, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush(right, small.win);
    MPI_Rget(was, 3, MPI_INT, right, at(&small, right, 30), 3, MPI_INT, small.win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(was[0] == 5 && was[1] == 12 && was[2] == 9);
    MPI_Win_unlock_all(small.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, MPI_MODE_NOCHECK, small.win);
    CHECK(small.own[20] == (25 ^ 5) && small.own[21] == (144 ^ 12) && small.own[22] == (81 ^ 9));
    CHECK(small.own[30] == 5 && small.own[31] == 12 && small.own[32] == 9);
    MPI_Win_unlock(rank, small.win);
    small_free(&small);
}

/* Tests gaps: every second integer at the origin, blocks of two with gaps of one at the target; a type with
 * negative displacements. */
static void gaps(enum flavor flavor)
{
    struct small small = small_make(flavor);
    int right = (rank + 1) % size, values[24], got[24], places[3] = { 4, -2, 1 }, lengths[3] = { 1, 1, 2 };
    MPI_Datatype second, pairs, around;

    for (int i = 0; i < 24; i++) {
        values[i] = 100 + i;
        got[i] = -1;
    }
    MPI_Type_vector(6, 1, 2, MPI_INT, &second);
    MPI_Type_vector(3, 2, 3, MPI_INT, &pairs);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &around);
    MPI_Type_commit(&second);
    MPI_Type_commit(&pairs);
    MPI_Type_commit(&around);
    MPI_Win_fence(0, small.win);
    MPI_Put(values, 1, second, right, at(&small, right, 0), 1, pairs, small.win);
    MPI_Put(values, 4, MPI_INT, right, at(&small, right, 20), 1, around, small.win);
    MPI_Win_fence(0, small.win);
    for (int i = 0; i < 9; i++)
        CHECK_EQUAL(small.own[i], i < 8 && i % 3 < 2 ? 100 + 2 * (i / 3 * 2 + i % 3) : -1);
    CHECK(small.own[24] == 100 && small.own[18] == 101 && small.own[21] == 102 && small.own[22] == 103);
    CHECK(small.own[19] == -1 && small.own[20] == -1 && small.own[23] == -1);
    MPI_Win_fence(0, small.win);
    MPI_Get(got, 1, second, right, at(&small, right, 0), 1, pairs, small.win);
    MPI_Accumulate(values, 4, MPI_INT, right, at(&small, right, 20), 1, around, MPI_SUM, small.win);
    MPI_Accumulate(values, 1, second, right, at(&small, right, 40), 1, second, MPI_MAX, small.win);
    MPI_Win_fence(0, small.win);
    for (int i = 0; i < 24; i++)
        CHECK_EQUAL(got[i], i < 12 && i % 2 == 0 ? 100 + i : -1);
    CHECK(small.own[24] == 200 && small.own[18] == 202 && small.own[21] == 204 && small.own[22] == 206);
    for (int i = 0; i < 12; i++)
        CHECK_EQUAL(small.own[40 + i], i % 2 == 0 ? 100 + i : -1);
    MPI_Type_free(&second);
    MPI_Type_free(&pairs);
    MPI_Type_free(&around);
    small_free(&small);
}

/* Tests pairs of a value and an index, with a gap between or after them. */
static void pairs(void)
{
    struct {
        double value;
        int index;
    } own[3], values[3], was[3];
    MPI_Win win;

    for (int i = 0; i < 3; i++) {
        own[i].value = 2.5;
        own[i].index = 1000;
        values[i].value = i == 2 ? 2.5 : 3.0 + rank * i;
        values[i].index = rank;
    }
    MPI_Win_create(own, sizeof(own), sizeof(own[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    for (int target = 0; target < size; target++)
        MPI_Accumulate(values, 3, MPI_DOUBLE_INT, target, 0, 3, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    CHECK(own[0].value == 3.0 && own[0].index == 0);
    CHECK(own[1].value == 3.0 + (size - 1) && own[1].index == size - 1);
    CHECK(own[2].value == 2.5 && own[2].index == 0);
    MPI_Get_accumulate(NULL, 0, MPI_DOUBLE_INT, was, 3, MPI_DOUBLE_INT, (rank + 1) % size, 0, 3,
                       MPI_DOUBLE_INT, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    CHECK(was[1].value == own[1].value && was[1].index == own[1].index);
    MPI_Win_free(&win);
}

/* Transfers more than any fragment and any queue holds, in one block and in very many; every rank to its
 * right. */
static void large(int is_allocated)
{
    const int count = 300000;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    long *own, *values = malloc((size_t)count * sizeof(long)), *got = malloc((size_t)count * sizeof(long));
    MPI_Datatype third;
    MPI_Win win;

    if (is_allocated) {
        MPI_Win_allocate(count * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own,
                         &win);
    } else {
        MPI_Alloc_mem(count * (MPI_Aint)sizeof(long), MPI_INFO_NULL, &own);
        MPI_Win_create(own, count * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                       &win);
    }
    for (int i = 0; i < count; i++) {
        own[i] = 1;
        values[i] = 3L * i + rank;
    }
    MPI_Type_vector(count / 3, 1, 3, MPI_LONG, &third);
    MPI_Type_commit(&third);
    MPI_Win_fence(0, win);
    MPI_Accumulate(values, count, MPI_LONG, right, 0, count, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(own[i], 3L * i + left + 1);
    MPI_Win_fence(0, win);
    MPI_Put(values, count / 3, MPI_LONG, right, 0, 1, third, win);
    MPI_Get_accumulate(values, count / 3, MPI_LONG, got, 1, third, right, 1, 1, third, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < count; i++) {
        long before = 3L * i + left + 1, mine = 3L * i + rank + 1;

        CHECK_EQUAL(own[i], i % 3 == 0 ? i + left : i % 3 == 1 ? before + i / 3 * 3L + left : before);
        CHECK(i % 3 || got[i] == mine + 3);
    }
    MPI_Win_fence(0, win);
    MPI_Get(got, count, MPI_LONG, right, 0, count, MPI_LONG, win);
    MPI_Put(own, 0, MPI_LONG, left, 0, 0, MPI_LONG, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < count; i++)
        CHECK(i % 3 || got[i] == i + rank);
    MPI_Type_free(&third);
    MPI_Win_free(&win);
    if (!is_allocated)
        MPI_Free_mem(own);
    free(values);
    free(got);
}

/* Tests many operations under way at once, whose types are freed before they end. */
static void many(void)
{
    enum { EACH = 500 };
    static double own[EACH], got[EACH], values[EACH];
    MPI_Request requests[EACH];
    MPI_Datatype one;
    MPI_Win win;

    MPI_Win_create(own, sizeof(own), sizeof(own[0]), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < EACH; i++)
        values[i] = i;
    MPI_Win_lock_all(0, win);
    for (int target = 0; target < size; target++)
        for (int i = 0; i < EACH; i++) {
            MPI_Type_contiguous(1, MPI_DOUBLE, &one);
            MPI_Type_commit(&one);
            MPI_Raccumulate(&values[i], 1, one, target, i, 1, one, MPI_SUM, win, &requests[i]);
            MPI_Type_free(&one);
            if (i == EACH - 1)
                MPI_Waitall(EACH, requests, MPI_STATUSES_IGNORE);
        }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    for (int i = 0; i < EACH; i++)
        MPI_Rget(&got[i], 1, MPI_DOUBLE, 0, i, 1, MPI_DOUBLE, win, &requests[i]);
    MPI_Waitall(EACH, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock(0, win);
    for (int i = 0; i < EACH; i++)
        CHECK(got[i] == (double)i * size);
    MPI_Win_free(&win);
}

static void run(const char *name, void (*part)(enum flavor flavor))
{
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        part((enum flavor)flavor);
    passed(name);
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    run("fences", fences);
    run("groups", groups);
    run("locks", locks);
    run("atomics", atomics);
    run("gaps", gaps);
    pairs();
    passed("pairs");
    large(0);
    large(1);
    passed("large");
    many();
    passed("many");
    MPI_Finalize();
    return 0;
}
