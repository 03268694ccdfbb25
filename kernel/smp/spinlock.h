/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spinlock.h: a lock for what several CPUs change. Interrupts are off in the kernel, so a holder is never
 * interrupted by code that takes the same lock. A lock may be held across a crosscall (crosscall.h), since
 * spinning CPUs serve it, and across no other wait.
 *
 * A CPU that finds it free takes it. A CPU that has waited in vain for SPIN_PATIENCE spins, some
 * milliseconds, draws a ticket, and then the lock goes from ticket to ticket, before all CPUs that came
 * later: so none starves. A queue from the first spin on would be slower by far if virtual CPUs outnumber
 * real ones, as each turn would wait until the one CPU runs whose turn it is: on two real CPUs, eight did not
 * end in forty times the time.
 */
#ifndef TACET_SPINLOCK_H
#define TACET_SPINLOCK_H

#include "arch/platform.h"
#include "smp/crosscall.h"
#include "smp/lock_work.h"
#include <stdbool.h>

#ifndef SPIN_PATIENCE
#define SPIN_PATIENCE 65536
#endif

struct spinlock {
    union {
        struct {
            uint16_t held;
            uint16_t tickets; /* of CPUs that wait with one: no other CPU may take the lock */
        };
        uint32_t taken; /* both: 0 is free */
    };
    uint16_t serving, next; /* modulo 2^16 */
};

_Static_assert(ARCH_CPUS_MAX < 1 << 16, "no two CPUs wait with the same ticket");

static inline __attribute__((always_inline)) bool spin_lock_try(struct spinlock *lock)
{
    uint32_t is_free = 0;

    return __atomic_compare_exchange_n(&lock->taken, &is_free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Returns whether the lock is free at this instant. */
static inline __attribute__((always_inline)) bool spin_lock_is_free(const struct spinlock *lock)
{
    return __atomic_load_n(&lock->taken, __ATOMIC_RELAXED) == 0;
}

/* Of the weak functions of the kernel's files the linker keeps one. On the host it keeps unused ones, too,
 * with what they call, so each file has its own there. */
#if __STDC_HOSTED__
#define ONE_COPY static __attribute__((noinline, unused))
#else
#define ONE_COPY __attribute__((noinline, weak))
#endif

/* Waits for a lock that is not free. Out of line, so that taking a free one is short: that is in line, which
 * saves bytes. */
ONE_COPY void spin_lock_contended(struct spinlock *lock)
{
    for (unsigned spins = 0; spins < SPIN_PATIENCE; spins++) {
        if (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED) == 0 && spin_lock_try(lock))
            return;
        arch_pause();
        crosscall_serve();
    }

    __atomic_fetch_add(&lock->tickets, 1, __ATOMIC_ACQ_REL);
    uint16_t ticket = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&lock->serving, __ATOMIC_ACQUIRE) != ticket ||
           __atomic_load_n(&lock->held, __ATOMIC_ACQUIRE)) {
        arch_pause();
        crosscall_serve();
    }
    __atomic_store_n(&lock->held, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&lock->serving, (uint16_t)(ticket + 1), __ATOMIC_RELEASE);
    __atomic_fetch_sub(&lock->tickets, 1, __ATOMIC_RELEASE);
}

/* Takes a lock that only threads of one process take, and hold for as long as they like. */
static inline __attribute__((always_inline)) void spin_lock_own(struct spinlock *lock)
{
    if (!spin_lock_try(lock))
        spin_lock_contended(lock);
}

static inline __attribute__((always_inline)) void spin_unlock_own(struct spinlock *lock)
{
    __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

static inline __attribute__((always_inline)) void spin_guard_own_end(struct spinlock *const *lock)
{
    spin_unlock_own(*lock);
}

/* As SPIN_GUARD, below. */
#define SPIN_GUARD_OWN(lock)                                                                 \
    struct spinlock *const spin_guard __attribute__((cleanup(spin_guard_own_end))) = (lock); \
    spin_lock_own(spin_guard)

/* Takes any other lock: what is done with it is short (lock_work.h). */
static inline __attribute__((always_inline)) void spin_lock_at(struct spinlock *lock, const char *place)
{
    spin_lock_own(lock);
    lock_work_begin(place);
}

#define spin_lock(lock) spin_lock_at(lock, LOCK_PLACE(lock))

static inline __attribute__((always_inline)) void spin_unlock(struct spinlock *lock)
{
    lock_work_end();
    spin_unlock_own(lock);
}

static inline __attribute__((always_inline)) void spin_guard_end(struct spinlock *const *lock)
{
    spin_unlock(*lock);
}

/* Takes the lock, and releases it where the enclosing block ends, also by a return, whose value is computed
 * with the lock held. */
#define SPIN_GUARD(lock)                                                                 \
    struct spinlock *const spin_guard __attribute__((cleanup(spin_guard_end))) = (lock); \
    spin_lock_at(spin_guard, LOCK_PLACE(lock))

#endif
