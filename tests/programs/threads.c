/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c: threads as programs use them. What it checks holds on Linux, too, but for `bomb`: Linux allows
 * more threads.
 *
 *   (nothing)  locks, conditions, barriers, time-outs, robust locks, requeueing, names, clocks, affinity
 *   bomb N     N threads for each CPU, and not one more; again and again
 *   fault      another thread writes to where nothing is, while the rest compute or sleep
 *   exit       another thread ends the process with 7 while the rest compute or sleep
 *   leave      the first thread ends alone; the last of the others ends the process
 */
#define _GNU_SOURCE
#include "clock.h"
#include "promise.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* <linux/futex.h> does not come with every C library. */
enum {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10
};
#define ADD_2_IF_EQUAL_5 (1U << 28 | 0U << 24 | 2U << 12 | 5U)

#define THREADS_MAX 1024
#define ROUNDS      2000

static unsigned cpus; /* that this process may use */

static unsigned cpu_here(void)
{
    unsigned cpu = ~0U;

    syscall(SYS_getcpu, &cpu, NULL, NULL);
    return cpu;
}

static unsigned cpus_allowed(cpu_set_t *set)
{
    CPU_ZERO(set);
    PROMISE(sched_getaffinity(0, sizeof(*set), set) == 0, "%s", strerror(errno));
    return (unsigned)CPU_COUNT(set);
}

/* Starts `count` threads and waits for all of them. */
static void together(unsigned count, void *(*run)(void *))
{
    pthread_t threads[THREADS_MAX];

    for (unsigned i = 0; i < count; i++) {
        int error = pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);

        PROMISE(error == 0, "thread %u of %u: %s", i, count, strerror(error));
    }
    for (unsigned i = 0; i < count; i++)
        PROMISE(pthread_join(threads[i], NULL) == 0, "%u", i);
}

/* ---- Locks, conditions, barriers ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned counter, turn, arrived[ROUNDS];
static _Atomic uint64_t cpus_seen;

static void *count(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number;

    cpus_seen |= 1ULL << cpu_here();
    for (unsigned i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        pthread_mutex_unlock(&lock);
    }
    for (unsigned i = 0; i < ROUNDS / 10; i++) { /* in turn, round after round */
        pthread_mutex_lock(&lock);
        while (turn % cpus != me)
            pthread_cond_wait(&turned, &lock);
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
    }
    for (unsigned i = 0; i < ROUNDS / 10; i++) {
        __atomic_fetch_add(&arrived[i], 1, __ATOMIC_RELAXED);
        pthread_barrier_wait(&barrier);
        if (arrived[i] != cpus)
            abort();
    }
    return NULL;
}

static void threads_work_together(void)
{
    pthread_t threads[THREADS_MAX];

    pthread_barrier_init(&barrier, NULL, cpus);
    for (unsigned i = 1; i < cpus; i++)
        PROMISE(pthread_create(&threads[i], NULL, count, (void *)(uintptr_t)i) == 0, "thread %u", i);
    count(NULL);
    for (unsigned i = 1; i < cpus; i++)
        pthread_join(threads[i], NULL);
    PROMISE(counter == cpus * ROUNDS, "%u", counter);
    PROMISE(turn == cpus * (ROUNDS / 10), "%u", turn);
}

static atomic_bool timed_out;

static void *unlock_late(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_barrier_wait(&barrier);
    while (!timed_out)
        usleep(1000);
    pthread_mutex_unlock(mutex);
    return NULL;
}

static void waits_end_by_their_time(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    struct timespec until;
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);

    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, unlock_late, &mutex);
    pthread_barrier_wait(&barrier);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 5000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    PROMISE(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT, "the lock was free");
    PROMISE(clock_ns(CLOCK_MONOTONIC) - start_ns >= 5000000, "too early");
    timed_out = true;
    PROMISE(pthread_mutex_lock(&mutex) == 0, "%s", strerror(errno));
    pthread_join(thread, NULL);
}

static void *lock_and_die(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

static void a_robust_lock_survives_its_owner(void)
{
    pthread_mutexattr_t robust;
    pthread_mutex_t mutex;
    pthread_t thread;

    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &robust);
    pthread_create(&thread, NULL, lock_and_die, &mutex);
    pthread_join(thread, NULL);
    PROMISE(pthread_mutex_lock(&mutex) == EOWNERDEAD, "the owner's end is reported");
    PROMISE(pthread_mutex_consistent(&mutex) == 0, "%s", strerror(errno));
    PROMISE(pthread_mutex_unlock(&mutex) == 0, "%s", strerror(errno));
}

