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

/* Counts those that wait, at most `most`: as moved to where they are. */
static long moved_to_itself(long most)
{
    return sys(SYS_futex, &word, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, 0, most, &word);
}

/* Until a count has been reached, at most ten seconds. */
static bool reached(const int *count, int expected)
{
    for (int i = 0; i < 10000 && __atomic_load_n(count, __ATOMIC_SEQ_CST) < expected; i++)
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
    for (int i = 0; i < 5000 && moved_to_itself(3) < 3; i++)
        rest_ms(1);
    result("move two to where they are", moved_to_itself(2));
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
