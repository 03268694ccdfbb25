/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_cond.c: waiting for what another thread does, one at a time and all at once. */
#include "conform.h"

/* Values that go from thread to thread: each costs two wake-ups of another CPU, milliseconds in QEMU. */
#define HANDED 100

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int slot, waiting, passed;

static void *producer(void *unused)
{
    for (int i = 1; i <= HANDED; i++) {
        pthread_mutex_lock(&lock);
        while (slot != 0)
            pthread_cond_wait(&emptied, &lock);
        slot = i;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *crowd(void *unused)
{
    pthread_mutex_lock(&lock);
    waiting++;
    while (slot == 0)
        pthread_cond_wait(&filled, &lock);
    passed++;
    pthread_mutex_unlock(&lock);
    return unused;
}

CONFORM(pthread_cond)
{
    pthread_t threads[3];
    struct timespec until;
    long sum = 0;

    slot = waiting = passed = 0;
    if (pthread_create(&threads[0], NULL, producer, NULL) != 0) {
        holds("a thread", false);
        return;
    }
    for (int i = 0; i < HANDED; i++) {
        pthread_mutex_lock(&lock);
        while (slot == 0)
            pthread_cond_wait(&filled, &lock);
        sum += slot;
        slot = 0;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(threads[0], NULL);
    result("handed over, one by one", sum);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, crowd, NULL);
    for (bool all = false; !all; rest_ms(1)) {
        pthread_mutex_lock(&lock);
        all = waiting == 3;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    slot = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    result("all at once", passed);
    clock_gettime(CLOCK_REALTIME, &until);
    pthread_mutex_lock(&lock);
    result("a wait whose time is over", -pthread_cond_timedwait(&filled, &lock, &until));
    pthread_mutex_unlock(&lock);
}