/* ---- Futexes as such ---- */

static uint32_t first_word, second_word;
static _Atomic unsigned woken;

static long futex(uint32_t *word, int operation, uint32_t value, uintptr_t timeout_or_count, uint32_t *word2,
                  uint32_t value3)
{
    return syscall(SYS_futex, word, operation, value, timeout_or_count, word2, value3);
}

static void *wait_for_word(void *bits)
{
    long result = futex(&first_word, FUTEX_WAIT_BITSET, 0, 0, NULL, (uint32_t)(uintptr_t)bits + 1);

    if (result == 0)
        woken++;
    return NULL;
}

/* Waits until all of them wait. Only the kernel knows: it requeues that number and wakes none. */
static void until_waiting(uint32_t *word, long waiters)
{
    while (futex(word, FUTEX_CMP_REQUEUE, 0, (uintptr_t)waiters, word, 0) != waiters)
        sched_yield();
}

static void waiters_move_to_another_word(void)
{
    pthread_t threads[THREADS_MAX];
    long others = (long)cpus - 1;

    for (long i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, wait_for_word, (void *)(uintptr_t)0);
    until_waiting(&first_word, others);
    PROMISE(futex(&first_word, FUTEX_CMP_REQUEUE, 1, 100, &second_word, 1) == -1 && errno == EAGAIN,
            "another value");
    PROMISE(futex(&first_word, FUTEX_WAKE_BITSET, 100, 0, NULL, 2) == 0, "no waiter is in that set");
    PROMISE(futex(&first_word, FUTEX_CMP_REQUEUE, 1, 100, &second_word, 0) == others, "not all");
    PROMISE(futex(&first_word, FUTEX_WAKE, 100, 0, NULL, 0) == 0, "somebody stayed");
    second_word = 5;
    /* The second word was 5, and becomes 5 + 2: so the waiters for it are woken, too. */
    PROMISE(futex(&first_word, FUTEX_WAKE_OP, 1, 100, &second_word, ADD_2_IF_EQUAL_5) == others - 1,
            "not all");
    PROMISE(second_word == 7, "%u", second_word);
    for (long i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    PROMISE(woken == (unsigned)others, "%u", woken);
}

static void bad_futexes_are_refused(void)
{
    uint32_t words[2] = { 0, 0 };
    const struct timespec negative = { -1, 0 };

    PROMISE(futex((uint32_t *)((char *)words + 1), FUTEX_WAKE, 1, 0, NULL, 0) == -1 && errno == EINVAL, "%d",
            errno);
    PROMISE(futex((uint32_t *)8, FUTEX_WAIT, 0, 0, NULL, 0) == -1 && errno == EFAULT, "%d", errno);
    PROMISE(futex(words, FUTEX_WAIT, 1, 0, NULL, 0) == -1 && errno == EAGAIN, "%d", errno);
    PROMISE(futex(words, FUTEX_WAIT, 0, (uintptr_t)&negative, NULL, 0) == -1 && errno == EINVAL, "%d", errno);
    PROMISE(futex(words, FUTEX_WAIT_BITSET, 0, 0, NULL, 0) == -1 && errno == EINVAL, "%d", errno);
    PROMISE(futex(words, FUTEX_WAKE_BITSET, 0, 0, NULL, 0) == -1 && errno == EINVAL, "%d", errno);
    PROMISE(futex(words, 99, 0, 0, NULL, 0) == -1 && errno == ENOSYS, "%d", errno);
    PROMISE(futex(words, 0x1000 | FUTEX_WAIT, 0, 0, NULL, 0) == -1 && errno == ENOSYS,
            "a flag that is none: %d", errno);
}

/* ---- What a thread is ---- */

static void *report_itself(void *number)
{
    char name[16] = "", mine[16];
    uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), until = clock_ns(CLOCK_MONOTONIC) + 3000000;

    PROMISE(syscall(SYS_gettid) != getpid(), "%ld", syscall(SYS_gettid));
    snprintf(mine, sizeof(mine), "worker-%u", (unsigned)(uintptr_t)number);
    prctl(PR_SET_NAME, mine);
    pthread_barrier_wait(&barrier);
    prctl(PR_GET_NAME, name);
    PROMISE(strcmp(name, mine) == 0, "%s", name);
    while (clock_ns(CLOCK_MONOTONIC) < until)
        ;
    cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    PROMISE(cpu_ns > 0 && cpu_ns < clock_ns(CLOCK_MONOTONIC), "%llu", (unsigned long long)cpu_ns);
    return NULL;
}

