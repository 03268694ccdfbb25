/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inherit.c: the owner of a lock that inherits priority runs before all threads before which its waiter runs.
 * The threads are pinned to one CPU; the promise is an order, whatever the length of a turn.
 *
 *   (nothing)  a SCHED_IDLE owner, a SCHED_FIFO waiter, a SCHED_OTHER thread that computes; chains, times
 *   storm      threads on all CPUs lock in any order, for times, with signals and changes of rank
 *   shared     two ranks: one lock for both, a circle, and an owner that ends
 */
#define _GNU_SOURCE
#include "clock.h"
#include "promise.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum { FUTEX_LOCK_PI = 6, FUTEX_UNLOCK_PI = 7, FUTEX_PRIVATE = 128 };
#define WAITERS (1U << 31)
#define WORK    100000
#define LONG_NS 10000000000U
#define TIME_NS 30000000U

typedef _Atomic uint32_t lock_word;

static int result_of(long answer)
{
    return answer ? -errno : 0;
}

static uint32_t tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static int lock(lock_word *word)
{
    uint32_t free = 0;

    return atomic_compare_exchange_strong(word, &free, tid())
               ? 0
               : result_of(syscall(SYS_futex, word, FUTEX_LOCK_PI, 0, NULL));
}

static int unlock(lock_word *word)
{
    uint32_t own = tid();

    return atomic_compare_exchange_strong(word, &own, 0)
               ? 0
               : result_of(syscall(SYS_futex, word, FUTEX_UNLOCK_PI));
}

static void rank_set(uint32_t thread, int policy, int priority)
{
    struct sched_param parameter = { .sched_priority = priority };

    PROMISE(syscall(SYS_sched_setscheduler, thread, policy, &parameter) == 0, "%s", strerror(errno));
}

#define UNTIL(condition) \
    while (!(condition)) \
    usleep(1000)

static pthread_t begun(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, run, argument);

    PROMISE(error == 0, "%s", strerror(error));
    return thread;
}

/* ---- One CPU ---- */

static lock_word first, second;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static bool is_plain;
static _Atomic uint32_t waiter_tid;
static atomic_int owned, may_release, released, after, taken, timed_out, computes;
static atomic_ulong worked;
static uint64_t wait_ns;
static bool owner_ran; /* while a thread waited for its lock */

static void *own(void *unused)
{
    rank_set(0, SCHED_IDLE, 0);
    if (is_plain)
        pthread_mutex_lock(&plain);
    else
        PROMISE(lock(&first) == 0, "first");
    owned = 1;
    while (!may_release) {
        worked++;
        sched_yield(); /* its waiter, of the same rank then, can find out that its time is over */
    }
    for (unsigned i = 0; i < WORK; i++)
        worked++;
    released = 1;
    if (is_plain)
        pthread_mutex_unlock(&plain);
    else
        PROMISE(unlock(&first) == 0, "first");
    after = 1;
    return unused;
}

/* Has the second lock, and waits for the first. */
static void *stand_between(void *unused)
{
    rank_set(0, SCHED_OTHER, 0);
    PROMISE(lock(&second) == 0, "second");
    owned = 2;
    PROMISE(lock(&first) == 0, "first");
    PROMISE(unlock(&first) == 0, "first");
    PROMISE(unlock(&second) == 0, "second");
    return unused;
}

static void *take(void *which)
{
    rank_set(0, SCHED_FIFO, 10);
    may_release = 1;
    if (is_plain)
        pthread_mutex_lock(&plain);
    else
        PROMISE(lock(which) == 0, "taken");
    taken = 1;
    if (is_plain)
        pthread_mutex_unlock(&plain);
    else
        PROMISE(unlock(which) == 0, "taken");
    return NULL;
}

static void *take_when_raised(void *unused)
{
    rank_set(0, SCHED_OTHER, 0);
    waiter_tid = tid();
    PROMISE(lock(&first) == 0, "first");
    taken = 1;
    PROMISE(unlock(&first) == 0, "first");
    return unused;
}

