/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_robust.c: a thread that ends with a lock leaves word: the next one gets EOWNERDEAD
 * (set_robust_list(2)). */
#include "conform.h"

static pthread_mutex_t lock;

static void *forgetful(void *unused)
{
    pthread_mutex_lock(&lock);
    return unused;
}

CONFORM(pthread_robust)
{
    pthread_mutexattr_t attributes;
    pthread_t thread;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attributes);
    if (pthread_create(&thread, NULL, forgetful, NULL) != 0) {
        holds("a thread", false);
        return;
    }
    pthread_join(thread, NULL);
    result("the next one", -pthread_mutex_lock(&lock));
    result("made good", -pthread_mutex_consistent(&lock));
    pthread_mutex_unlock(&lock);
    result("and as new", -pthread_mutex_lock(&lock));
    pthread_mutex_unlock(&lock);
}
