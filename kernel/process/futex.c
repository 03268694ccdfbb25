/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex.c: see futex.h. Runs in system calls, interrupts off.
 *
 * Owns the queues of waiters: one for each hash of a key, each with its own lock. A waiter reads the word and
 * joins the queue under that lock; a waker takes it after the word was changed: so no wake is lost. If two
 * queues are needed (requeueing), the one at the lower address is locked first. A waiter itself stands on the
 * stack of its thread.
 *
 * A program may choose words that all have one queue. Even then each call visits each waiter at most once,
 * and there are at most as many waiters as threads in the ranks that share the memory.
 */
#include "process/futex.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "process/futex_pi.h"
#include "process/process.h"

struct waiter {
    struct list_link link;     /* in the queue */
    struct futex_queue *queue; /* changes when it is requeued */
    uint64_t key;
    uint32_t bits;
    uint32_t woken; /* no longer in a queue */
    struct thread *thread;
    struct lock_waiter *lock; /* FUTEX_WAIT_REQUEUE_PI: once requeued, it waits only for this; else NULL */
};

static struct process_futexes others; /* words in memory that no rank has: files of the boot archive */

/* ---- Queues, under their locks ---- */

static struct futex_queue *queue_of(uint64_t key)
{
    struct process *process = arch_process();

    if (!memory_slice_has(process->slice, key))
        process = process_of_memory(key);
    return &(process ? &process->futexes : &others)->queues[(key >> 2) * 0x9e3779b97f4a7c15 >> 58];
}

static void queue_join(struct futex_queue *queue, struct waiter *waiter)
{
    waiter->queue = queue;
    list_append(&queue->waiters, &waiter->link);
}

static void queue_leave(struct waiter *waiter)
{
    list_remove(&waiter->queue->waiters, &waiter->link);
}

/* Wakes waiters. Returns how many, or -EINVAL if one of them waits for a move to a lock. */
static long queue_wake(struct futex_queue *queue, uint64_t key, uint64_t count, uint32_t bits)
{
    long woken = 0;

    LIST_EACH_SAFE(waiter, waiter, &queue->waiters) {
        if ((uint64_t)woken >= count)
            break;
        if (waiter->key != key)
            continue;
        if (waiter->lock)
            return -EINVAL;
        if (!(waiter->bits & bits))
            continue;
        queue_leave(waiter);
        struct thread *thread = waiter->thread;
        __atomic_store_n(&waiter->woken, 1, __ATOMIC_RELEASE); /* from here on the waiter may be gone */
        thread_wake(thread);
        woken++;
    }
    return woken;
}

/* ---- Words ---- */

int futex_key(uint64_t address, uint64_t *key)
{
    if (address % sizeof(uint32_t))
        return -EINVAL;
    if (address >= ARCH_USER_LIMIT)
        return -EFAULT;
    *key = arch_translate(&arch_process()->vm.space, address);
    return *key == PAGE_POOL_NONE ? -EFAULT : 0;
}

/* Two words and their queues. */
struct pair {
    uint64_t first_key, second_key;
    struct futex_queue *first, *second;
};

/* Finds the keys of two words, and locks their queues. */
static int pair_lock(struct pair *pair, uint64_t first_address, uint64_t second_address)
{
    int error = futex_key(first_address, &pair->first_key);

    if (!error)
        error = futex_key(second_address, &pair->second_key);
    if (error)
        return error;
    struct futex_queue *one = pair->first = queue_of(pair->first_key);
    struct futex_queue *other = pair->second = queue_of(pair->second_key);
    spin_lock(one < other ? &one->lock : &other->lock);
    if (one != other)
        spin_lock(one < other ? &other->lock : &one->lock);
    return 0;
}

static void pair_unlock(const struct pair *pair)
{
    spin_unlock(&pair->first->lock);
    if (pair->first != pair->second)
        spin_unlock(&pair->second->lock);
}

static int word_compare(uint64_t address, uint32_t expected)
{
    uint32_t value;

    if (user_read_word(&value, address))
        return -EFAULT;
    return value == expected ? 0 : -EAGAIN;
}

/* ---- Waking ---- */

long futex_wake(uint64_t address, uint64_t count, uint32_t bits)
{
    uint64_t key;
    int error = futex_key(address, &key);

    if (error)
        return error;

    struct futex_queue *queue = queue_of(key);
    SPIN_GUARD(&queue->lock);
    return queue_wake(queue, key, count, bits);
}