static void *take_for_a_time(void *unused)
{
    uint64_t end_ns = clock_ns(CLOCK_REALTIME) + wait_ns;
    struct timespec end = { (time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000) };

    rank_set(0, SCHED_FIFO, 10);
    PROMISE(syscall(SYS_futex, &first, FUTEX_LOCK_PI, 0, &end) == -1 && errno == ETIMEDOUT, "%d", errno);
    timed_out = 1;
    return unused;
}

/* Computes until *flag is set or a time is over; returns whether it was set. */
static bool compute_until(atomic_int *flag, uint64_t ns)
{
    uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);

    while (!*flag && clock_ns(CLOCK_MONOTONIC) - begin_ns < ns)
        ;
    return *flag;
}

static void *compute(void *rank)
{
    int priority = (int)(uintptr_t)rank;

    rank_set(0, priority ? SCHED_FIFO : SCHED_OTHER, priority);
    computes = 1;
    PROMISE(compute_until(&taken, is_plain ? TIME_NS : LONG_NS) == !is_plain, "%s",
            is_plain ? "the plain lock was released" : "the owner had no CPU");
    PROMISE(!compute_until(&after, TIME_NS) || priority, "the owner runs on when it has released the lock");
    return NULL;
}

static void *compute_beside_a_time(void *unused)
{
    unsigned long before = worked, then;

    rank_set(0, SCHED_OTHER, 0);
    computes = 1;
    PROMISE(compute_until(&timed_out, LONG_NS), "the waiter waits still");
    then = worked;
    owner_ran = then > before;
    compute_until(&after, TIME_NS);
    PROMISE(worked == then, "the owner runs on when nobody waits any more");
    may_release = 1;
    return unused;
}

static void begin(pthread_t *threads, void *(*computing)(void *), void *rank, bool chain)
{
    waiter_tid = 0;
    owned = may_release = released = after = taken = timed_out = computes = 0;
    threads[0] = begun(own, NULL);
    UNTIL(owned == 1);
    if (chain) {
        threads[3] = begun(stand_between, NULL);
        UNTIL(owned == 2);
    }
    if (computing) {
        threads[1] = begun(computing, rank);
        UNTIL(computes);
    }
}

static void join(const pthread_t *threads, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void an_owner_runs_for_its_waiter(bool with_plain_lock)
{
    pthread_t threads[4];

    is_plain = with_plain_lock;
    begin(threads, compute, NULL, false);
    threads[2] = begun(take, &first);
    join(threads, 3);
    is_plain = false;
}

static void an_owner_runs_for_its_waiter_s_waiter(void)
{
    pthread_t threads[4];

    begin(threads, compute, NULL, true);
    threads[2] = begun(take, &second);
    join(threads, 4);
}

static void an_owner_runs_for_a_time(void)
{
    pthread_t threads[4];

    /* If the host stops the machine for that time, no thread waits in it: again, with more. */
    for (wait_ns = TIME_NS; wait_ns < 32UL * TIME_NS; wait_ns *= 2) {
        begin(threads, compute_beside_a_time, NULL, false);
        threads[2] = begun(take_for_a_time, NULL);
        join(threads, 3);
        if (owner_ran)
            break;
    }
    PROMISE(owner_ran, "the owner had no CPU while somebody waited");
}

static void a_waiter_that_is_raised_raises_the_owner(void)
{
    pthread_t threads[4];

    begin(threads, NULL, NULL, false);
    threads[2] = begun(take_when_raised, NULL);
    UNTIL(first & WAITERS);
    threads[1] = begun(compute, (void *)5);
    UNTIL(computes);
    may_release = 1;
    usleep(10000);
    PROMISE(!released, "an owner of lower rank runs");
    rank_set(waiter_tid, SCHED_FIFO, 20);
    join(threads, 3);
}

static const int priorities[] = { 10, 30, 20, 30 };
static atomic_uint at_the_lock, turn;
static unsigned order[4];

static void *stand_in_line(void *number)
{
    rank_set(0, SCHED_FIFO, priorities[(uintptr_t)number]);
    at_the_lock++;
    PROMISE(lock(&first) == 0, "first");
    order[turn++] = (unsigned)(uintptr_t)number;
    PROMISE(unlock(&first) == 0, "first");
    return NULL;
}

static void the_highest_waiter_is_next(void)
{
    pthread_t threads[4];

    rank_set(0, SCHED_OTHER, 0);
    PROMISE(lock(&first) == 0, "first");
    for (uintptr_t i = 0; i < 4; i++) {
        threads[i] = begun(stand_in_line, (void *)i);
        UNTIL(at_the_lock == i + 1);
    }
    PROMISE(unlock(&first) == 0, "first");
    join(threads, 4);
    PROMISE(order[0] == 1 && order[1] == 3 && order[2] == 2 && order[3] == 0, "%u %u %u %u", order[0],
            order[1], order[2], order[3]);
}

static void on_one_cpu(void)
{
    cpu_set_t set, one;

    sched_getaffinity(0, sizeof(set), &set);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &set))
            CPU_SET(cpu, &one);
    PROMISE(sched_setaffinity(0, sizeof(one), &one) == 0, "%s", strerror(errno));
    rank_set(0, SCHED_FIFO, 50);
    an_owner_runs_for_its_waiter(true); /* the method sees it where the owner does not inherit */
    an_owner_runs_for_its_waiter(false);
    an_owner_runs_for_its_waiter_s_waiter();
    an_owner_runs_for_a_time();
    a_waiter_that_is_raised_raises_the_owner();
    the_highest_waiter_is_next();
}

