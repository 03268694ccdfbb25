/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex.h: waiting for a word of the program's to change: what locks, conditions and barriers of C libraries
 * stand on [man 2 futex].
 *
 * A waiter is found by the physical address of the word: so the same queues serve the threads of a process,
 * ranks that share memory, and words that mremap has moved.
 */
#ifndef TACET_FUTEX_H
#define TACET_FUTEX_H

#include <stdint.h>

#define FUTEX_ANY UINT32_MAX /* the bit set that every waiter is in */

struct thread;

/* Wakes at most `count` threads that wait for the word with a bit of `bits`; how many. -EINVAL for an address
 * that is not a word's, -EFAULT for one without memory. */
long futex_wake(uint64_t address, uint64_t count, uint32_t bits);

/* How many threads of this process wait for the word. */
unsigned futex_waiters(uint64_t address);

/* The thread ends: the robust locks that it holds (set_robust_list) are marked, so that others find out, and
 * a waiter for each is woken. */
void futex_robust_list_hand_on(struct thread *thread);

#endif
