/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sharing.h: what programs about threads that share CPUs need: clocks, words to wait for, policies, threads
 * by number, and `NAME [NUMBER]` on the command line.
 */
#ifndef SHARING_H
#define SHARING_H

#include "clock.h"
#include "promise.h"
#include "waiter.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <tacet.h>
#include <time.h>

#define THREADS_MAX 1024
#define MS          UINT64_C(1000000)
#define FUTEX_WAIT  0
#define FUTEX_WAKE  1

static unsigned cpus;   /* of this rank, from 0 on */
static uint64_t number; /* the second argument */
static int turn_ns;     /* rotation= */
static pthread_t handles[THREADS_MAX];
static int volatile flags[THREADS_MAX]; /* words for all threads; see go() */
static uint64_t volatile counts[THREADS_MAX];
static pid_t volatile tids[THREADS_MAX];

static inline void spin_ns(uint64_t ns)
{
    for (uint64_t end = now_ns() + ns; now_ns() < end;)
        ;
}

static inline void sleep_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){ (time_t)(ns / 1000 / MS), (long)(ns % (1000 * MS)) }, NULL);
}

static inline void word_wait(volatile int *word, int value)
{
    while (*word == value)
        syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static inline void word_set(volatile int *word, int value)
{
    *word = value;
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static inline unsigned cpu_here(void)
{
    unsigned cpu = ~0U;

    syscall(SYS_getcpu, &cpu, NULL, NULL);
    return cpu;
}

static inline pid_t tid_here(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/* Binds a thread to the CPUs of `mask`, one bit each; a tid of 0 is the caller. */
static inline int pin(pid_t tid, uint64_t mask)
{
    return (int)syscall(SYS_sched_setaffinity, tid, sizeof(mask), &mask);
}

static inline int policy_set(pid_t tid, int policy, int priority)
{
    const struct sched_param parameters = { .sched_priority = priority };

    return (int)syscall(SYS_sched_setscheduler, tid, policy, &parameters);
}

static inline const volatile struct tacet_counters *counters(unsigned cpu)
{
    return tacet_counters(cpu);
}

/* Starts a thread with a small stack, all of which is memory from the beginning. */
static inline void start(unsigned i, void *(*run)(void *))
{
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    int error = pthread_create(&handles[i], &small, run, (void *)(uintptr_t)i);
    pthread_attr_destroy(&small);
    PROMISE(error == 0, "thread %u: %s", i, strerror(error));
    if (error)
        exit(promises_kept());
}

static inline void join(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        PROMISE(pthread_join(handles[i], NULL) == 0, "%u", i);
}

static volatile bool over, never;

static inline void *blocks(void *argument)
{
    word_wait(&flags[(uintptr_t)argument], 0);
    return NULL;
}

static inline void handler(int unused)
{
    (void)unused;
    over = true;
}

struct test {
    const char *name;
    void (*run)(void);
};

static inline int test_run(const struct test *tests, unsigned count, int argument_count, char **arguments)
{
    struct timespec turn;
    cpu_set_t set;

    sched_getaffinity(0, sizeof(set), &set);
    cpus = (unsigned)CPU_COUNT(&set);
    syscall(SYS_sched_rr_get_interval, 0, &turn);
    turn_ns = (int)turn.tv_nsec;
    number = argument_count > 2 ? strtoull(arguments[2], NULL, 0) : 0;
    for (unsigned i = 0; argument_count > 1 && i < count; i++)
        if (strcmp(tests[i].name, arguments[1]) == 0) {
            tests[i].run();
            return promises_kept();
        }
    fprintf(stderr, "usage: %s TEST [NUMBER]\n", arguments[0]);
    return 64;
}

#endif