/* ---- All CPUs ---- */

#define STORM_THREADS 12
#define STORM_LOCKS   4
#define STORM_ROUNDS  800

static struct {
    lock_word word;
    unsigned inside; /* by one thread at a time */
} storm[STORM_LOCKS];
static _Atomic uint32_t tids[STORM_THREADS];
static atomic_uint storm_errors, circles, time_outs;

static unsigned random_below(uint64_t *state, unsigned limit)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return (unsigned)(*state >> 20) % limit;
}

static void handle(int number)
{
    (void)number;
}

static bool storm_lock(unsigned which, unsigned micros)
{
    uint64_t end_ns = clock_ns(CLOCK_REALTIME) + micros * 1000UL;
    struct timespec end = { (time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000) };
    uint32_t free = 0;
    int error = atomic_compare_exchange_strong(&storm[which].word, &free, tid())
                    ? 0
                    : result_of(syscall(SYS_futex, &storm[which].word, FUTEX_LOCK_PI | FUTEX_PRIVATE, 0,
                                        micros ? &end : NULL));

    circles += error == -EDEADLK;
    time_outs += error == -ETIMEDOUT;
    storm_errors += error && error != -EDEADLK && (error != -ETIMEDOUT || !micros);
    storm_errors += !error && storm[which].inside++ != 0;
    return !error;
}

static void storm_unlock(unsigned which)
{
    uint32_t own = tid();

    storm_errors += --storm[which].inside != 0;
    if (!atomic_compare_exchange_strong(&storm[which].word, &own, 0))
        storm_errors += syscall(SYS_futex, &storm[which].word, FUTEX_UNLOCK_PI | FUTEX_PRIVATE) != 0;
}

static void *weather(void *number)
{
    uint64_t state = 88172645463325252U + (uintptr_t)number * 7919;

    tids[(uintptr_t)number] = tid();
    for (unsigned i = 0; i < STORM_ROUNDS; i++) {
        unsigned one = random_below(&state, STORM_LOCKS), other = random_below(&state, STORM_LOCKS);
        uint32_t victim = tids[random_below(&state, STORM_THREADS)];
        unsigned rank = random_below(&state, 20);
        struct sched_param parameter = { .sched_priority = (int)rank };

        if (victim && i % 8 == 0)
            syscall(SYS_sched_setscheduler, victim, rank ? SCHED_FIFO : SCHED_IDLE, &parameter);
        if (victim && i % 16 == 1)
            syscall(SYS_tgkill, getpid(), victim, SIGUSR1);
        if (!storm_lock(one, random_below(&state, 2) * 200))
            continue;
        usleep(i % 4 ? 0 : 10);
        if (other != one && storm_lock(other, random_below(&state, 2) * 200)) {
            sched_yield();
            storm_unlock(other);
        }
        storm_unlock(one);
    }
    tids[(uintptr_t)number] = 0;
    return NULL;
}

