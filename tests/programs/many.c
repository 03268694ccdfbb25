/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many.c CPUS [apart]: a rank with all CPUs of a large node. It has a thread on each CPU, bound to it. All
 * threads take one mutex in turns, meet at a barrier, each write a line, and see that a thread has unmapped
 * memory. With `apart` they never compete: on a host with a hundredth of the CPUs, a contended lock takes
 * minutes.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tacet.h>

#define CPUS_MAX 1024
#define TURNS    4
#define SHOTS    3
#define PAGE     MACHINE_PAGE
#define ROOM     (CPUS_MAX / 8)

enum { FUTEX_WAIT_BITS = 9 | 128, FUTEX_WAKE_BITS = 10 | 128 }; /* FUTEX_…_BITSET_PRIVATE */

static unsigned cpus;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t sum, wrong_cpu, wrong_mask;
static volatile char *page;

/* Returns whether the kernel's mask has the right size and only this CPU's bit set. */
static int mask_is(unsigned cpu)
{
    unsigned char mask[ROOM] = { 0 };
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);

    for (unsigned i = 0; i < CPUS_MAX; i++)
        if ((mask[i / 8] >> i % 8 & 1) != (i == cpu))
            return 0;
    return bytes == (long)((cpus + 63) / 64 * 8);
}

static unsigned arrived, turn;

/* Waits on its CPU, where the page is in the TLB, until it is its turn to end. */
static void *run_apart(void *argument)
{
    const unsigned cpu = (unsigned)(uintptr_t)argument;

    if (sched_getcpu() != (int)cpu)
        __atomic_fetch_add(&wrong_cpu, 1, __ATOMIC_RELAXED);
    if (!mask_is(cpu) || page[0] != 0)
        __atomic_fetch_add(&wrong_mask, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    for (unsigned now; (now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST)) <= cpu;)
        syscall(SYS_futex, &turn, FUTEX_WAIT_BITS, now, NULL, NULL, 1u << cpu % 32);
    if (page[0] != SHOTS || sched_getcpu() != (int)cpu)
        __atomic_fetch_add(&wrong_mask, 1, __ATOMIC_RELAXED);
    sum += (uint64_t)TURNS * cpu; /* no other thread does, in its turn */
    return NULL;
}

static void page_replace(unsigned value)
{
    page = mmap((void *)page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    page[0] = (char)value;
}

static void end_apart(const pthread_t *threads)
{
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < cpus)
        usleep(1000);
    for (unsigned i = 0; i < SHOTS; i++)
        page_replace(i + 1);
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        __atomic_store_n(&turn, cpu + 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &turn, FUTEX_WAKE_BITS, INT32_MAX, NULL, NULL, 1u << cpu % 32);
        pthread_join(threads[cpu], NULL);
    }
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
            page_replace(i + 1);
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
    mask[bytes] = 1; /* a CPU that cannot exist */
    FAILS(syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask), EINVAL);
    mask[(cpus - 1) / 8] = (unsigned char)(1 << (cpus - 1) % 8);
    IS(syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask), 0); /* ignored next to one that exists */
    PROMISE(sched_getcpu() == (int)cpus - 1 && mask_is(cpus - 1), "CPU %d", sched_getcpu());
    memset(mask, 0xff, sizeof(mask));
    IS(syscall(SYS_sched_setaffinity, 0, sizeof(mask), mask), 0);
}

/* Checks the files that C libraries and runtimes read. */
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
    const bool is_apart = count > 2 && strcmp(arguments[2], "apart") == 0;
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
        PROMISE(pthread_create(&threads[cpu], &attributes, is_apart ? run_apart : run,
                               (void *)(uintptr_t)cpu) == 0,
                "CPU %u", cpu);
        sched_setaffinity(0, sizeof(all), &all);
    }
    if (is_apart)
        end_apart(threads);
    for (unsigned cpu = 0; cpu < cpus && !is_apart; cpu++)
        pthread_join(threads[cpu], NULL);
    PROMISE(sum == (uint64_t)TURNS * cpus * (cpus - 1) / 2, "%lu", sum);
    PROMISE(wrong_cpu == 0 && wrong_mask == 0, "%lu %lu", wrong_cpu, wrong_mask);
    return promises_kept();
}
