/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rma_stress.c: a table that all ranks fill at once, as programs do with one-sided communication: places are
 * taken by compare-and-swap, values counted by accumulation, and read back; random operations of random sizes
 * under random locks. The final sums do not depend on the order.
 */
#include "check.h"
#include <stddef.h>

#define PLACES 128 /* on each rank */
#define KEYS   300 /* that each rank inserts; some several times */

static unsigned long state;

static unsigned long draw(unsigned long below)
{
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (state >> 33) % below;
}

/* Adds to a key's count. Finds its place, or takes a free one, by linear probing over all ranks' places. */
static void key_count(MPI_Win win, long key, long amount)
{
    const long empty = 0;
    long all = (long)PLACES * size, at = key * 2654435761L % all, seen;

    for (;; at = (at + 1) % all) {
        int target = (int)(at / PLACES);
        MPI_Aint place = 2 * (at % PLACES);

        MPI_Compare_and_swap(&key, &empty, &seen, MPI_LONG, target, place, win);
        MPI_Win_flush(target, win);
        if (seen != empty && seen != key)
            continue;
        MPI_Accumulate(&amount, 1, MPI_LONG, target, place + 1, 1, MPI_LONG, MPI_SUM, win);
        return;
    }
}

/* Inserts the same few keys on all ranks, so that they contend. */
static void table(void)
{
    long *own, all, sums[2] = { 0, 0 }, expected = 0;
    long *got = malloc(2 * PLACES * sizeof(long));
    int keys = PLACES * size / 2;
    MPI_Win win;

    MPI_Win_allocate(2 * PLACES * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own,
                     &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(own, 0, 2 * PLACES * sizeof(long));
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < KEYS; i++) {
        long key = 1 + (long)draw((unsigned long)keys);

        key_count(win, key, key);
        expected += key;
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int target = 0; target < size; target++) { /* every rank reads the whole table */
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(got, 2 * PLACES, MPI_LONG, target, 0, 2 * PLACES, MPI_LONG, win);
        MPI_Win_unlock(target, win);
        for (int i = 0; i < PLACES; i++) {
            sums[0] += got[2 * i + 1];
            sums[1] += got[2 * i] ? got[2 * i + 1] % got[2 * i] : got[2 * i + 1];
        }
    }
    MPI_Allreduce(&expected, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sums[0], all);
    CHECK_EQUAL(sums[1], 0); /* a key's value is a multiple of the key */
    MPI_Win_free(&win);
    free(got);
    passed("table");
}

