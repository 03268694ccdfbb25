/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spinlock.h: a lock for what several CPUs change. Not fair, on purpose: where virtual CPUs outnumber real
 * ones, a fair lock waits for the one CPU whose turn it is and which does not run. Interrupts are off in the
 * kernel, so a holder is never interrupted by code that takes the same lock. A lock may be held across a
 * crosscall (crosscall.h), since spinning CPUs serve it, and across no other wait.
 */
#ifndef TACET_SPINLOCK_H
#define TACET_SPINLOCK_H

#include "arch/platform.h"
#include "smp/crosscall.h"

struct spinlock {
    uint32_t held;
};

/* Out of line, so that taking a lock that is free is short; that is in line, where the compiler saves bytes.
 */
static __attribute__((noinline, unused)) void spin_lock_contended(struct spinlock *lock)
{
    do {
        while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED)) {
            arch_pause();
            crosscall_serve();
        }
    } while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE));
}

static inline __attribute__((always_inline)) void spin_lock(struct spinlock *lock)
{
    if (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
        spin_lock_contended(lock);
}

static inline __attribute__((always_inline)) void spin_unlock(struct spinlock *lock)
{
    __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void spin_guard_end(struct spinlock *const *lock)
{
    spin_unlock(*lock);
}

/* Takes the lock, and releases it where the enclosing block ends, also by a return: whose value is computed
 * with the lock held. */
#define SPIN_GUARD(lock)                                                                 \
    struct spinlock *const spin_guard __attribute__((cleanup(spin_guard_end))) = (lock); \
    spin_lock(spin_guard)

#endif