/* Moves a waiter to the queue of another word. -EINVAL if it waits for a move to a lock. */
static int waiter_move(struct waiter *waiter, struct futex_queue *to, uint64_t key)
{
    if (waiter->lock)
        return -EINVAL;
    if (waiter->key == key)
        return 0;
    queue_leave(waiter);
    waiter->key = key;
    queue_join(to, waiter);
    return 0;
}

/* Lets a waiter, which comes before `next`, take the lock with that key, or wait for it. -EINVAL if it waits
 * for something else. */
static int waiter_lock(struct waiter *waiter, struct waiter *next, uint64_t lock_address, uint64_t key)
{
    struct lock_waiter *lock = waiter->lock;

    if (!lock || lock->key != key)
        return -EINVAL;
    queue_leave(waiter);
    waiter->woken = 1;
    int taken = lock_enter(lock, lock_address, false);
    if (taken < 0) {
        waiter->woken = 0;
        list_insert(&waiter->queue->waiters, &waiter->link, next ? &next->link : NULL);
    } else if (taken) {
        lock_waiter_wake(lock);
    }
    return taken;
}

long futex_requeue(uint64_t from_address, uint64_t to_address, uint64_t wake_count, uint64_t move_count,
                   const uint32_t *expected, bool to_lock)
{
    struct pair pair;
    uint64_t moved = 0;
    long woken = pair_lock(&pair, from_address, to_address);

    if (woken)
        return woken;
    if (to_lock && pair.first_key == pair.second_key)
        woken = -EINVAL;
    else if (expected)
        woken = word_compare(from_address, *expected);
    if (!woken)
        woken = queue_wake(pair.first, pair.first_key, wake_count, FUTEX_ANY);
    LIST_EACH_SAFE(waiter, waiter, &pair.first->waiters) {
        if (woken < 0 || moved >= move_count)
            break;
        if (waiter->key != pair.first_key)
            continue;
        int error = to_lock ? waiter_lock(waiter, waiter_next, to_address, pair.second_key)
                            : waiter_move(waiter, pair.second, pair.second_key);
        woken = error < 0 ? error : woken;
        moved++;
    }
    pair_unlock(&pair);
    return woken < 0 ? woken : woken + (long)moved;
}

enum word_operation { SET, ADD, OR, AND_NOT, XOR };

static uint32_t word_changed(uint32_t old, enum word_operation operation, uint32_t with)
{
    switch (operation) {
    case SET:
        return with;
    case ADD:
        return old + with;
    case OR:
        return old | with;
    case AND_NOT:
        return old & ~with;
    default: /* XOR */
        return old ^ with;
    }
}

/* Does FUTEX_WAKE_OP's instruction for the second word: 4 bits of operation, 4 of comparison, 12 each of
 * argument to both. Returns 1 if the old value passes the comparison, 0 if not, -EFAULT, -ENOSYS. */
static int word_operate(uint64_t address, uint32_t instruction)
{
    /* For =, !=, <, <=, >, >=: whether a value that is less (bit 0), equal, greater (bit 2) passes. */
    static const uint8_t passing[] = { 2, 5, 1, 3, 4, 6 };
    int32_t argument = (int32_t)(instruction << 8) >> 20, compared = (int32_t)(instruction << 20) >> 20;
    uint32_t operation = instruction >> 28 & 7, comparison = instruction >> 24 & 15, old;
    int done;

    if (instruction >> 31)
        argument = (int32_t)(1U << (argument & 31));
    if (operation > XOR || comparison >= sizeof(passing))
        return -ENOSYS;
    if (user_read_word(&old, address))
        return -EFAULT;
    do
        done = user_exchange_word(address, &old, word_changed(old, operation, (uint32_t)argument));
    while (done == 0);
    if (done < 0)
        return done;

    int order = ((int32_t)old > compared) - ((int32_t)old < compared);
    return passing[comparison] >> (order + 1) & 1;
}

long futex_wake_operate(uint64_t first_address, uint64_t second_address, uint64_t first_count,
                        uint64_t second_count, uint32_t instruction)
{
    struct pair pair;
    long woken = pair_lock(&pair, first_address, second_address);

    if (woken)
        return woken;
    int passes = word_operate(second_address, instruction);
    woken = passes < 0 ? passes : queue_wake(pair.first, pair.first_key, first_count, FUTEX_ANY);
    if (passes > 0 && woken >= 0) {
        long more = queue_wake(pair.second, pair.second_key, second_count, FUTEX_ANY);
        woken = more < 0 ? more : woken + more;
    }
    pair_unlock(&pair);
    return woken;
}

