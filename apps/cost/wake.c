/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake.c: see wake.h. The waiter announces that it is about to wait; the waker gives it time to fall asleep.
 */
#define _GNU_SOURCE
#include "wake.h"
#include "affinity.h"
#include "cycles.h"
#include "order.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAKES              101
#define FALL_ASLEEP_TICKS  200000
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

static struct {
    uint32_t cpus[2];
    uint32_t word, about_to_wait, awake; /* count the wakes */
    uint64_t awake_ticks;
} meeting;

static void word_set(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static bool word_is(const uint32_t *word, uint32_t value)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) == value;
}

static void *wait_each_time(void *error)
{
    *(int *)error = affinity_pin(meeting.cpus[1]);
    for (uint32_t i = 1; i <= WAKES; i++) {
        word_set(&meeting.about_to_wait, i);
        while (!word_is(&meeting.word, i))
            syscall(SYS_futex, &meeting.word, FUTEX_WAIT_PRIVATE, i - 1, NULL, NULL, 0);
        meeting.awake_ticks = cycles_now();
        word_set(&meeting.awake, i);
    }
    return NULL;
}

/* Waits for the other thread; lets it run if CPUs take turns. */
static void word_await(const uint32_t *word, uint32_t value)
{
    while (!word_is(word, value))
        cycles_relax();
}

static uint64_t wake_once(uint32_t i)
{
    uint64_t start;

    word_await(&meeting.about_to_wait, i);
    start = cycles_now();
    while (cycles_now() - start < FALL_ASLEEP_TICKS)
        cycles_relax();
    start = cycles_now();
    word_set(&meeting.word, i);
    syscall(SYS_futex, &meeting.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    word_await(&meeting.awake, i);
    return meeting.awake_ticks - start;
}

int wake_measure(uint64_t *minimum_ticks, uint64_t *median_ticks)
{
    uint64_t ticks[WAKES];
    pthread_t waiter;
    int error, waiter_error = 0;

    if (affinity_allowed(meeting.cpus, 2) < 2)
        return -ENODEV;
    error = affinity_pin(meeting.cpus[0]);
    if (!error)
        error = -pthread_create(&waiter, NULL, wait_each_time, &waiter_error);
    if (error)
        return error;
    for (uint32_t i = 1; i <= WAKES; i++)
        ticks[i - 1] = wake_once(i);
    pthread_join(waiter, NULL);
    order_sort(ticks, WAKES);
    *minimum_ticks = ticks[0];
    *median_ticks = ticks[WAKES / 2];
    return waiter_error;
}
