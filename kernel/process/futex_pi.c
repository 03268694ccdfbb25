/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex_pi.c: locks that inherit priority [man 2 futex, FUTEX_LOCK_PI]. Runs in system calls, interrupts off.
 *
 * The word of a lock has the tid of its owner, which takes and releases it without a call while no thread
 * waits. Waiters stand in a list of the thread that owns the lock. The owner inherits the highest of their
 * ranks, and so does the owner of the lock that it waits for itself, and so on. Only the owner's release
 * passes a lock on, by one exchange of the word, so that it is never free while a thread waits.
 *
 * The lock of a domain guards these lists, and whether a thread has ended. At first each process is a domain;
 * two become one, for good, when a thread of one waits for a thread of the other. So only ranks that share
 * locks contend here. Order: a futex queue's, a process's, a domain's (two: the lower address first),
 * scheduling's.
 *
 * Each call visits at most as many waiters as there are threads in the domain, each of them a fixed number of
 * times, because a thread waits for one owner. A thread's end does so for each lock in its robust list, whose
 * length is bounded.
 */
#include "process/futex_pi.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "process/futex.h"
#include "process/process.h"

#define CHAIN_MAX 1024 /* owners that wait for owners, as on Linux */

/* ---- Domains ---- */

static struct spinlock *domain_of(const struct process *process)
{
    return __atomic_load_n(&process->futexes.domain, __ATOMIC_ACQUIRE);
}

/* Takes the lock of the domain of both processes, which becomes one if it was two. */
static struct spinlock *domain_lock(struct process *one, struct process *other)
{
    for (;;) {
        struct spinlock *a = domain_of(one), *b = domain_of(other), *low = a < b ? a : b;
        struct spinlock *high = a < b ? b : a;

        spin_lock(low);
        if (low != high)
            spin_lock(high);
        bool are_theirs = a == domain_of(one) && b == domain_of(other);
        if (low != high) {
            PROCESSES_EACH(process)
                if (are_theirs && domain_of(process) == high)
                    __atomic_store_n(&process->futexes.domain, low, __ATOMIC_RELEASE);
            spin_unlock(high);
        }
        if (are_theirs)
            return low;
        spin_unlock(low);
    }
}

/* ---- Inheritance; from here on under the domain's lock ---- */

static void inherit(struct thread *owner)
{
    while (owner) {
        int rank = RANK_BACKGROUND;

        LIST_EACH(lock_waiter, waiter, &owner->locks.waiters)
            if (waiter->thread->schedule.rank > rank)
                rank = waiter->thread->schedule.rank;
        if (rank == owner->schedule.inherited_rank)
            return;
        schedule_inherit(owner, rank);
        owner = owner->locks.waits ? owner->locks.waits->owner : NULL;
    }
}

void futex_rank_changed(struct thread *thread)
{
    struct spinlock *domain = domain_lock(thread->process, thread->process);

    if (thread->locks.waits)
        inherit(thread->locks.waits->owner);
    spin_unlock(domain);
}

static void waiter_join(struct lock_waiter *waiter, struct thread *owner)
{
    waiter->owner = owner;
    list_append(&owner->locks.waiters, &waiter->link);
}

static void waiter_leave(struct lock_waiter *waiter)
{
    list_remove(&waiter->owner->locks.waiters, &waiter->link);
    waiter->thread->locks.waits = NULL;
}

/* Makes the waiter wait for the owner. Returns -EDEADLK if the owner, also through others, waits for the
 * waiter. */
static int wait_begin(struct lock_waiter *waiter, struct thread *owner)
{
    unsigned length = 0;

    for (const struct thread *next = owner; next;
         next = next->locks.waits ? next->locks.waits->owner : NULL) {
        lock_work_step();
        if (next == waiter->thread || ++length > CHAIN_MAX)
            return -EDEADLK;
    }
    waiter->woken = false;
    waiter->is_orphan = false;
    waiter->thread->locks.waits = waiter;
    waiter_join(waiter, owner);
    inherit(owner);
    return 0;
}

void lock_waiter_wake(struct lock_waiter *waiter)
{
    struct thread *thread = waiter->thread;

    __atomic_store_n(&waiter->woken, 1, __ATOMIC_RELEASE);
    thread_wake(thread);
}

/* Returns the first waiter of the highest rank for this lock of the thread; NULL if there is none. */
static struct lock_waiter *highest_waiter(const struct thread *owner, uint64_t key)
{
    struct lock_waiter *highest = NULL;

    LIST_EACH(lock_waiter, waiter, &owner->locks.waiters)
        if (waiter->key == key &&
            (!highest || waiter->thread->schedule.rank > highest->thread->schedule.rank))
            highest = waiter;
    return highest;
}

