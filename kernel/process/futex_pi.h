/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex_pi.h: locks whose owner inherits the rank of those who wait for it: what futex.c, which moves waiters
 * to such a lock, shares with futex_pi.c.
 */
#ifndef TACET_FUTEX_PI_H
#define TACET_FUTEX_PI_H

#include "lib/list.h"
#include <stdbool.h>
#include <stdint.h>

struct thread;

/* Who waits for a lock; on the stack of its thread. */
struct lock_waiter {
    struct list_link link; /* among the owner's waiters, in the order of arrival */
    struct thread *thread, *owner;
    uint64_t key;    /* of the lock: futex_key */
    uint32_t woken;  /* in no list any more: has the lock, */
    bool is_orphan;  /* or its owner has ended with it */
    bool is_private; /* FUTEX_PRIVATE_FLAG: the owner is of the same process */
};

/* By what a word is found: its physical address. -EINVAL, -EFAULT. futex.c */
int futex_key(uint64_t address, uint64_t *key);

/* The waiter's thread takes the lock at this address, of the caller, where it is free: 1. Else the waiter is
 * queued: 0, and it may be woken from here on. -EDEADLK, -ESRCH, -EFAULT; -EAGAIN where it only `tries`. */
int lock_enter(struct lock_waiter *waiter, uint64_t address, bool tries);

/* The waiter has it; its memory is its own again. */
void lock_waiter_wake(struct lock_waiter *waiter);

/* Takes a waiter that nobody has woken out of its list; false where it was woken before. */
bool lock_withdraw(struct lock_waiter *waiter);

/* Gives the lock at this address, whose word is *value and says that the caller has it, to its highest
 * waiter, with FUTEX_OWNER_DIED in the word where the caller ends: 1. 0 where the word has changed. */
int lock_release(uint64_t address, uint32_t *value, bool ends);

#endif
