/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * world.c: this process's place in its job, the two predefined communicators, the library's lock, and the
 * job's early end.
 *
 * The lock nests, so that a callback of the program may call MPI. The communicators are objects of this file,
 * so that their handles are constants in C; comm/comm.c fills them.
 *
 * Source: MPI 3.1 §12.4 (MPI and threads).
 */
#include "base/base.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int mpi_live[LIVE_KINDS];
struct mpi_world mpi_world = { .size = 1, .nodes = 1, .node_size = 1 };
struct mpi_comm mpi_lite_comm_world, mpi_lite_comm_self;

void (*mpi_lock_left)(void);
void (*mpi_others_end)(int status, const char *why);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int lock_depth;

/* ---- The lock ---- */

void mpi_enter(void)
{
    if (mpi_world.thread_level == MPI_THREAD_MULTIPLE && lock_depth++ == 0)
        pthread_mutex_lock(&lock);
}

void mpi_leave(void)
{
    if (mpi_world.thread_level != MPI_THREAD_MULTIPLE || !lock_depth || --lock_depth)
        return;
    if (mpi_lock_left)
        mpi_lock_left();
    pthread_mutex_unlock(&lock);
}

int lock_release(void)
{
    int depth = lock_depth;

    if (depth) {
        lock_depth = 0;
        pthread_mutex_unlock(&lock);
    }
    return depth;
}

void lock_retake(int depth)
{
    if (!depth)
        return;
    pthread_mutex_lock(&lock);
    lock_depth = depth;
}

/* ---- The end of the job, and the time ---- */

/* Keeps what a tracer has, if one is linked to the program. */
extern void mpi_lite_tracer_end(const char *why) __attribute__((weak, visibility("default")));

void mpi_abort(int status, const char *format, ...)
{
    char why[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    fflush(stdout);
    fprintf(stderr, "mpi-lite: rank %d: %s\n", mpi_world.rank, why);
    if (mpi_lite_tracer_end)
        mpi_lite_tracer_end(why);
    if (mpi_others_end)
        mpi_others_end(status, why);
    _exit(status & 0xff ? status & 0xff : 1);
}

uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