static void on_all_cpus(void)
{
    struct sigaction action = { .sa_handler = handle };
    pthread_t threads[STORM_THREADS];

    sigaction(SIGUSR1, &action, NULL);
    for (uintptr_t i = 0; i < STORM_THREADS; i++)
        threads[i] = begun(weather, (void *)i);
    join(threads, STORM_THREADS);
    PROMISE(storm_errors == 0, "%u", storm_errors);
    PROMISE(circles && time_outs, "%u circles, %u time-outs", circles, time_outs);
    for (unsigned i = 0; i < STORM_LOCKS; i++)
        PROMISE(lock(&storm[i].word) == 0 && unlock(&storm[i].word) == 0 && storm[i].word == 0, "%u", i);
}

/* ---- Two ranks ---- */

static struct shared {
    atomic_int steps[2]; /* how far each rank is */
    lock_word common, circle[2], lost;
    unsigned long count;
    pthread_mutex_t robust;
} * shared;

static unsigned me;

static void step(int number)
{
    shared->steps[me] = number;
    UNTIL(shared->steps[1 - me] >= number);
}

static void *wait_for_what_is_lost(void *unused)
{
    int error = lock(&shared->lost);

    PROMISE(error == -ESRCH, "%d", error);
    return unused;
}

static void one_lock_for_both(void)
{
    for (unsigned i = 0; i < 2000; i++) {
        PROMISE(lock(&shared->common) == 0, "common");
        unsigned long count = ++shared->count;
        sched_yield();
        PROMISE(shared->count == count, "two have the lock");
        PROMISE(unlock(&shared->common) == 0, "common");
    }
    step(2);
    PROMISE(shared->count == 4000 && shared->common == 0, "%lu", shared->count);
}

static void a_circle_of_both(void)
{
    PROMISE(lock(&shared->circle[me]) == 0, "free");
    step(3);
    if (me == 0) {
        PROMISE(lock(&shared->circle[1]) == 0, "released by rank 1");
        PROMISE(unlock(&shared->circle[1]) == 0, "taken");
    } else {
        UNTIL(shared->circle[1] & WAITERS);
        int error = lock(&shared->circle[0]);
        PROMISE(error == -EDEADLK, "%d", error);
        error = result_of(syscall(SYS_futex, &shared->circle[0], FUTEX_LOCK_PI | FUTEX_PRIVATE, 0, NULL));
        PROMISE(error == -ESRCH, "no thread of this process: %d", error);
    }
    PROMISE(unlock(&shared->circle[me]) == 0, "own");
    step(4);
}

static void an_owner_of_another_rank_ends(void)
{
    if (me == 1) {
        PROMISE(pthread_mutex_lock(&shared->robust) == 0 && lock(&shared->lost) == 0, "free");
        step(5);
        UNTIL(shared->lost & WAITERS);
        usleep(20000);
        return;
    }
    step(5);
    pthread_t thread = begun(wait_for_what_is_lost, NULL);
    int error = pthread_mutex_lock(&shared->robust);
    PROMISE(error == EOWNERDEAD, "%d", error);
    PROMISE(pthread_mutex_consistent(&shared->robust) == 0 && pthread_mutex_unlock(&shared->robust) == 0,
            "made good");
    pthread_join(thread, NULL);
}

static void of_two_ranks(void)
{
    int file = open("/dev/shm/inherit", O_RDWR | O_CREAT, 0600);
    const char *rank = getenv("TACET_RANK");
    pthread_mutexattr_t attributes;

    PROMISE(file >= 0 && ftruncate(file, sizeof(*shared)) == 0, "%s", strerror(errno));
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    me = rank && atoi(rank) == 1;
    if (me == 0) {
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        PROMISE(pthread_mutex_init(&shared->robust, &attributes) == 0, "init");
    }
    step(1);
    one_lock_for_both();
    a_circle_of_both();
    an_owner_of_another_rank_ends();
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "shared") == 0)
        of_two_ranks();
    else if (count > 1 && strcmp(arguments[1], "storm") == 0)
        on_all_cpus();
    else
        on_one_cpu();
    return promises_kept();
}
