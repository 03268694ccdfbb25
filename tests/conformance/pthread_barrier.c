/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_barrier.c: threads that wait for each other, again and again; none runs ahead. */
#include "conform.h"

static pthread_barrier_t barrier;
static int arrived[4], ahead, serial;

static void *walker(void *number)
{
    for (int step = 1; step <= 200; step++) {
        __atomic_store_n(&arrived[(long)number], step, __ATOMIC_SEQ_CST);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
        for (int i = 0; i < 4; i++)
            if (__atomic_load_n(&arrived[i], __ATOMIC_SEQ_CST) < step)
                __atomic_add_fetch(&ahead, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

CONFORM(pthread_barrier)
{
    pthread_t threads[3];

    serial = ahead = 0;
    pthread_barrier_init(&barrier, NULL, 4);
    for (long i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, walker, (void *)i) != 0) {
            holds("three threads", false);
            return;
        }
    walker((void *)3);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    result("ran ahead", ahead);
    result("one of each step is the serial thread", serial);
}
