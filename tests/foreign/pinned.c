/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pinned.c: binds threads to CPUs that other threads use, too, as noise tools and runtimes do:
 *
 *     pinned jitter           a thread on each CPU spins until the main thread, on one of the CPUs, stops it
 *     pinned quanta THREADS   threads on all CPUs, perhaps several on each, begin by spinning for each other
 *     pinned others THREADS   the main thread binds the others, by their numbers, and checks where they are
 *     pinned tour THREADS     all threads bind themselves to one CPU after another at the same time
 */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX 64

static int cpus[CPU_SETSIZE], cpu_count;
static int threads;
static _Atomic int ready, go, stop, errors;
static _Atomic long work[MAX];
static _Atomic pid_t tids[MAX];

static void cpus_find(void)
{
    cpu_set_t all;

    must("the CPUs are known", sched_getaffinity(0, sizeof(all), &all) == 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all))
            cpus[cpu_count++] = cpu;
    }
}

/* Binds a thread, 0: the caller, to one CPU. Returns false if this fails or is not reported back. */
static bool bind(pid_t tid, int cpu)
{
    cpu_set_t one, now;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(tid, sizeof(one), &one) == 0 && sched_getaffinity(tid, sizeof(now), &now) == 0 &&
           CPU_EQUAL(&one, &now);
}

static void pause_ms(long ms)
{
    struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* Does a piece of work without a system call. */
static void compute(int own)
{
    for (volatile int i = 0; i < 1000; i++)
        continue;
    work[own]++;
}

static void spin(int own)
{
    int cpu = cpus[own % cpu_count];

    errors += !bind(0, cpu) || sched_getcpu() != cpu;
    ready++;
    while (!go)
        continue;
    while (!stop)
        compute(own);
    errors += sched_getcpu() != cpu;
}

static void *begin_spin(void *data)
{
    spin((int)(long)data);
    return NULL;
}

static void jitter(void)
{
    pthread_t crew[MAX];

    threads = cpu_count;
    check("the main thread has a CPU", bind(0, cpus[0]));
    for (int i = 0; i < threads; i++)
        must("a thread", pthread_create(&crew[i], NULL, begin_spin, (void *)(long)i) == 0);
    while (ready < threads)
        pause_ms(1);
    go = 1;
    for (int quiet = 1; quiet > 0;) { /* until each thread has worked */
        pause_ms(5);
        quiet = 0;
        for (int i = 0; i < threads; i++)
            quiet += work[i] == 0;
    }
    stop = 1;
    for (int i = 0; i < threads; i++)
        pthread_join(crew[i], NULL);
    check("each thread stayed on its CPU", errors == 0);
    check("each thread worked", true);
}

static void quanta_of(int own)
{
    int cpu = cpus[own % cpu_count];

    errors += !bind(0, cpu);
    ready++;
    while (ready < threads) /* all threads wait for each other without a system call */
        continue;
    while (work[own] < 300)
        compute(own);
    errors += sched_getcpu() != cpu;
}

static void quanta(void)
{
    bool whole = true;

    crew_run(threads, quanta_of);
    for (int i = 0; i < threads; i++)
        whole = whole && work[i] == 300;
    check("each thread stayed on its CPU", errors == 0);
    check("each thread did its quanta", whole);
}

/* Computes or sleeps, by its number, until the end. */
static void wait_for_end(int own)
{
    tids[own] = (pid_t)syscall(SYS_gettid);
    ready++;
    while (!stop) {
        if (own % 2)
            compute(own);
        else
            pause_ms(1);
    }
    errors += sched_getcpu() != cpus[(own + 1) % cpu_count];
}

static void *begin_wait(void *data)
{
    wait_for_end((int)(long)data);
    return NULL;
}

static void others(void)
{
    pthread_t crew[MAX];
    bool bound = true;

    for (int i = 0; i < threads; i++)
        must("a thread", pthread_create(&crew[i], NULL, begin_wait, (void *)(long)i) == 0);
    while (ready < threads)
        pause_ms(1);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < threads; i++)
            bound = bind(tids[i], cpus[(i + round * 7) % cpu_count]) && bound;
        sched_yield();
    }
    for (int i = 0; i < threads; i++)
        bound = bind(tids[i], cpus[(i + 1) % cpu_count]) && bound;
    stop = 1;
    for (int i = 0; i < threads; i++)
        pthread_join(crew[i], NULL);
    check("all were bound, again and again", bound);
    check("each thread ended where it was sent", errors == 0);
}

static void tour_of(int own)
{
    ready++;
    while (ready < threads)
        sched_yield();
    for (int round = 0; round < 50; round++) {
        int cpu = cpus[(own + round) % cpu_count];

        errors += !bind(0, cpu) || sched_getcpu() != cpu;
        compute(own);
        if (round % 10 == own % 10)
            pause_ms(1);
        errors += sched_getcpu() != cpu;
    }
}

static void tour(void)
{
    crew_run(threads, tour_of);
    check("each thread was wherever it wanted to be", errors == 0);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(void);
    } parts[] = { { "jitter", jitter }, { "quanta", quanta }, { "others", others }, { "tour", tour } };

    cpus_find();
    threads = count_of(argc - 1, argv + 1, 4);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            return wrong != 0;
        }
    }
    must("a part that there is", false);
    return 1;
}
