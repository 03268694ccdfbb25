/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * litmus.c: small programs for several CPUs, whose outcomes show the order of memory accesses: message
 * passing (mp), store buffering (sb), load buffering (lb) and independent readers of independent writers
 * (iriw), with the barriers that the kernel's protocols use. Also threads that hand each other words by
 * futex, eventfd and pipe, as programs do.
 *
 *      litmus [ROUNDS]           all of them; prints a line for each: "NAME rounds N odd M". An outcome that
 *                                the barriers forbid is odd, and gives status 1. Without barriers
 *                                (NAME_bare) it is allowed, and counted. A lost wake-up never ends
 *      litmus held [ROUNDS]      sb alone, with stores held back until the other thread has loaded, as by a
 *                                CPU that ignores barriers: each round is odd
 *
 * Each thread has its own CPU, and goes through the rounds of a batch without waiting for the others; the
 * machine decides which rounds coincide. QEMU's TCG shows little of POWER's weak order: it keeps the
 * program's order, and on an x86_64 host only a load may overtake an earlier store (sb_bare). tests/model
 * covers what POWER may do in addition.
 */
#define _GNU_SOURCE
#include "machine.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX    4
#define BATCH          500
#define ROUNDS_DEFAULT 4000
#define FUTEX_WAIT     0
#define FUTEX_WAKE     1
#define LINE           __attribute__((aligned(128)))

/* The variables of a round. */
struct cell {
    LINE uint32_t x;
    LINE uint32_t y;
    LINE uint32_t loaded;
};

static struct cell cells[BATCH];
static LINE uint32_t results[THREADS_MAX][BATCH][2];
static unsigned long rounds = ROUNDS_DEFAULT;

static uint32_t load(const uint32_t *from)
{
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static uint32_t load_acquire(const uint32_t *from)
{
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *to, uint32_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void store_release(uint32_t *to, uint32_t value)
{
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static void fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Makes the compiler keep the order; the CPU need not. */
static void bare(void)
{
    __asm__ volatile("" : : : "memory");
}

/* ---- The shapes: what each thread does with a round's variables, and what it has read ---- */

typedef void step(struct cell *cell, uint32_t read[2]);

static void x_then_y(struct cell *cell, uint32_t read[2])
{
    (void)read; /* it reads nothing */
    store(&cell->x, 1);
    store_release(&cell->y, 1);
}

static void y_then_x_read(struct cell *cell, uint32_t read[2])
{
    read[0] = load_acquire(&cell->y);
    read[1] = load(&cell->x);
}

static void x_then_y_bare(struct cell *cell, uint32_t read[2])
{
    (void)read; /* it reads nothing */
    store(&cell->x, 1);
    bare();
    store(&cell->y, 1);
}

static void y_then_x_read_bare(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->y);
    bare();
    read[1] = load(&cell->x);
}

static bool message_is_stale(uint32_t (*const read[THREADS_MAX])[2])
{
    return (*read[1])[0] == 1 && (*read[1])[1] == 0;
}

static void x_then_read_y(struct cell *cell, uint32_t read[2])
{
    store(&cell->x, 1);
    fence();
    read[0] = load(&cell->y);
}

static void y_then_read_x(struct cell *cell, uint32_t read[2])
{
    store(&cell->y, 1);
    fence();
    read[0] = load(&cell->x);
}

static void x_then_read_y_bare(struct cell *cell, uint32_t read[2])
{
    store(&cell->x, 1);
    bare();
    read[0] = load(&cell->y);
}

static void y_then_read_x_bare(struct cell *cell, uint32_t read[2])
{
    store(&cell->y, 1);
    bare();
    read[0] = load(&cell->x);
}

static void hold(struct cell *cell)
{
    __atomic_add_fetch(&cell->loaded, 1, __ATOMIC_SEQ_CST);
    while (load(&cell->loaded) < 2)
        machine_relax();
}

static void x_held_read_y(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->y);
    hold(cell);
    store(&cell->x, 1);
}

static void y_held_read_x(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->x);
    hold(cell);
    store(&cell->y, 1);
}

static bool neither_saw_the_other(uint32_t (*const read[THREADS_MAX])[2])
{
    return (*read[0])[0] == 0 && (*read[1])[0] == 0;
}