/* Tests a window whose parts belong to writers; each verifies its random puts, while others put theirs. */
static void random_blocks(void)
{
    const int each = 3000;
    int *own, *mine = calloc((size_t)(each * size), sizeof(int)), *got = malloc((size_t)each * sizeof(int));
    MPI_Win win;

    MPI_Win_allocate(each * size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own,
                     &win);
    memset(own, 0, (size_t)(each * size) * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 120; i++) {
        int target = (int)draw((unsigned long)size), from = (int)draw((unsigned long)each);
        int count = (int)draw((unsigned long)(each - from)),
            type = draw(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        int *copy = mine + (ptrdiff_t)target * each;
        MPI_Aint begin = (MPI_Aint)rank * each + from;

        MPI_Win_lock(type, target, 0, win);
        MPI_Get(got, count, MPI_INT, target, begin, count, MPI_INT, win);
        MPI_Win_flush(target, win);
        CHECK(memcmp(got, copy + from, (size_t)count * sizeof(int)) == 0);
        for (int k = 0; k < count; k++)
            got[k] = (int)draw(1000);
        if (draw(2)) {
            memcpy(copy + from, got, (size_t)count * sizeof(int));
            MPI_Put(got, count, MPI_INT, target, begin, count, MPI_INT, win);
        } else {
            for (int k = 0; k < count; k++)
                copy[from + k] += got[k];
            MPI_Accumulate(got, count, MPI_INT, target, begin, count, MPI_INT, MPI_SUM, win);
        }
        MPI_Win_unlock(target, win);
    }
    MPI_Win_free(&win);
    free(mine);
    free(got);
    passed("random blocks");
}

/* Moves amounts between accounts of all ranks under exclusive locks of two windows; the total stays. */
static void accounts(void)
{
    /* MPICH 4.0 assumes that windows begin at multiples of 16 bytes. */
    static _Alignas(16) long own[4] = { 1000, 1000, 1000, 1000 }, moves;
    long amount, seen, sum, all, counted = 0, one = 1;
    MPI_Win win, log;

    MPI_Win_create(own, sizeof(own), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create(&moves, sizeof(moves), sizeof(moves), MPI_INFO_NULL, MPI_COMM_WORLD, &log);
    for (int i = 0; i < 60; i++) {
        int from = (int)draw((unsigned long)size), to = (int)draw((unsigned long)size),
            account = (int)draw(4);

        amount = -(long)draw(100);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, from, 0, win);
        MPI_Get(&seen, 1, MPI_LONG, from, account, 1, MPI_LONG, win);
        MPI_Win_flush_local(from, win);
        amount = seen + amount < 0 ? 0 : amount;
        seen += amount;
        MPI_Put(&seen, 1, MPI_LONG, from, account, 1, MPI_LONG, win);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, log);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, log);
        MPI_Win_unlock(from, win);
        amount = -amount;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
        MPI_Get(&seen, 1, MPI_LONG, to, account, 1, MPI_LONG, win);
        MPI_Win_flush(to, win);
        seen += amount;
        MPI_Put(&seen, 1, MPI_LONG, to, account, 1, MPI_LONG, win);
        MPI_Win_unlock(to, win);
        MPI_Win_unlock(0, log);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    sum = own[0] + own[1] + own[2] + own[3];
    MPI_Win_unlock(rank, win);
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(all, 4000L * size);
    MPI_Win_fence(0, log);
    MPI_Get(&counted, 1, MPI_LONG, 0, 0, 1, MPI_LONG, log);
    MPI_Win_fence(0, log);
    CHECK_EQUAL(counted, 60L * size);
    MPI_Win_free(&log);
    MPI_Win_free(&win);
    passed("accounts");
}

/* Sends a mark round the ranks, each of which reads only its own memory until it arrives: with each kind of
 * lock and call in turn. (MPICH 4.0 makes no progress meanwhile, and waits for ever.) */
static void watched(void)
{
#ifndef MPICH_VERSION
    int *mark, turn, next = (rank + 1) % size;
    MPI_Request request;
    MPI_Win win;

    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mark, &win);
    *mark = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 1; round <= 40; round++) {
        int way = round % 4, seen = rank == 0 ? round : 0;

        if (way == 0)
            MPI_Win_lock_all(0, win);
        while (seen < round) {
            if (way)
                MPI_Win_lock(MPI_LOCK_SHARED, rank, way == 1 ? MPI_MODE_NOCHECK : 0, win);
            if (way == 3) {
                MPI_Rget_accumulate(NULL, 0, MPI_INT, &seen, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_NO_OP, win,
                                    &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Fetch_and_op(NULL, &seen, MPI_INT, rank, 0, MPI_NO_OP, win);
            }
            if (way)
                MPI_Win_unlock(rank, win);
            else
                MPI_Win_flush(rank, win);
        }
        if (way)
            MPI_Win_lock(MPI_LOCK_SHARED, next, way == 1 ? MPI_MODE_NOCHECK : 0, win);
        MPI_Fetch_and_op(&round, &turn, MPI_INT, next, 0, MPI_REPLACE, win);
        if (way)
            MPI_Win_unlock(next, win);
        else
            MPI_Win_unlock_all(win);
        if (rank == 0) { /* until it has gone round */
            for (seen = 0; seen < round;) {
                MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
                MPI_Fetch_and_op(NULL, &seen, MPI_INT, rank, 0, MPI_NO_OP, win);
                MPI_Win_unlock(rank, win);
            }
        }
    }
    MPI_Win_free(&win);
#endif
    passed("watched");
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    state = 12345 + (unsigned long)rank;
    table();
    random_blocks();
    accounts();
    watched();
    MPI_Finalize();
    return 0;
}