/* ---- Waiting ---- */

/* Takes a waiter that was not woken out of its queue; false if it was woken before. */
static bool waiter_withdraw(struct waiter *waiter)
{
    for (;;) {
        struct futex_queue *queue = __atomic_load_n(&waiter->queue, __ATOMIC_RELAXED);

        SPIN_GUARD(&queue->lock);
        if (queue != waiter->queue)
            continue;
        if (waiter->woken)
            return false;
        queue_leave(waiter);
        return true;
    }
}

/* Joins the queue of the word if that is `expected`, else returns -EAGAIN. */
static int waiter_enter(struct waiter *waiter, uint64_t address, uint32_t expected)
{
    int error = futex_key(address, &waiter->key);

    if (error)
        return error;

    struct futex_queue *queue = queue_of(waiter->key);
    SPIN_GUARD(&queue->lock);
    error = word_compare(address, expected);
    if (!error)
        queue_join(queue, waiter);
    return error;
}

long futex_wait(uint64_t address, uint32_t expected, uint64_t deadline_ns, uint32_t bits)
{
    struct waiter waiter = { .bits = bits, .thread = arch_thread() };
    int error = waiter_enter(&waiter, address, expected);

    if (error)
        return error;
    error = thread_sleep(&waiter.woken, deadline_ns);
    return error && waiter_withdraw(&waiter) ? error : 0;
}

/* ---- Waiting for a condition, and then for its lock ---- */

long futex_wait_requeue_pi(uint64_t address, uint32_t expected, uint64_t deadline_ns, uint64_t lock_address,
                           bool is_private)
{
    struct lock_waiter lock = { .thread = arch_thread(), .is_private = is_private };
    struct waiter waiter = { .bits = FUTEX_ANY, .thread = arch_thread(), .lock = &lock };
    int error = address == lock_address ? -EINVAL : futex_key(lock_address, &lock.key);

    if (!error)
        error = waiter_enter(&waiter, address, expected);
    if (error)
        return error;
    error = thread_sleep(&lock.woken, deadline_ns);
    if (error && waiter_withdraw(&waiter))
        return error;
    if (error && lock_withdraw(&lock))
        return error == -EINTR ? -EAGAIN : error; /* a restart would find that the word has changed */
    return lock.is_orphan ? futex_lock_pi(lock_address, deadline_ns, false, is_private) : 0;
}

/* ---- Robust locks [man 2 set_robust_list] ---- */

#define ROBUST_LIST_MAX 2048 /* bounds the walk of a list that the program has damaged */

/* Marks a lock if its word says that the ending thread holds it, and wakes one waiter. A lock that was being
 * released (`pending`) may be free already, with no waiter woken yet. Bit 0 of a list's entry says that the
 * lock inherits priority; such a lock has an owner for as long as it has waiters. */
static void robust_lock_release(const struct thread *thread, uint64_t entry, uint64_t offset, bool pending)
{
    uint64_t address = (entry & ~1ULL) + offset;
    bool inherits = entry & 1;
    uint32_t value;
    int done;

    if (address % sizeof(value) || user_read_word(&value, address))
        return;
    if (pending && value == 0 && !inherits)
        futex_wake(address, 1, FUTEX_ANY);
    do {
        if ((value & FUTEX_TID_MASK) != thread->tid)
            return;
        done = inherits ? lock_release(address, &value, true)
                        : user_exchange_word(address, &value, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
    } while (done == 0);
    if (done == 1 && (value & FUTEX_WAITERS) && !inherits)
        futex_wake(address, 1, FUTEX_ANY);
}

void futex_robust_list_release(struct thread *thread)
{
    struct {
        uint64_t first;
        uint64_t word_offset; /* may be negative */
        uint64_t pending;     /* a lock that is being taken or released */
    } head;
    uint64_t list = thread->robust_list, next;

    if (!list || user_read(&head, list, sizeof(head)))
        return;
    next = head.first;
    for (unsigned count = 0; next != list && count < ROBUST_LIST_MAX; count++) {
        uint64_t entry = next;

        if (user_read(&next, entry & ~1ULL, sizeof(next)))
            next = list;
        if ((entry ^ head.pending) & ~1ULL)
            robust_lock_release(thread, entry, head.word_offset, false);
    }
    if (head.pending)
        robust_lock_release(thread, head.pending, head.word_offset, true);
}