static void read_x_then_y(struct cell *cell, uint32_t read[2])
{
    read[0] = load_acquire(&cell->x);
    store(&cell->y, 1);
}

static void read_y_then_x(struct cell *cell, uint32_t read[2])
{
    read[0] = load_acquire(&cell->y);
    store(&cell->x, 1);
}

static void read_x_then_y_bare(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->x);
    bare();
    store(&cell->y, 1);
}

static void read_y_then_x_bare(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->y);
    bare();
    store(&cell->x, 1);
}

static bool both_saw_the_future(uint32_t (*const read[THREADS_MAX])[2])
{
    return (*read[0])[0] == 1 && (*read[1])[0] == 1;
}

static void x_alone(struct cell *cell, uint32_t read[2])
{
    (void)read; /* it reads nothing */
    store(&cell->x, 1);
}

static void y_alone(struct cell *cell, uint32_t read[2])
{
    (void)read; /* it reads nothing */
    store(&cell->y, 1);
}

static void read_x_fence_y(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->x);
    fence();
    read[1] = load(&cell->y);
}

static void read_y_fence_x(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->y);
    fence();
    read[1] = load(&cell->x);
}

static void read_x_y_bare(struct cell *cell, uint32_t read[2])
{
    read[0] = load(&cell->x);
    bare();
    read[1] = load(&cell->y);
}

static bool readers_disagree(uint32_t (*const read[THREADS_MAX])[2])
{
    return (*read[2])[0] == 1 && (*read[2])[1] == 0 && (*read[3])[0] == 1 && (*read[3])[1] == 0;
}

static const struct shape {
    const char *name;
    unsigned threads;
    step *steps[THREADS_MAX];
    bool (*is_odd)(uint32_t (*const read[THREADS_MAX])[2]);
    bool odd_is_allowed;
} shapes[] = {
    { "mp", 2, { x_then_y, y_then_x_read }, message_is_stale, false },
    { "mp_bare", 2, { x_then_y_bare, y_then_x_read_bare }, message_is_stale, true },
    { "sb", 2, { x_then_read_y, y_then_read_x }, neither_saw_the_other, false },
    { "sb_bare", 2, { x_then_read_y_bare, y_then_read_x_bare }, neither_saw_the_other, true },
    { "lb", 2, { read_x_then_y, read_y_then_x }, both_saw_the_future, false },
    { "lb_bare", 2, { read_x_then_y_bare, read_y_then_x_bare }, both_saw_the_future, true },
    { "iriw", 4, { x_alone, y_alone, read_x_fence_y, read_y_fence_x }, readers_disagree, false },
    { "iriw_bare", 4, { x_alone, y_alone, read_x_y_bare, y_then_x_read_bare }, readers_disagree, true },
};

static const struct shape held = {
    "sb_held", 2, { x_held_read_y, y_held_read_x }, neither_saw_the_other, false
};

/* ---- Threads ---- */

static const struct shape *shape;
static uint32_t arrived, generation;

static void meet(void)
{
    const uint32_t now = load_acquire(&generation);

    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == shape->threads) {
        store(&arrived, 0);
        store_release(&generation, now + 1);
    }
    while (load_acquire(&generation) == now)
        machine_relax();
}

static void pin(unsigned cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one))
        abort();
}

static void *run(void *argument)
{
    const unsigned me = (unsigned)(uintptr_t)argument;

    pin(me);
    for (unsigned long done = 0; done < rounds; done += BATCH) {
        meet();
        for (unsigned i = 0; i < BATCH; i++)
            shape->steps[me](&cells[i], results[me][i]);
        meet(); /* then the first thread counts */
    }
    return NULL;
}

/* Counts odd outcomes; called by the first thread between two batches. */
static unsigned long odd_count(void)
{
    unsigned long odd = 0;

    for (unsigned i = 0; i < BATCH; i++) {
        uint32_t(*read[THREADS_MAX])[2];

        for (unsigned j = 0; j < THREADS_MAX; j++)
            read[j] = &results[j][i];
        odd += shape->is_odd(read);
    }
    return odd;
}

static void all_start(pthread_t *threads, unsigned count, void *(*what)(void *))
{
    for (unsigned i = 1; i < count; i++)
        if (pthread_create(&threads[i], NULL, what, (void *)(uintptr_t)i))
            abort();
}

