/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * share.c: see share.h. Both threads are bound to one CPU, so one of them runs while the other waits in its
 * call.
 */
#define _GNU_SOURCE
#include "share.h"
#include "affinity.h"
#include "cycles.h"
#include "order.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS             101
#define POLICY_OTHER       0
#define POLICY_IDLE        5
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

static struct {
    uint32_t cpu;
    int error;     /* error of the second thread */
    uint32_t word; /* the thread whose turn it is; the number of the wake */
    uint32_t awake;
    uint64_t awake_ticks;
} meeting;

static void wake_with(uint32_t value)
{
    __atomic_store_n(&meeting.word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, &meeting.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_while(uint32_t value)
{
    while (__atomic_load_n(&meeting.word, __ATOMIC_ACQUIRE) == value)
        syscall(SYS_futex, &meeting.word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void *answer_each_time(void *unused)
{
    (void)unused;
    meeting.error = affinity_pin(meeting.cpu);
    for (unsigned i = 0; i < ROUNDS; i++) {
        wait_while(0);
        wake_with(0);
    }
    return NULL;
}

static void *note_each_time(void *unused)
{
    (void)unused;
    meeting.error = affinity_pin(meeting.cpu);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        wait_while(i - 1);
        meeting.awake_ticks = cycles_now();
        __atomic_store_n(&meeting.awake, i, __ATOMIC_RELEASE);
    }
    return NULL;
}

static uint64_t switches_time(uint32_t unused)
{
    uint64_t start = cycles_now();

    (void)unused;
    wake_with(1);
    wait_while(1);
    return (cycles_now() - start) / 2;
}

static uint64_t wake_time(uint32_t i)
{
    uint64_t start = cycles_now();

    wake_with(i);
    while (__atomic_load_n(&meeting.awake, __ATOMIC_ACQUIRE) != i)
        syscall(SYS_sched_yield);
    return meeting.awake_ticks - start;
}

static int policy_set(int policy)
{
    const int priority = 0;

    return syscall(SYS_sched_setscheduler, 0, policy, &priority) ? -errno : 0;
}

/* Times many rounds against another thread; this thread has the policy `policy`. */
static int rounds_time(void *(*other)(void *), uint64_t (*round)(uint32_t), int policy, uint64_t *minimum,
                       uint64_t *median)
{
    uint64_t ticks[ROUNDS];
    pthread_t thread;
    int error;

    meeting.word = meeting.awake = 0;
    error = -pthread_create(&thread, NULL, other, NULL);
    if (!error)
        error = policy_set(policy);
    if (error)
        return error;
    for (uint32_t i = 1; i <= ROUNDS; i++)
        ticks[i - 1] = round(i);
    pthread_join(thread, NULL);
    order_sort(ticks, ROUNDS);
    *minimum = ticks[0];
    *median = ticks[ROUNDS / 2];
    error = policy_set(POLICY_OTHER);
    return error ? error : meeting.error;
}

int share_measure(struct share_costs *costs)
{
    int error;

    affinity_allowed(&meeting.cpu, 1);
    error = affinity_pin(meeting.cpu);
    if (!error)
        error = rounds_time(answer_each_time, switches_time, POLICY_OTHER, &costs->switch_min_ticks,
                            &costs->switch_median_ticks);
    if (!error)
        error = rounds_time(note_each_time, wake_time, POLICY_IDLE, &costs->over_idle_min_ticks,
                            &costs->over_idle_median_ticks);
    return error;
}