/* Wakes `heir`, which has got a lock of `owner`; further waiters for the same lock wait for the heir now. */
static void pass_on(struct thread *owner, struct lock_waiter *heir)
{
    waiter_leave(heir);
    LIST_EACH_SAFE(lock_waiter, waiter, &owner->locks.waiters) {
        if (waiter->key != heir->key)
            continue;
        list_remove(&owner->locks.waiters, &waiter->link);
        waiter_join(waiter, heir->thread);
    }
    inherit(owner);
    inherit(heir->thread);
    lock_waiter_wake(heir);
}

/* ---- Taking a lock ---- */

/* Finds the thread of this process with that tid, and locks the domain that both processes are in. NULL, with
 * nothing locked, if there is none, or it ends. */
static struct thread *owner_lock(struct process *own, struct process *process, uint32_t tid)
{
    SPIN_GUARD(&process->lock);
    struct thread *owner = thread_find(process, tid);

    if (!owner)
        return NULL;
    struct spinlock *domain = domain_lock(own, process);
    if (!owner->locks.has_ended)
        return owner;
    spin_unlock(domain);
    return NULL;
}

/* Finds the thread likewise, in any process that the waiter's could share the lock with. */
static struct thread *owner_find(const struct lock_waiter *waiter, uint32_t tid)
{
    struct process *own = waiter->thread->process;
    struct thread *owner = owner_lock(own, own, tid);

    if (owner || waiter->is_private)
        return owner;
    PROCESSES_EACH(process)
        if (process != own && (owner = owner_lock(own, process, tid)))
            return owner;
    return NULL;
}

int lock_enter(struct lock_waiter *waiter, uint64_t address, bool tries)
{
    uint32_t tid = waiter->thread->tid, value;
    /* A caller that takes it for another thread moves more waiters, as a rule. */
    uint32_t taken = waiter->thread == arch_thread() ? tid : tid | FUTEX_WAITERS;
    int done = user_read_word(&value, address) ? -EFAULT : 0;

    while (!done) {
        uint32_t owner_tid = value & FUTEX_TID_MASK;

        if (owner_tid == tid)
            return -EDEADLK;
        if (!owner_tid) {
            done = user_exchange_word(address, &value, (value & FUTEX_OWNER_DIED) | taken);
            continue;
        }
        /* With this bit in the word its owner releases it by a call, which has to take the domain's lock. */
        struct thread *owner = owner_find(waiter, owner_tid);
        done = user_exchange_word(address, &value, value | FUTEX_WAITERS);
        bool is_queued = done == 1 && owner && !tries;
        if (is_queued)
            done = wait_begin(waiter, owner);
        else if (done == 1)
            done = owner ? -EAGAIN : -ESRCH;
        if (owner)
            spin_unlock(domain_of(owner->process));
        if (is_queued)
            return done;
    }
    return done;
}

bool lock_withdraw(struct lock_waiter *waiter)
{
    struct process *process = waiter->thread->process;
    struct spinlock *domain = domain_lock(process, process);
    bool was_woken = waiter->woken;

    if (!was_woken) {
        waiter_leave(waiter);
        inherit(waiter->owner);
    }
    spin_unlock(domain);
    return !was_woken;
}

long futex_lock_pi(uint64_t address, uint64_t deadline_ns, bool tries, bool is_private)
{
    struct lock_waiter waiter = { .thread = arch_thread(), .is_private = is_private };
    int error = futex_key(address, &waiter.key);

    if (error)
        return error;
    do {
        int taken = lock_enter(&waiter, address, tries);

        if (taken)
            return taken < 0 ? taken : 0;
        error = thread_sleep(&waiter.woken, deadline_ns);
        if (error && lock_withdraw(&waiter))
            return error;
    } while (waiter.is_orphan);
    return 0;
}

/* ---- Releasing ---- */

int lock_release(uint64_t address, uint32_t *value, bool ends)
{
    struct thread *thread = arch_thread();
    uint64_t key;
    int done = futex_key(address, &key);

    if (done)
        return done;
    struct spinlock *domain = domain_lock(thread->process, thread->process);
    struct lock_waiter *heir = highest_waiter(thread, key);
    uint32_t changed = ends ? FUTEX_OWNER_DIED | (*value & FUTEX_WAITERS) : 0;
    if (heir)
        changed |= FUTEX_WAITERS | heir->thread->tid;
    done = user_exchange_word(address, value, changed);
    if (done == 1 && heir)
        pass_on(thread, heir);
    spin_unlock(domain);
    return done;
}

long futex_unlock_pi(uint64_t address)
{
    uint32_t value;
    int done = user_read_word(&value, address) ? -EFAULT : 0;

    while (!done)
        done = (value & FUTEX_TID_MASK) == arch_thread()->tid ? lock_release(address, &value, false) : -EPERM;
    return done < 0 ? done : 0;
}

void futex_locks_end(struct thread *thread)
{
    struct spinlock *domain = domain_lock(thread->process, thread->process);

    thread->locks.has_ended = true;
    LIST_EACH_SAFE(lock_waiter, waiter, &thread->locks.waiters) {
        waiter_leave(waiter);
        waiter->is_orphan = true;
        lock_waiter_wake(waiter);
    }
    spin_unlock(domain);
}