static void all_join(pthread_t *threads, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Runs a shape; returns whether its outcomes are right. */
static bool shape_try(const struct shape *which)
{
    pthread_t threads[THREADS_MAX];
    unsigned long odd = 0;

    shape = which;
    all_start(threads, shape->threads, run);
    pin(0);
    for (unsigned long done = 0; done < rounds; done += BATCH) {
        memset(cells, 0, sizeof(cells)); /* the others wait to begin */
        meet();
        for (unsigned i = 0; i < BATCH; i++)
            shape->steps[0](&cells[i], results[0][i]);
        meet();
        odd += odd_count();
    }
    all_join(threads, shape->threads);
    printf("%s rounds %lu odd %lu\n", shape->name, rounds, odd);
    return shape->odd_is_allowed || odd == 0;
}

/* ---- Words that threads hand each other ---- */

enum way { BY_FUTEX, BY_EVENTFD, BY_PIPE, WAYS };

static const char *const way_names[WAYS] = { "futex", "eventfd", "pipe" };

/* One direction. The data are stored without order: what the way does orders them. */
struct channel {
    LINE uint32_t data;
    LINE uint32_t word;
    LINE uint32_t waits;
    int files[2];
};

static struct channel channels[2];
static enum way way;
static unsigned long stale;

static void channel_make(struct channel *channel)
{
    *channel = (struct channel){ 0 };
    if (way == BY_PIPE && pipe(channel->files))
        abort();
    if (way == BY_EVENTFD && (channel->files[0] = channel->files[1] = eventfd(0, 0)) < 0)
        abort();
}

/* Notifies by a flag and a futex: store, fence, look for a waiter; the waiter does it the other way round. */
static void notify(struct channel *channel, uint32_t round)
{
    const uint64_t one = 1;

    store(&channel->data, round);
    if (way != BY_FUTEX) {
        if (write(channel->files[1], &one, sizeof(one)) != sizeof(one))
            abort();
        return;
    }
    store_release(&channel->word, round);
    fence();
    if (load(&channel->waits))
        syscall(SYS_futex, &channel->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await(struct channel *channel, uint32_t round)
{
    uint64_t got;

    if (way != BY_FUTEX) {
        if (read(channel->files[0], &got, sizeof(got)) != sizeof(got))
            abort();
    } else {
        store(&channel->waits, 1);
        fence();
        while (load_acquire(&channel->word) != round)
            syscall(SYS_futex, &channel->word, FUTEX_WAIT, round - 1, NULL, NULL, 0);
        store(&channel->waits, 0);
    }
    if (load(&channel->data) != round)
        __atomic_add_fetch(&stale, 1, __ATOMIC_RELAXED);
}

static void *answer(void *argument)
{
    pin((unsigned)(uintptr_t)argument);
    for (uint32_t round = 1; round <= rounds / 10; round++) {
        await(&channels[0], round);
        notify(&channels[1], round);
    }
    return NULL;
}

static bool way_try(enum way which)
{
    pthread_t threads[THREADS_MAX];

    way = which;
    stale = 0;
    channel_make(&channels[0]);
    channel_make(&channels[1]);
    all_start(threads, 2, answer);
    for (uint32_t round = 1; round <= rounds / 10; round++) {
        notify(&channels[0], round);
        await(&channels[1], round);
    }
    all_join(threads, 2);
    printf("%s rounds %lu odd %lu\n", way_names[way], rounds / 10, stale);
    return stale == 0;
}

int main(int count, char **words)
{
    const bool is_held = count > 1 && !strcmp(words[1], "held");
    bool good = true;

    if (count > 1 + is_held)
        rounds = strtoul(words[1 + is_held], NULL, 10) / BATCH * BATCH;
    if (!rounds || sysconf(_SC_NPROCESSORS_ONLN) < THREADS_MAX) {
        fprintf(stderr, "litmus: at least %d rounds, on at least %d CPUs\n", BATCH, THREADS_MAX);
        return 2;
    }
    if (is_held)
        return !shape_try(&held);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        good &= shape_try(&shapes[i]);
    for (enum way i = 0; i < WAYS; i++)
        good &= way_try(i);
    return !good;
}
