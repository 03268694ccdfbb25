/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_threads.c [THREADS]: signals between threads that compute and never call the kernel, storms of them,
 * signals to the process, stopping. The same program passes on Linux.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "promise.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 8
#define STORM       100000
#define WAITED_FOR  200
#define WAIT_NS     20000000000UL /* what takes longer does not come */

static unsigned thread_count = 4;
static pthread_t threads[THREADS_MAX];
static atomic_int tids[THREADS_MAX];
static atomic_long counts[THREADS_MAX];
static atomic_int finish;
static __thread unsigned self;
static __thread volatile long computed;

/* Returns whether `word` gets to `minimum` in time. */
static int comes(atomic_long *word, long minimum)
{
    const uint64_t end_ns = now_ns() + WAIT_NS;

    while (atomic_load(word) < minimum)
        if (now_ns() > end_ns)
            return 0;
    return 1;
}

static void count(int signal)
{
    (void)signal;
    atomic_fetch_add(&counts[self], 1);
}

static void *compute(void *number)
{
    self = (unsigned)(uintptr_t)number;
    atomic_store(&tids[self], (int)syscall(SYS_gettid));
    while (!atomic_load_explicit(&finish, memory_order_relaxed))
        computed++;
    return NULL;
}

static long total(void)
{
    long sum = 0;

    for (unsigned i = 0; i < thread_count; i++)
        sum += atomic_load(&counts[i]);
    return sum;
}

static void every_thread_is_reached_while_it_computes(void)
{
    for (unsigned i = 1; i < thread_count; i++) {
        long before = atomic_load(&counts[i]);

        PROMISE(syscall(SYS_tgkill, getpid(), atomic_load(&tids[i]), SIGUSR1) == 0, "%d", errno);
        PROMISE(comes(&counts[i], before + 1), "thread %u was not reached", i);
    }
    PROMISE(syscall(SYS_tgkill, getpid(), 4000000, SIGUSR1) < 0 && errno == ESRCH, "%d", errno);
}

/* Sends signals, each after the one before has come, so that none are merged. */
static void none_of_many_is_lost(void)
{
    long before = total(), sent = 0;

    while (sent < WAITED_FOR) {
        unsigned to = 1 + (unsigned)sent % (thread_count - 1);
        long had = atomic_load(&counts[to]);

        pthread_kill(threads[to], SIGUSR1);
        sent++;
        if (!comes(&counts[to], had + 1))
            break;
    }
    PROMISE(total() - before == WAITED_FOR, "%ld of %d after %ld", total() - before, WAITED_FOR, sent);
}

static void a_storm_without_waiting_harms_nobody(void)
{
    long before = total();

    for (int i = 0; i < STORM; i++)
        pthread_kill(threads[1 + (unsigned)i % (thread_count - 1)], i % 3 ? SIGUSR1 : SIGUSR2);
    const uint64_t end_ns = now_ns() + WAIT_NS;
    while (total() == before && now_ns() < end_ns)
        ;
    PROMISE(total() > before && total() - before <= STORM, "%ld", total() - before);
}

static void a_signal_to_the_process_goes_to_one_thread_that_takes_it(void)
{
    sigset_t mask, old;

    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &mask, &old);
    for (int i = 0; i < 20; i++) {
        long before = total();
        const uint64_t end_ns = now_ns() + WAIT_NS;

        kill(getpid(), SIGTERM);
        while (thread_count > 1 && total() == before && now_ns() < end_ns)
            ;
        PROMISE(total() == before + 1 && atomic_load(&counts[0]) == 0, "%ld more, %ld here", total() - before,
                atomic_load(&counts[0]));
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    kill(getpid(), SIGTERM);
    PROMISE(comes(&counts[0], 1), "the first thread is preferred");
}

static void *block_and_wait(void *number)
{
    sigset_t mask;
    int signal = 0;

    (void)number;
    sigemptyset(&mask);
    sigaddset(&mask, SIGHUP);
    PROMISE(sigwait(&mask, &signal) == 0 && signal == SIGHUP, "%d", signal);
    return (void *)1;
}

static void a_thread_that_waits_for_a_signal_gets_it(void)
{
    pthread_t waiter;
    sigset_t mask, old;
    void *result = NULL;

    sigemptyset(&mask);
    sigaddset(&mask, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &mask, &old);
    if (pthread_create(&waiter, NULL, block_and_wait, NULL) == 0) {
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
        kill(getpid(), SIGHUP);
        pthread_join(waiter, &result);
        PROMISE(result == (void *)1, "%p", result);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void *end_while_it_waits(void *number)
{
    (void)number;
    return NULL;
}

/* Sleeps until cancelled, for which the C library uses its own signal. */
static void *sleep_for_ever(void *number)
{
    (void)number;
    for (;;)
        pause();
    return NULL;
}

static void threads_are_cancelled(void)
{
    pthread_t thread;
    void *result = NULL;

    if (pthread_create(&thread, NULL, sleep_for_ever, NULL))
        return;
    nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    PROMISE(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED,
            "%p", result);
    for (int i = 0; i < 50; i++)
        if (pthread_create(&thread, NULL, end_while_it_waits, NULL) == 0) {
            kill(getpid(), SIGUSR1);
            pthread_join(thread, NULL);
        }
}

int main(int count_of, char **arguments)
{
    struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };

    if (count_of > 1)
        thread_count = (unsigned)atoi(arguments[1]);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (thread_count > 1) {
        a_thread_that_waits_for_a_signal_gets_it();
        threads_are_cancelled();
        atomic_store(&counts[0], 0);
        for (unsigned i = 1; i < thread_count; i++) {
            if (pthread_create(&threads[i], NULL, compute, (void *)(uintptr_t)i))
                return 70;
            while (!atomic_load(&tids[i]))
                ;
        }
        every_thread_is_reached_while_it_computes();
        a_signal_to_the_process_goes_to_one_thread_that_takes_it();
        none_of_many_is_lost();
        a_storm_without_waiting_harms_nobody();
        atomic_store(&finish, 1);
        for (unsigned i = 1; i < thread_count; i++)
            pthread_join(threads[i], NULL);
    }
    return promises_kept();
}
