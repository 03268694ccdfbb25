/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_limit.c: more threads than CPUs: on four CPUs a fifth thread at the same time. */
#include "conform.h"

static volatile bool go;

static void *waiter(void *unused)
{
    while (!go)
        rest_ms(1);
    return unused;
}

CONFORM(pthread_limit)
{
    pthread_t threads[4];
    int made[4];

    go = false;
    for (int i = 0; i < 4; i++)
        made[i] = pthread_create(&threads[i], NULL, waiter, NULL);
    result("the second thread", -made[0]);
    result("the fourth thread", -made[2]);
    result("the fifth thread", -made[3]);
    go = true;
    for (int i = 0; i < 4; i++)
        if (made[i] == 0)
            pthread_join(threads[i], NULL);
    rest_ms(5);
    result("another when they have ended", -pthread_create(&threads[0], NULL, waiter, NULL));
    pthread_join(threads[0], NULL);
}
