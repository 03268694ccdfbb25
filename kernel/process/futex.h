/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex.h: waiting until a word of the program's memory changes: what the locks, conditions and barriers of C
 * libraries stand on. The meaning of each function is that of Linux's operation of the same name
 * [man 2 futex]; syscall/sys_futex.c decodes them.
 *
 * A waiter is found by the physical address of its word: so the same queues serve the threads of a process,
 * ranks that share memory, and words that mremap has moved. Queues belong to the process whose memory holds
 * the word: so only ranks that share memory contend for their locks.
 *
 * All return -EINVAL for an address that is not a multiple of four, -EFAULT for one without memory.
 */
#ifndef TACET_FUTEX_H
#define TACET_FUTEX_H

#include "lib/list.h"
#include "smp/spinlock.h"
#include <stdbool.h>
#include <stdint.h>

#define FUTEX_QUEUES 64
#define FUTEX_ANY    UINT32_MAX /* the bit set that every waiter is in */

struct thread;

/* Of a process: the waiters for words in its slice, by a hash of the address; the domain of its locks that
 * inherit priority (futex_pi.c). */
struct process_futexes {
    struct futex_queue {
        struct spinlock lock;
        struct list waiters;
    } queues[FUTEX_QUEUES];
    struct spinlock own_domain, *domain;
} __attribute__((aligned(64)));

/* Of a thread, zero at its beginning: locks that inherit priority. */
struct thread_locks {
    struct list waiters;       /* waiters for locks that it owns */
    struct lock_waiter *waits; /* its place among the waiters of a lock; NULL: it waits for none */
    bool has_ended;            /* no thread may wait for it any more */
};

/* Waits, if the word is `expected`, for a wake with a bit of `bits`. Returns 0; -EAGAIN if the word has
 * another value, -ETIMEDOUT from the deadline on, -EINTR (thread_sleep). */
long futex_wait(uint64_t address, uint32_t expected, uint64_t deadline_ns, uint32_t bits);

/* Wakes at most `count` threads that wait for the word with a bit of `bits`. Returns how many. */
long futex_wake(uint64_t address, uint64_t count, uint32_t bits);

/* Wakes at most `wake_count` waiters of the first word and lets at most `move_count` others wait for the
 * second: as a rule a lock that only one of them can have. Returns how many were woken or moved; -EAGAIN if
 * the first word is not *expected (may be NULL). `to_lock`, with a wake_count of 0: the second is a lock that
 * inherits priority, which the first waiter takes if it is free; -EINVAL for waiters of another kind, or
 * another lock. */
long futex_requeue(uint64_t from_address, uint64_t to_address, uint64_t wake_count, uint64_t move_count,
                   const uint32_t *expected, bool to_lock);

/* Changes the second word as `instruction` says (FUTEX_WAKE_OP), wakes waiters of the first, and those of the
 * second if its old value passes the instruction's comparison. Returns how many, or -ENOSYS for an unknown
 * instruction. */
long futex_wake_operate(uint64_t first_address, uint64_t second_address, uint64_t first_count,
                        uint64_t second_count, uint32_t instruction);

/* ---- Locks that inherit priority: the word is 0, or the owner's tid with FUTEX_WAITERS, FUTEX_OWNER_DIED.
 * Those that are not `is_private` may be shared with other ranks. ---- */

/* Takes the lock, at once or (unless it only `tries`: -EAGAIN) when it is the caller's turn. Returns 0;
 * -EDEADLK if the owner is the caller, or waits for it; -ESRCH if there is no such thread, or it has ended;
 * -ETIMEDOUT, -EINTR. */
long futex_lock_pi(uint64_t address, uint64_t deadline_ns, bool tries, bool is_private);

/* Passes the lock on to the first waiter of the highest rank. Returns -EPERM if the caller does not own
 * it. */
long futex_unlock_pi(uint64_t address);

/* Waits, if the word is `expected`, for futex_requeue to the lock, and takes the lock. Returns 0; -EAGAIN
 * also if a signal comes while it waits for the lock already. */
long futex_wait_requeue_pi(uint64_t address, uint32_t expected, uint64_t deadline_ns, uint64_t lock_address,
                           bool is_private);

/* Passes a thread's changed rank on to the owner of the lock that it waits for. */
void futex_rank_changed(struct thread *thread);

/* Wakes the threads that wait for a lock of a thread that ends; they find that their owner is gone. Its
 * robust locks are released before. */
void futex_locks_end(struct thread *thread);

/* Marks the robust locks (set_robust_list) of a thread that ends, so that other threads find out, and wakes
 * one waiter of each. */
void futex_robust_list_release(struct thread *thread);

#endif
