/* SPDX-License-Identifier: BSD-2-Clause */
/* pthread_create.c: threads come, have memory of their own, leave a result, and go; there can be many one
 * after the other. */
#include "conform.h"

static __thread int own = 7;
static int sum;

static void *worker(void *number)
{
    own += (int)(long)number;
    __atomic_add_fetch(&sum, own, __ATOMIC_SEQ_CST);
    return (void *)(long)own;
}

static void *ender(void *number)
{
    pthread_exit((char *)number + 1);
}

CONFORM(pthread_create)
{
    pthread_t threads[3], one;
    pthread_attr_t attributes;
    void *answer = NULL;
    long answers = 0, ran = 0;

    sum = 0;
    for (long i = 0; i < 3; i++)
        result(i == 0   ? "the first"
               : i == 1 ? "the second"
                        : "the third",
               -pthread_create(&threads[i], NULL, worker, (void *)i));
    for (int i = 0; i < 3; i++)
        if (pthread_join(threads[i], &answer) == 0)
            answers += (long)answer;
    result("what they answered", answers);
    result("what they added", sum);
    result("this thread's own", own);
    result("one that leaves by pthread_exit", -pthread_create(&one, NULL, ender, (void *)41));
    pthread_join(one, &answer);
    result("its answer", (long)answer);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sum = 0;
    result("one that nobody joins", -pthread_create(&one, &attributes, worker, (void *)1));
    for (int i = 0; i < 10000 && __atomic_load_n(&sum, __ATOMIC_SEQ_CST) == 0; i++)
        rest_ms(1);
    result("it ran", sum);
    rest_ms(5);
    for (long i = 0; i < 200; i++)
        if (pthread_create(&one, NULL, worker, (void *)i) == 0 && pthread_join(one, &answer) == 0)
            ran += (long)answer == 7 + i;
    result("two hundred, one after the other", ran);
}
