/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c THREADS STEPS: an address space that all CPUs of a rank change at the same time.
 *
 *   - each thread maps, fills, protects, moves and unmaps its own memory, whose words no other thread may
 *     change, as would happen if a CPU wrote through a translation that its TLB should have dropped
 *   - if one thread maps memory where another has just used other memory, both see the new memory
 *   - a right that is taken is taken on all CPUs; a right that is given is given on all CPUs
 *   - if memory is replaced while another thread reads it, the reader sees the old or the new memory, and
 *     never a hole
 *
 * At the end all memory is back.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define PAGE        MACHINE_PAGE
#define THREADS_MAX 16
#define SHARED      64UL /* pages that two threads look at */

static unsigned steps;
static atomic_uint broken, finished;

#define HOLDS(condition)                                                                             \
    do {                                                                                             \
        if (!(condition) && atomic_fetch_add(&broken, 1) < 5)                                        \
            fprintf(stderr, "%s:%d: broken: %s, errno %d\n", __FILE__, __LINE__, #condition, errno); \
    } while (0)

static uint64_t random_number(uint64_t *state, uint64_t below)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return (*state >> 11) % below;
}

static void *map(size_t bytes, int rights)
{
    return mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void fill(char *at, size_t pages, uint64_t tag)
{
    for (size_t i = 0; i < pages; i++)
        *(volatile uint64_t *)(at + i * PAGE + (i & 255) * 8) = tag + i;
}

static int is_filled(const char *at, size_t pages, uint64_t tag)
{
    for (size_t i = 0; i < pages; i++)
        if (*(const volatile uint64_t *)(at + i * PAGE + (i & 255) * 8) != tag + i)
            return 0;
    return 1;
}

/* ---- each on its own ---- */

static void *own_memory(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument, state = number * 88172645463325252 + 1;

    for (unsigned step = 0; step < steps; step++) {
        size_t pages = 1 + random_number(&state, random_number(&state, 8) ? 40 : 700),
               more = pages + random_number(&state, 100);
        uint64_t tag = number << 48 | (uint64_t)step << 20;
        char *at = map(pages * PAGE, PROT_READ | PROT_WRITE);

        HOLDS(at != MAP_FAILED);
        if (at == MAP_FAILED)
            break;
        fill(at, pages, tag);
        size_t part = random_number(&state, pages);
        HOLDS(mprotect(at + part * PAGE, PAGE, PROT_NONE) == 0);
        HOLDS(mprotect(at + part * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
        HOLDS(is_filled(at, pages, tag));
        if (step % 3 == 0) {
            char *moved = mremap(at, pages * PAGE, more * PAGE, MREMAP_MAYMOVE);
            HOLDS(moved != MAP_FAILED);
            if (moved != MAP_FAILED) {
                HOLDS(is_filled(moved, pages, tag) && moved[more * PAGE - 1] == 0);
                at = moved, pages = more;
            }
        }
        HOLDS(*(uint64_t *)at == tag);
        HOLDS(munmap(at, pages * PAGE) == 0);
    }
    return NULL;
}

/* ---- two at a time ---- */

static char *shared;
static atomic_uint turn; /* even: the first thread's; odd: the second's */
static _Atomic uint64_t shared_tag;
static atomic_int shared_writable;

static void turn_wait(unsigned expected)
{
    while (atomic_load(&turn) != expected)
        machine_relax();
}

static void *onlooker(void *argument)
{
    (void)argument;
    for (unsigned step = 0; step < steps; step++) {
        turn_wait(2 * step + 1);
        HOLDS(is_filled(shared, SHARED, atomic_load(&shared_tag)));
        if (atomic_load(&shared_writable))
            fill(shared, SHARED, atomic_load(&shared_tag));
        else /* the kernel writes with the program's rights */
            HOLDS(getrandom(shared + step % SHARED * PAGE, 1, 0) == -1 && errno == EFAULT);
        atomic_store(&turn, 2 * step + 2);
    }
    return NULL;
}

static void two_at_a_time(void)
{
    const size_t bytes = SHARED * PAGE;
    pthread_t other;
    char *second;

    shared = map(bytes, PROT_READ | PROT_WRITE);
    PROMISE(pthread_create(&other, NULL, onlooker, NULL) == 0, "a second thread");
    for (unsigned step = 0; step < steps; step++) {
        turn_wait(2 * step);
        atomic_store(&shared_tag, (uint64_t)(step + 1) << 20);
        atomic_store(&shared_writable, 1);
        switch (step % 4) {
        case 0: /* other memory at the same place */
            HOLDS(mmap(shared, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                       0) == shared);
            fill(shared, SHARED, atomic_load(&shared_tag));
            break;
        case 1: /* the same by unmapping, while another thread takes the old pages */
            munmap(shared, bytes);
            second = map(bytes, PROT_READ | PROT_WRITE);
            memset(second, 0x5a, bytes);
            shared =
                mmap(shared + 2 * bytes, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            fill(shared, SHARED, atomic_load(&shared_tag));
            HOLDS(mremap(shared, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, second) == second);
            shared = second;
            break;
        case 2: /* a right is taken … */
            fill(shared, SHARED, atomic_load(&shared_tag));
            HOLDS(mprotect(shared, bytes, PROT_READ) == 0);
            atomic_store(&shared_writable, 0);
            break;
        default: /* … and given back */
            HOLDS(mprotect(shared, bytes, PROT_READ | PROT_WRITE) == 0);
            fill(shared, SHARED, atomic_load(&shared_tag));
        }
        atomic_store(&turn, 2 * step + 1);
    }
    turn_wait(2 * steps);
    pthread_join(other, NULL);
    munmap(shared, bytes);
}

/* ---- replaced under a reader's eyes ---- */

static void *reader(void *argument)
{
    const volatile uint64_t *words = argument;
    uint64_t seen = 0;

    while (!atomic_load(&finished))
        for (size_t i = 0; i < SHARED * PAGE / 8; i += 512)
            seen |= words[i];
    HOLDS((seen & ~7UL) == 0);
    return NULL;
}

static void replaced(void)
{
    char *at = map(SHARED * PAGE, PROT_READ | PROT_WRITE);
    pthread_t other;

    PROMISE(pthread_create(&other, NULL, reader, at) == 0, "a reader");
    for (unsigned step = 0; step < steps; step++) {
        HOLDS(mmap(at, SHARED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                   0) == at);
        for (size_t i = 0; i < SHARED; i++)
            *(volatile uint64_t *)(at + i * PAGE) = step & 7;
        HOLDS(madvise(at, SHARED * PAGE, MADV_DONTNEED) == 0);
    }
    atomic_store(&finished, 1);
    pthread_join(other, NULL);
    munmap(at, SHARED * PAGE);
}

/* Has a thread wait at the barrier. The kernel keeps a thread's memory for the next thread, and a joined
 * thread may still use it when the next begins. Twice the number of threads at once leave enough for all. */
static void *meet_all(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

static void start_all_once(unsigned threads)
{
    pthread_t others[2 * THREADS_MAX];
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 1; i < threads; i++)
        PROMISE(pthread_create(&others[i], NULL, meet_all, &barrier) == 0, "thread %u", i);
    meet_all(&barrier);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    pthread_t others[THREADS_MAX];

    steps = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
    start_all_once(2 * threads);
    uint64_t before = free_memory();
    for (unsigned i = 1; i < threads; i++)
        PROMISE(pthread_create(&others[i], NULL, own_memory, (void *)(uintptr_t)i) == 0, "thread %u", i);
    own_memory(NULL);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));
    two_at_a_time();
    replaced();
    PROMISE(atomic_load(&broken) == 0, "%u checks", atomic_load(&broken));
    PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));
    return promises_kept();
}
