/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex.h: waiting until a word of the program's memory changes: what the locks, conditions and barriers of C
 * libraries stand on. The meaning of each function is that of Linux's operation of the same name
 * [man 2 futex]; syscall/sys_futex.c decodes them.
 *
 * A waiter is found by the physical address of its word: so the same queues serve the threads of a process,
 * ranks that share memory, and words that mremap has moved. They belong to the process whose memory the word
 * is: only those who share memory meet at their locks.
 *
 * All answer -EINVAL for an address that is not a multiple of four, -EFAULT for one without memory.
 */
#ifndef TACET_FUTEX_H
#define TACET_FUTEX_H

#include "lib/list.h"
#include "smp/spinlock.h"
#include <stdint.h>

#define FUTEX_QUEUES 64
#define FUTEX_ANY    UINT32_MAX /* the bit set that every waiter is in */

struct thread;

/* Of a process, zero at its beginning: the waiters for words in its slice, by a hash of the address. */
struct process_futexes {
    struct futex_queue {
        struct spinlock lock;
        struct list waiters;
    } queues[FUTEX_QUEUES];
} __attribute__((aligned(64)));

/* Waits, while the word is `expected`, for a wake with a bit of `bits`: 0. -EAGAIN where the word is another
 * already, -ETIMEDOUT from the deadline on, -EINTR (thread_sleep). */
long futex_wait(uint64_t address, uint32_t expected, uint64_t deadline_ns, uint32_t bits);

/* Wakes at most `count` threads that wait for the word with a bit of `bits`; how many. */
long futex_wake(uint64_t address, uint64_t count, uint32_t bits);

/* Wakes at most `wake_count` waiters of the first word and lets at most `move_count` others wait for the
 * second: as a rule a lock that only one of them can have. How many were woken; with `expected` (may be NULL)
 * how many were woken or moved, or -EAGAIN where the first word is not *expected. */
long futex_requeue(uint64_t from_address, uint64_t to_address, uint64_t wake_count, uint64_t move_count,
                   const uint32_t *expected);

/* Changes the second word as `instruction` says (FUTEX_WAKE_OP), wakes waiters of the first, and those of the
 * second where its old value passes the instruction's comparison; how many. -ENOSYS for an unknown one. */
long futex_wake_operate(uint64_t first_address, uint64_t second_address, uint64_t first_count,
                        uint64_t second_count, uint32_t instruction);

/* The thread ends: marks the robust locks that it holds (set_robust_list), so that others find out, and wakes
 * one waiter of each. */
void futex_robust_list_release(struct thread *thread);

#endif
