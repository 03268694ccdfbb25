/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex_pi.h: locks whose owner inherits the rank of its waiters: what futex.c, which moves waiters to such a
 * lock, shares with futex_pi.c.
 */
#ifndef TACET_FUTEX_PI_H
#define TACET_FUTEX_PI_H

#include "lib/list.h"
#include <stdbool.h>
#include <stdint.h>

struct thread;

/* A thread that waits for a lock; on the stack of the thread. */
struct lock_waiter {
    struct list_link link; /* among the owner's waiters, in the order of arrival */
    struct thread *thread, *owner;
    uint64_t key;    /* the lock's futex_key */
    uint32_t woken;  /* no longer in a list: it has the lock, or is_orphan */
    bool is_orphan;  /* the lock's owner has ended without a release */
    bool is_private; /* FUTEX_PRIVATE_FLAG: the owner is of the same process */
};

/* Sets *key to the physical address of a word, by which its waiters are found. -EINVAL, -EFAULT. futex.c */
int futex_key(uint64_t address, uint64_t *key);

/* Takes the lock at this address of the caller's, if it is free, for the waiter's thread: 1. Else queues the
 * waiter: 0, and it may be woken from here on. -EDEADLK, -ESRCH, -EFAULT; -EAGAIN if it only `tries`. */
int lock_enter(struct lock_waiter *waiter, uint64_t address, bool tries);

/* Wakes a waiter that has the lock, or has lost its owner. The waiter may be gone afterwards. */
void lock_waiter_wake(struct lock_waiter *waiter);

/* Takes a waiter that was not woken out of its list; false if it was woken before. */
bool lock_withdraw(struct lock_waiter *waiter);

/* Gives the lock at this address, whose word is *value and names the caller, to its highest waiter, with
 * FUTEX_OWNER_DIED in the word if the caller ends: 1. Returns 0 if the word has changed. */
int lock_release(uint64_t address, uint32_t *value, bool ends);

#endif
