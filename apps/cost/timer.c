/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.c: see timer.h. The crowd is the attack of [Tsafrir05 §4.2]: very many events, nanoseconds apart.
 */
#define _GNU_SOURCE
#include "timer.h"
#include "cycles.h"
#include "order.h"
#include "tacet.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <time.h>

#define NS_PER_S  1000000000L
#define NS_PER_MS 1000000L
#define ROUNDS    101
#define SOON_NS   50000
#define GAP_TICKS 100 /* more than from one reading of the clock to the next */

static int64_t now_ns(void)
{
    struct timespec time = { 0, 0 };

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

/* ---- One ---- */

/* Sets the timer; returns the ticks of the call. */
static uint64_t timer_set(timer_t timer, int64_t deadline_ns)
{
    const struct itimerspec setting = { .it_value = timespec_of(deadline_ns) };
    const uint64_t start = cycles_now();

    timer_settime(timer, TIMER_ABSTIME, &setting, NULL);
    return cycles_now() - start;
}

/* Returns the ticks from the last reading of the clock before the interruption to the first after it. */
static uint64_t interruption_time(timer_t timer)
{
    uint64_t previous, now;

    timer_set(timer, now_ns() + SOON_NS);
    now = cycles_now();
    clock_watch(UINT64_MAX, GAP_TICKS, &previous, &now);
    return now - previous;
}

int timer_measure(struct timer_costs *costs)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    uint64_t arm[ROUNDS], disarm[ROUNDS], expire[ROUNDS];
    sigset_t blocked;
    timer_t timer;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    if (prctl(PR_SET_TIMERSLACK, 1UL) || timer_create(CLOCK_MONOTONIC, &event, &timer))
        return -errno;
    for (unsigned i = 0; i < ROUNDS; i++) {
        arm[i] = timer_set(timer, now_ns() + 1000 * NS_PER_S);
        disarm[i] = timer_set(timer, 0);
        expire[i] = interruption_time(timer);
    }
    timer_delete(timer);
    order_sort(arm, ROUNDS);
    order_sort(disarm, ROUNDS);
    order_sort(expire, ROUNDS);
    *costs = (struct timer_costs){ arm[0], disarm[0], expire[ROUNDS / 2] };
    return 0;
}

/* ---- A crowd ---- */

#define BOUND_NS    (1 << 20)
#define LEAD_NS     (50 * NS_PER_MS) /* until all sleep */
#define ATTEMPTS    8                /* each with twice the lead of the last */
#define STACK_BYTES 16384
#define TIMER       0xf1 /* the local timer's interrupt */

static struct {
    pthread_barrier_t barrier; /* of all sleepers and the first thread */
    int64_t first_ns;
    bool is_over;
    bool some_early, some_late; /* ended too early; began to sleep too late */
    uint64_t interrupts_before, interrupts_after;
} crowd;

static uint64_t interrupts_taken(void)
{
    return tacet_counters(0)->interrupts[TIMER];
}

/* Runs one sleeper. All sleepers are on one CPU, and none is preempted, so no two of them store at once. */
static void *sleep_each_time(void *number)
{
    const long index = (long)number;

    prctl(PR_SET_TIMERSLACK, (unsigned long)BOUND_NS);
    for (;;) {
        pthread_barrier_wait(&crowd.barrier);
        if (crowd.is_over)
            return NULL;
        const int64_t deadline_ns = crowd.first_ns + index;
        const struct timespec deadline = timespec_of(deadline_ns);

        crowd.interrupts_before = interrupts_taken();
        crowd.some_late |= now_ns() >= crowd.first_ns;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
        crowd.some_early |= now_ns() < deadline_ns;
        crowd.interrupts_after = interrupts_taken();
        pthread_barrier_wait(&crowd.barrier);
    }
}

static int crowd_start(pthread_t *threads)
{
    pthread_attr_t attributes;
    int error = 0;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (long i = 0; i < CROWD_SLEEPS && !error; i++)
        error = pthread_create(&threads[i], &attributes, sleep_each_time, (void *)i);
    return -error;
}

int crowd_measure(uint64_t *interrupts)
{
    static pthread_t threads[CROWD_SLEEPS];
    int64_t lead_ns = LEAD_NS;
    int error;

    if (!tacet_node())
        return -ENOSYS;
    pthread_barrier_init(&crowd.barrier, NULL, CROWD_SLEEPS + 1);
    if ((error = crowd_start(threads)))
        return error;
    for (int attempt = 0; attempt == 0 || (crowd.some_late && attempt < ATTEMPTS); attempt++) {
        crowd.some_late = false;
        /* All deadlines are between two boundaries, which are multiples of the bound. */
        crowd.first_ns = (now_ns() + lead_ns) / BOUND_NS * BOUND_NS + 1;
        lead_ns *= 2;
        pthread_barrier_wait(&crowd.barrier);
        pthread_barrier_wait(&crowd.barrier);
    }
    crowd.is_over = true;
    pthread_barrier_wait(&crowd.barrier);
    for (int i = 0; i < CROWD_SLEEPS; i++)
        pthread_join(threads[i], NULL);
    *interrupts = crowd.interrupts_after - crowd.interrupts_before;
    if (crowd.some_early)
        return -ERANGE;
    return crowd.some_late ? -ETIMEDOUT : 0;
}
