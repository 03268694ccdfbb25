/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_cancel.c: a thread that computes or waits can be ended; its clean-up runs. */
#include "conform.h"

static int begun, cleaned;

static void clean(void *amount)
{
    __atomic_add_fetch(&cleaned, (int)(long)amount, __ATOMIC_SEQ_CST);
}

static void *sleeper(void *unused)
{
    pthread_cleanup_push(clean, (void *)1);
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    for (;;)
        sleep(100);
    pthread_cleanup_pop(0);
    return unused;
}

static void *computer(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(clean, (void *)10);
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    for (;;)
        __asm__ volatile("" : : : "memory");
    pthread_cleanup_pop(0);
    return unused;
}

CONFORM(pthread_cancel)
{
    pthread_t threads[2];
    void *answers[2] = { NULL, NULL };

    begun = cleaned = 0;
    if (pthread_create(&threads[0], NULL, sleeper, NULL) != 0 ||
        pthread_create(&threads[1], NULL, computer, NULL) != 0) {
        holds("two threads", false);
        return;
    }
    for (int i = 0; i < 10000 && __atomic_load_n(&begun, __ATOMIC_SEQ_CST) < 2; i++)
        rest_ms(1);
    rest_ms(5);
    for (int i = 0; i < 2; i++) {
        pthread_cancel(threads[i]);
        pthread_join(threads[i], &answers[i]);
    }
    holds("both were ended", answers[0] == PTHREAD_CANCELED && answers[1] == PTHREAD_CANCELED);
    result("both cleaned up", cleaned);
}
