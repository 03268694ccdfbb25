/* SPDX-License-Identifier: BSD-2-Clause */
/* waiter.h: to wait until a thread waits for a futex. */
#ifndef TESTS_WAITER_H
#define TESTS_WAITER_H

#include <sys/syscall.h>
#include <unistd.h>

#define FUTEX_CMP_REQUEUE 4 /* of linux/futex.h, which musl does not have */

/* Waits until one thread waits for a word with this value. Only the kernel knows: it requeues one waiter, to
 * the same word, and wakes none. */
static inline void waiter_wait(volatile void *word, unsigned value)
{
    while (syscall(SYS_futex, word, FUTEX_CMP_REQUEUE, 0, 1UL, word, value) != 1)
        usleep(1000);
}

#endif
