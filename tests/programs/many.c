/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many.c CPUS: a rank with all CPUs of a large node. A thread on each of them, by an affinity of that CPU
 * alone; all take one mutex in turns, meet at a barrier, each write a line, and see what one of them unmaps.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tacet.h>

#define CPUS_MAX 1024
#define TURNS    4
#define SHOTS    3
#define PAGE     4096
#define ROOM     (CPUS_MAX / 8)

static unsigned cpus;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t sum, wrong_cpu, wrong_mask;
static volatile char *page;

/* The kernel's own answer: how many bytes, and nothing set but this CPU's bit. */
static int mask_is(unsigned cpu)
{
    unsigned char mask[ROOM] = { 0 };
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);

    for (unsigned i = 0; i < CPUS_MAX; i++)
        if ((mask[i / 8] >> i % 8 & 1) != (i == cpu))
            return 0;
    return bytes == (long)((cpus + 63) / 64 * 8);
}

static void *run(void *argument)
{
    const unsigned cpu = (unsigned)(uintptr_t)argument;
    char line[32];
    int length = snprintf(line, sizeof(line), "on CPU %u\n", cpu);

    if (sched_getcpu() != (int)cpu)
        __atomic_fetch_add(&wrong_cpu, 1, __ATOMIC_RELAXED);
    if (!mask_is(cpu))
        __atomic_fetch_add(&wrong_mask, 1, __ATOMIC_RELAXED);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutex);
        sum += cpu;
        pthread_mutex_unlock(&mutex);
    }
    if (write(1, line, (size_t)length) != length)
        abort();
    /* Each has the page in its TLB when the first one replaces it. */
    for (unsigned i = 0; i < SHOTS; i++) {
        char seen = page[0];

        pthread_barrier_wait(&barrier);
        if (cpu == 0)
            page = mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                        -1, 0);
        if (cpu == 0)
            page[0] = (char)(i + 1);
        pthread_barrier_wait(&barrier);
        if (seen != (char)i || page[0] != (char)(i + 1))
            __atomic_fetch_add(&wrong_mask, 1, __ATOMIC_RELAXED);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void sizes(void)
{
    const long bytes = (cpus + 63) / 64 * 8;
    unsigned char mask[4 * ROOM] = { 0 };

    IS(syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask), bytes);
    IS(syscall(SYS_sched_getaffinity, 0, bytes, mask), bytes);
    if (bytes > 8)
        FAILS(syscall(SYS_sched_getaffinity, 0, bytes - 8, mask), EINVAL); /* too small for the last CPU */
    memset(mask, 0, sizeof(mask));
    mask[bytes] = 1; /* a CPU that there is not, nor could be */
    FAILS(syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask), EINVAL);
    mask[(cpus - 1) / 8] = (unsigned char)(1 << (cpus - 1) % 8);
    IS(syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask), 0); /* beside one that is there it is ignored */
    PROMISE(sched_getcpu() == (int)cpus - 1 && mask_is(cpus - 1), "CPU %d", sched_getcpu());
    memset(mask, 0xff, sizeof(mask));
    IS(syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask), 0);
}

/* What the files say that C libraries and runtimes read. */
static void files(void)
{
    char text[8192], list[16];
    FILE *file = fopen("/proc/self/status", "r");
    size_t bytes = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    text[bytes] = 0;
    if (file)
        fclose(file);
    snprintf(list, sizeof(list), "\t0-%u\n", cpus - 1);
    const char *allowed = strstr(text, "Cpus_allowed_list:");
    PROMISE(allowed && strstr(allowed, list) == allowed + strlen("Cpus_allowed_list:"), "%s", text);
    PROMISE(sysconf(_SC_NPROCESSORS_ONLN) == (long)cpus, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
}

int main(int count, char **arguments)
{
    pthread_t *threads = calloc(CPUS_MAX, sizeof(*threads));
    pthread_attr_t attributes;

    cpus = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    PROMISE(tacet_node() && tacet_node()->cpu_count == cpus, "%u CPUs", cpus);
    sizes();
    files();
    pthread_barrier_init(&barrier, NULL, cpus);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        cpu_set_t own;
        cpu_set_t all;

        CPU_ZERO(&own);
        CPU_SET(cpu, &own);
        sched_getaffinity(0, sizeof(all), &all);
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, 65536);
        sched_setaffinity(0, sizeof(own), &own); /* the new thread inherits it */
        PROMISE(pthread_create(&threads[cpu], &attributes, run, (void *)(uintptr_t)cpu) == 0, "CPU %u", cpu);
        sched_setaffinity(0, sizeof(all), &all);
    }
    for (unsigned cpu = 0; cpu < cpus; cpu++)
        pthread_join(threads[cpu], NULL);
    PROMISE(sum == (uint64_t)TURNS * cpus * (cpus - 1) / 2, "%lu", sum);
    PROMISE(wrong_cpu == 0 && wrong_mask == 0, "%lu %lu", wrong_cpu, wrong_mask);
    return promises_kept();
}
