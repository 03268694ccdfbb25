/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_mutex.c: one at a time, and the kinds of locks. */
#include "conform.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *adder(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *trier(void *answers)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 3000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    ((int *)answers)[0] = pthread_mutex_trylock(&lock);
    ((int *)answers)[1] = pthread_mutex_timedlock(&lock, &until);
    return NULL;
}

CONFORM(pthread_mutex)
{
    pthread_t threads[3];
    pthread_mutexattr_t attributes;
    pthread_mutex_t other;
    int answers[2] = { -1, -1 };

    count = 0;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, adder, NULL) != 0) {
            holds("three threads", false);
            return;
        }
    adder(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    result("four times 20000", count);
    pthread_mutex_lock(&lock);
    pthread_create(&threads[0], NULL, trier, answers);
    pthread_join(threads[0], NULL);
    pthread_mutex_unlock(&lock);
    result("trylock of a locked one", -answers[0]);
    result("a lock for a time", -answers[1]);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&other, &attributes);
    pthread_mutex_lock(&other);
    result("locked twice, PTHREAD_MUTEX_ERRORCHECK", -pthread_mutex_lock(&other));
    result("unlocked", -pthread_mutex_unlock(&other));
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&other, &attributes);
    pthread_mutex_lock(&other);
    result("locked twice, PTHREAD_MUTEX_RECURSIVE", -pthread_mutex_lock(&other));
    pthread_mutex_unlock(&other);
    result("unlocked twice", -pthread_mutex_unlock(&other));
}