static void threads_have_their_own_identity(void)
{
    uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    pthread_barrier_init(&barrier, NULL, cpus - 1);
    together(cpus - 1, report_itself);
    PROMISE(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns >= 1000000,
            "the process's clock counts all threads");
    PROMISE(syscall(SYS_gettid) == getpid(), "the first thread's is the process's");
}

/* ---- Where it runs ---- */

static void *move_to_each_cpu(void *unused)
{
    cpu_set_t all, one;
    unsigned moved = 0;

    (void)unused;
    cpus_allowed(&all);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        volatile double sum = 1.5; /* in vector registers across the move, as a compiler likes it */

        if (!CPU_ISSET(cpu, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof(one), &one) != 0)
            continue; /* the first thread's */
        PROMISE(cpu_here() == cpu, "on %u, bound to %u", cpu_here(), cpu);
        PROMISE(sum * 2 == 3.0, "%f", sum);
        moved++;
    }
    PROMISE(moved >= cpus - 1, "%u", moved);
    CPU_ZERO(&one);
    PROMISE(sched_setaffinity(0, sizeof(one), &one) == -1 && errno == EINVAL, "an empty set");
    PROMISE(sched_setaffinity(0, sizeof(all), &all) == 0, "%s", strerror(errno));
    return NULL;
}

static void a_thread_moves_to_a_free_cpu(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, move_to_each_cpu, NULL);
    pthread_join(thread, NULL);
}

/* ---- Ends ---- */

static _Atomic bool never;

static void *compute(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&barrier);
    while (!never)
        ;
    return NULL;
}

static void *wait_for_ever(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&barrier);
    for (;;)
        futex(&first_word, FUTEX_WAIT, 0, 0, NULL, 0);
    return NULL;
}

static void *end(void *how)
{
    pthread_barrier_wait(&barrier);
    usleep(1000);
    if (strcmp(how, "fault") == 0)
        *(volatile int *)(uintptr_t)(never + 16) = 1;
    exit(7);
}

static void end_by_another_thread(const char *how)
{
    static void *(*const others[])(void *) = { compute, wait_for_ever };
    pthread_t thread;

    pthread_barrier_init(&barrier, NULL, cpus);
    pthread_create(&thread, NULL, end, (void *)(uintptr_t)how);
    for (unsigned i = 0; i + 2 < cpus; i++)
        pthread_create(&thread, NULL, others[i % 2], NULL);
    compute(NULL);
}

static void *outlive(void *first)
{
    pthread_join(*(pthread_t *)first, NULL);
    puts("outlived");
    exit(9);
}

static void end_without_the_others(void)
{
    static pthread_t first, thread;

    first = pthread_self();
    pthread_create(&thread, NULL, outlive, &first);
    pthread_exit(NULL);
}

/* ---- A bomb ---- */

static void *stay(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void bomb(unsigned allowed)
{
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (unsigned round = 0; round < 5; round++) {
        pthread_t threads[THREADS_MAX + 1];
        unsigned count = 0;
        int error = 0;

        pthread_mutex_lock(&lock);
        while (count <= THREADS_MAX && (error = pthread_create(&threads[count], &small, stay, NULL)) == 0)
            count++;
        PROMISE(error == EAGAIN, "%s", strerror(error));
        PROMISE(count == cpus * allowed - 1, "%u threads beside the first on %u CPUs", count, cpus);
        pthread_mutex_unlock(&lock);
        while (count > 0)
            PROMISE(pthread_join(threads[--count], NULL) == 0, "thread %u is lost", count);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    cpu_set_t set;

    cpus = cpus_allowed(&set);
    if (strcmp(what, "bomb") == 0) {
        bomb(argc > 2 ? (unsigned)atoi(argv[2]) : 16);
        return promises_kept();
    }
    if (strcmp(what, "fault") == 0 || strcmp(what, "exit") == 0)
        end_by_another_thread(what);
    if (strcmp(what, "leave") == 0)
        end_without_the_others();
    threads_work_together();
    waits_end_by_their_time();
    a_robust_lock_survives_its_owner();
    waiters_move_to_another_word();
    bad_futexes_are_refused();
    threads_have_their_own_identity();
    a_thread_moves_to_a_free_cpu();
    return promises_kept();
}
