/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_inherit.c: the C library's locks of the protocol PTHREAD_PRIO_INHERIT. */
#include "conform.h"

/* Additions of each thread. Once four threads wait for the lock, each of them costs a wake-up of another CPU:
 * on an emulated machine 20,000 can take minutes. */
#define ADDITIONS 500

static pthread_mutex_t lock;
static long count;

static void *adder(void *unused)
{
    for (int i = 0; i < ADDITIONS; i++) {
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

static void *owner_ends(void *unused)
{
    pthread_mutex_lock(&lock);
    return unused;
}

CONFORM(pthread_inherit)
{
    pthread_t threads[3];
    pthread_mutexattr_t attributes;
    int answers[2] = { -1, -1 };

    pthread_mutexattr_init(&attributes);
    result("the protocol", -pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    result("the lock", -pthread_mutex_init(&lock, &attributes));
    count = 0;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, adder, NULL) != 0) {
            holds("three threads", false);
            return;
        }
    adder(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    result("what four threads add", count);
    pthread_mutex_lock(&lock);
    pthread_create(&threads[0], NULL, trier, answers);
    pthread_join(threads[0], NULL);
    pthread_mutex_unlock(&lock);
    result("trylock of a locked one", -answers[0]);
    result("a lock for a time", -answers[1]);
    pthread_mutex_destroy(&lock);

    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutex_lock(&lock);
    result("locked twice, PTHREAD_MUTEX_ERRORCHECK", -pthread_mutex_lock(&lock));
    result("unlocked", -pthread_mutex_unlock(&lock));
    pthread_mutex_destroy(&lock);

    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attributes);
    pthread_create(&threads[0], NULL, owner_ends, NULL);
    pthread_join(threads[0], NULL);
    result("robust: the next one", -pthread_mutex_lock(&lock));
    result("made good", -pthread_mutex_consistent(&lock));
    result("then unlocked", -pthread_mutex_unlock(&lock));
    result("and as new", -pthread_mutex_lock(&lock));
    pthread_mutex_unlock(&lock);
}
