/* SPDX-License-Identifier: BSD-2-Clause */
/* futex_threads.c: as many waiters are woken as requested, some are requeued, some are chosen by their
 * bits. */
#include "conform.h"

static int word, other_word, asleep, woken;

static void *waiter(void *bits)
{
    __atomic_add_fetch(&asleep, 1, __ATOMIC_SEQ_CST);
    if (sys(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, (long)bits) == 0)
        __atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Until a count has been reached, at most a second. */
static bool reached(const int *count, int expected)
{
    for (int i = 0; i < 1000 && __atomic_load_n(count, __ATOMIC_SEQ_CST) < expected; i++)
        rest_ms(1);
    return __atomic_load_n(count, __ATOMIC_SEQ_CST) == expected;
}

CONFORM(futex_threads)
{
    pthread_t threads[3];

    word = asleep = woken = 0;
    for (long i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, waiter, (void *)(i == 2 ? 2L : 1L)) != 0) {
            holds("three threads", false);
            return;
        }
    holds("three are on their way", reached(&asleep, 3));
    while (sys(SYS_futex, &word, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 3, &word) < 3)
        rest_ms(1);
    result("move two to where they are",
           sys(SYS_futex, &word, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 2, &word));
    result("wake those of a bit that nobody has",
           sys(SYS_futex, &word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 3, NULL, NULL, 4));
    result("wake all of bit 2",
           sys(SYS_futex, &word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 3, NULL, NULL, 2));
    holds("one was", reached(&woken, 1));
    result("wake one, move one",
           sys(SYS_futex, &word, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 1, 1, &other_word, 0));
    holds("two were", reached(&woken, 2));
    result("nobody is left here", sys(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 9));
    result("but there", sys(SYS_futex, &other_word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 9));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    result("all were woken", woken);
}
