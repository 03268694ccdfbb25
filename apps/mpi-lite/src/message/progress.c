/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.c: one round of progress, and how a call waits. Messages move only inside calls of the library.
 *
 * A wait spins without entering the kernel while ranks have their CPUs to themselves. If ranks share CPUs
 * (mpi_world.crowded), it yields between rounds, and blocks after mpi_world.spin_ns. The bell in the node's
 * segment (shared.c) ends the block: a rank that sends to this one rings it; so does a thread of this process
 * that leaves the library while another one sleeps.
 */
#include "launch/launch.h"
#include "message/message.h"
#include <sched.h>

/* If no launcher notices that a rank has died, a long wait checks for it, by entering the kernel, each time
 * after this many rounds: a tenth of a second, and seconds in an emulator. */
#define ALIVE_ROUNDS (1u << 21)

/* A look at TCP takes a system call. While messages of this node arrive, it is done once in this many rounds.
 */
#define TCP_ROUNDS 16

#define ADDED_MAX 4

/* Work that folders above have added, in order. */
static struct {
    bool (*work)(void);
} added[ADDED_MAX];
static int added_count;

void progress_add(bool (*work)(void))
{
    for (int i = 0; i < added_count; i++)
        if (added[i].work == work)
            return;
    if (added_count == ADDED_MAX)
        mpi_abort(1, "progress_add: all %d places are in use (ADDED_MAX)", ADDED_MAX);
    added[added_count++].work = work;
}

const struct transport *transport_to(int peer)
{
    return mpi_world.node_of[peer] == mpi_world.node ? &transport_shared : &transport_tcp;
}

bool progress_poll(void)
{
    static unsigned rounds;
    bool moved = false;

    if (mpi_world.node_size > 1)
        moved = transport_shared.poll();
    if (tcp_is_used() && (mpi_world.node_size == 1 || !moved || ++rounds % TCP_ROUNDS == 0))
        moved |= transport_tcp.poll();
    moved |= message_progress();
    for (int i = 0; i < added_count; i++)
        moved |= added[i].work();
    return moved;
}

static void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("or 27,27,27" ::: "memory");
#endif
}

void progress_yield(void)
{
    if (mpi_world.thread_level != MPI_THREAD_MULTIPLE)
        return;
    int depth = lock_release();
    sched_yield();
    lock_retake(depth);
}

/* Runs a round, and wakes sleeping threads if anything moved, because they may wait for it. */
static bool poll_for_all(void)
{
    if (!progress_poll())
        return false;
    if (mpi_world.thread_level == MPI_THREAD_MULTIPLE)
        shared_bell_ring_own();
    return true;
}

/* Blocks until something may have arrived. The second check sees what was announced before it; later events
 * ring the bell. */
static void wait_block(bool (*done)(void *argument), void *argument)
{
    uint32_t rung = shared_bell_value();

    shared_sleeping(true);
    if (!done(argument) && !poll_for_all()) {
        int depth = lock_release();
        shared_bell_wait(rung);
        lock_retake(depth);
    }
    shared_sleeping(false);
}

void progress_wait(bool (*done)(void *argument), void *argument)
{
    uint64_t until = 0;
    unsigned rounds = 0;

    while (!done(argument)) {
        if (poll_for_all()) {
            until = 0;
            continue;
        }
        if (!mpi_world.crowded) {
            cpu_relax();
            if (++rounds % ALIVE_ROUNDS == 0 && !pmi_is_used() && !pmi_is_tied())
                shared_check_alive();
            progress_yield();
            continue;
        }
        uint64_t now = clock_ns();
        if (!until)
            until = now + mpi_world.spin_ns;
        if (now < until) {
            int depth = lock_release();
            sched_yield();
            lock_retake(depth);
        } else {
            wait_block(done, argument);
        }
    }
}
