/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_rwlock.c: many readers or one writer; semaphores, once, and memory of a thread's own with an
 * end. */
#include "conform.h"

#include <semaphore.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t free_slots;
static long a, b;
static int torn, begun, ended;

static void begin(void)
{
    begun++;
}

static void end(void *value)
{
    ended += (int)(long)value;
}

static void *reader(void *unused)
{
    pthread_once(&once, begin);
    pthread_setspecific(key, (void *)10);
    for (int i = 0; i < 5000; i++) {
        pthread_rwlock_rdlock(&lock);
        if (a != b)
            torn++;
        pthread_rwlock_unlock(&lock);
    }
    sem_post(&free_slots);
    return unused;
}

CONFORM(pthread_rwlock)
{
    pthread_t threads[3];

    pthread_key_create(&key, end);
    sem_init(&free_slots, 0, 0);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, reader, NULL) != 0) {
            holds("three threads", false);
            return;
        }
    for (int i = 0; i < 5000; i++) {
        pthread_rwlock_wrlock(&lock);
        a++;
        b++;
        pthread_rwlock_unlock(&lock);
    }
    for (int i = 0; i < 3; i++)
        sem_wait(&free_slots);
    result("no semaphore left", sem_trywait(&free_slots) ? -errno : 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    result("read half written", torn);
    result("done once", begun);
    result("ends of threads' own memory", ended);
}
