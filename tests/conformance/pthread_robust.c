/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_robust.c: a thread that ends with a lock is reported: the next one gets EOWNERDEAD
 * (set_robust_list(2)). */
#include "conform.h"

static pthread_mutex_t lock;

static void *owner_ends(void *unused)
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
    if (pthread_create(&thread, NULL, owner_ends, NULL) != 0) {
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
