/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handover.c: several threads compute under one lock, as in interpreters. A thread that waits for the lock
 * asks for it after 5 ms, unless another thread has got it since. The holder then releases it, and waits
 * until another thread has it. Checks that all threads get the lock, not only two of them.
 *
 *     handover [THREADS]      THREADS threads (4)
 */
#include "check.h"

#include <errno.h>
#include <time.h>

#define HANDOVERS              100  /* at least */
#define HANDOVERS_MAX          1000 /* the host may stop a CPU of the node, whose threads come later */
#define INTERVAL_NS            5000000
#define EACH_AT_LEAST(threads) (HANDOVERS / (threads) / 16)

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t released, taken;
    bool held;
    int holder; /* the last one */
    long handovers;
    _Atomic bool wanted;
} lock = { .mutex = PTHREAD_MUTEX_INITIALIZER, .taken = PTHREAD_COND_INITIALIZER, .holder = -1 };

static int threads, holdings[64];
static _Atomic bool ended;

static void take(int own)
{
    pthread_mutex_lock(&lock.mutex);
    while (lock.held) {
        const long before = lock.handovers;
        struct timespec limit;

        clock_gettime(CLOCK_MONOTONIC, &limit);
        limit.tv_nsec += INTERVAL_NS;
        limit.tv_sec += limit.tv_nsec / 1000000000;
        limit.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&lock.released, &lock.mutex, &limit) == ETIMEDOUT && lock.held &&
            lock.handovers == before)
            lock.wanted = true;
    }
    lock.held = true;
    if (lock.holder != own) {
        lock.holder = own;
        lock.handovers++;
    }
    lock.wanted = false;
    pthread_cond_signal(&lock.taken);
    pthread_mutex_unlock(&lock.mutex);
}

static void give_up(int own, bool to_another)
{
    pthread_mutex_lock(&lock.mutex);
    lock.held = false;
    pthread_cond_signal(&lock.released);
    while (to_another && lock.holder == own)
        pthread_cond_wait(&lock.taken, &lock.mutex);
    pthread_mutex_unlock(&lock.mutex);
}

static int fewest_holdings(void)
{
    int fewest = HANDOVERS_MAX;

    for (int i = 0; i < threads; i++)
        fewest = holdings[i] < fewest ? holdings[i] : fewest;
    return fewest;
}

static bool is_enough(void)
{
    return lock.handovers >= HANDOVERS_MAX ||
           (lock.handovers >= HANDOVERS && fewest_holdings() >= EACH_AT_LEAST(threads));
}

static void compute(int own)
{
    for (;;) {
        take(own);
        if (ended)
            break;
        holdings[own]++;
        ended = is_enough();
        while (!lock.wanted && !ended)
            continue;
        give_up(own, !ended);
    }
    give_up(own, false);
}

int main(int argc, char **argv)
{
    pthread_condattr_t monotonic;

    threads = count_of(argc, argv, 4);
    must("threads for a handover", threads >= 2);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&lock.released, &monotonic);
    crew_run(threads, compute);
    check("the lock went round", fewest_holdings() >= EACH_AT_LEAST(threads));
    if (wrong)
        for (int i = 0; i < threads; i++)
            printf("thread %d had it %d times\n", i, holdings[i]);
    return wrong != 0;
}
