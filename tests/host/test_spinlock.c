/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spinlock.c: one holder at a time, with tickets and without, and a turn for everybody.
 */
#define SPIN_PATIENCE 20 /* so that most waits end by a ticket */
#include "arena.h"
#include "smp/spinlock.h"
#include <pthread.h>
#include <sched.h>

#define THREADS 4
#define TURNS   20000

static struct spinlock lock;
static unsigned long count;
static unsigned served;

void crosscall_serve(void)
{
    __atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
    sched_yield();
}

static void *count_with_the_lock(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < TURNS; i++) {
        SPIN_GUARD(&lock);
        unsigned long before = *(volatile unsigned long *)&count;

        if (i % 64 == 0)
            sched_yield();
        *(volatile unsigned long *)&count = before + 1;
    }
    return NULL;
}

TEST(one_cpu_holds_it_at_a_time)
{
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQUAL(pthread_create(&threads[i], NULL, count_with_the_lock, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQUAL(count, (unsigned long)THREADS * TURNS);
    CHECK(lock.taken == 0 && lock.serving == lock.next);
}

static void *take_once(void *unused)
{
    (void)unused;
    SPIN_GUARD(&lock);
    count++;
    return NULL;
}

TEST(who_has_waited_long_comes_before_who_comes_now)
{
    pthread_t thread;

    count = 0;
    spin_lock(&lock);
    pthread_create(&thread, NULL, take_once, NULL);
    while (__atomic_load_n(&lock.tickets, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    spin_unlock(&lock);
    CHECK(!spin_lock_try(&lock) || count == 1);
    pthread_join(thread, NULL);
    CHECK(served >= SPIN_PATIENCE); /* while it waited */
}

int main(void)
{
    RUN(one_cpu_holds_it_at_a_time);
    RUN(who_has_waited_long_comes_before_who_comes_now);
    return check_report("spinlock");
}
