/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spinlock.h: a ticket lock for the few things that all CPUs of a node share: the console, the kernel's pool. Fair, so that no CPU starves. Interrupts are off in
 * the kernel, so a holder is never interrupted by somebody who wants the same lock; a lock is never held across a wait for anything else.
 */
#ifndef TACET_SPINLOCK_H
#define TACET_SPINLOCK_H

#include "arch/platform.h"

struct spinlock {
    uint32_t next, serving;
};

static inline void spin_lock(struct spinlock *lock)
{
    uint32_t ticket = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);

    while (__atomic_load_n(&lock->serving, __ATOMIC_ACQUIRE) != ticket)
        arch_pause();
}

static inline void spin_unlock(struct spinlock *lock)
{
    __atomic_store_n(&lock->serving, lock->serving + 1, __ATOMIC_RELEASE);
}

#endif
