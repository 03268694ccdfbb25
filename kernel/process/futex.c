/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * futex.c: see futex.h. Runs in the calls of the threads, interrupts off.
 *
 * Waiters stand in queues by a hash of their key, each queue with a lock of its own. A waiter looks at the
 * word and joins the queue under that lock, and a waker takes it after the word was changed: so no wake is
 * lost. Where two queues are needed (requeueing), the one at the lower address is locked first.
 */
#include "process/futex.h"
#include "arch.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "process/process.h"
#include "syscall/syscall.h"
#include "time/timer.h"
#include "time/timespec.h"

#define QUEUES 64

struct waiter {
    struct waiter *next, *previous; /* in the queue */
    struct queue *queue;            /* changes when it is requeued */
    uint64_t key;
    uint32_t bits;
    uint32_t woken; /* no longer in a queue */
    unsigned cpu;
};

static struct queue {
    struct spinlock lock;
    struct waiter *first, *last;
} queues[QUEUES] __attribute__((aligned(64)));

/* ---- Queues, under their locks ---- */

static struct queue *queue_of(uint64_t key)
{
    return &queues[(key >> 2) * 0x9e3779b97f4a7c15 >> 58];
}

static void queue_join(struct queue *queue, struct waiter *waiter)
{
    waiter->queue = queue;
    waiter->next = NULL;
    waiter->previous = queue->last;
    if (queue->last)
        queue->last->next = waiter;
    else
        queue->first = waiter;
    queue->last = waiter;
}

static void queue_leave(struct waiter *waiter)
{
    struct queue *queue = waiter->queue;

    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        queue->first = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    else
        queue->last = waiter->previous;
}

/* The waiter's memory is its own again as soon as it sees `woken`. */
static void waiter_wake(struct waiter *waiter)
{
    unsigned cpu = waiter->cpu;

    queue_leave(waiter);
    __atomic_store_n(&waiter->woken, 1, __ATOMIC_RELEASE);
    arch_ipi_send(cpu);
}

static long queue_wake(struct queue *queue, uint64_t key, uint64_t count, uint32_t bits)
{
    long woken = 0;

    for (struct waiter *waiter = queue->first, *next; waiter && (uint64_t)woken < count; waiter = next) {
        next = waiter->next;
        if (waiter->key != key || !(waiter->bits & bits))
            continue;
        waiter_wake(waiter);
        woken++;
    }
    return woken;
}

static void both_lock(struct queue *one, struct queue *other)
{
    spin_lock(one < other ? &one->lock : &other->lock);
    if (one != other)
        spin_lock(one < other ? &other->lock : &one->lock);
}

static void both_unlock(struct queue *one, struct queue *other)
{
    spin_unlock(&one->lock);
    if (one != other)
        spin_unlock(&other->lock);
}

/* ---- Words ---- */

static int key_of(uint64_t address, uint64_t *key)
{
    if (address % sizeof(uint32_t))
        return -EINVAL;
    if (address >= ARCH_USER_LIMIT)
        return -EFAULT;
    *key = arch_translate(&arch_process()->vm.space, address);
    return *key == PAGE_POOL_NONE ? -EFAULT : 0;
}

/* ---- Waking ---- */

long futex_wake(uint64_t address, uint64_t count, uint32_t bits)
{
    uint64_t key;
    int error = key_of(address, &key);

    if (error)
        return error;

    struct queue *queue = queue_of(key);
    spin_lock(&queue->lock);
    long woken = queue_wake(queue, key, count, bits);
    spin_unlock(&queue->lock);
    return woken;
}

unsigned futex_waiters(uint64_t address)
{
    unsigned count = 0;
    uint64_t key;

    if (key_of(address, &key))
        return 0;

    struct queue *queue = queue_of(key);
    spin_lock(&queue->lock);
    for (const struct waiter *waiter = queue->first; waiter; waiter = waiter->next)
        count += waiter->key == key && (arch_process()->cpus & cpu_mask_bit(waiter->cpu));
    spin_unlock(&queue->lock);
    return count;
}

/* Wakes some, and lets others wait for another word: as a rule a lock that only one of them can have. With
 * `compare` only while the first word is *compare. */
static long requeue(uint64_t from_address, uint64_t to_address, uint64_t wake_count, uint64_t move_count,
                    const uint32_t *compare)
{
    uint64_t from_key, to_key;
    uint32_t value;
    int error = key_of(from_address, &from_key);

    if (!error)
        error = key_of(to_address, &to_key);
    if (error)
        return error;

    struct queue *from = queue_of(from_key), *to = queue_of(to_key);
    both_lock(from, to);
    if (compare && (error = user_read_word(&value, from_address) ? -EFAULT
                            : value != *compare                  ? -EAGAIN
                                                                 : 0)) {
        both_unlock(from, to);
        return error;
    }

    long moved = 0, woken = queue_wake(from, from_key, wake_count, FUTEX_ANY);
    for (struct waiter *waiter = from->first, *next; waiter && (uint64_t)moved < move_count; waiter = next) {
        next = waiter->next;
        if (waiter->key != from_key)
            continue;
        moved++;
        if (from_key == to_key)
            continue;
        queue_leave(waiter);
        waiter->key = to_key;
        queue_join(to, waiter);
    }
    both_unlock(from, to);
    return compare ? woken + moved : woken;
}

/* FUTEX_WAKE_OP's instruction for the second word: 4 bits of operation, 4 of comparison, 12 each of argument
 * to both. 1 where the old value passes the comparison, 0 where not, -EFAULT, -ENOSYS. */
static int word_operate(uint64_t address, uint32_t instruction)
{
    enum { SET, ADD, OR, AND_NOT, XOR };
    enum { EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL };
    int32_t argument = (int32_t)(instruction << 8) >> 20, compared = (int32_t)(instruction << 20) >> 20;
    uint32_t operation = instruction >> 28 & 7, old;
    int done;

    if (instruction >> 31)
        argument = (int32_t)(1U << (argument & 31));
    if (operation > XOR || (instruction >> 24 & 15) > GREATER_EQUAL)
        return -ENOSYS;
    if (user_read_word(&old, address))
        return -EFAULT;
    do {
        uint32_t with = (uint32_t)argument;
        uint32_t changed = operation == SET       ? with
                           : operation == ADD     ? old + with
                           : operation == OR      ? old | with
                           : operation == AND_NOT ? old & ~with
                                                  : old ^ with;

        done = user_exchange_word(address, &old, changed);
    } while (done == 0);
    if (done < 0)
        return done;

    int32_t was = (int32_t)old;
    switch (instruction >> 24 & 15) {
    case EQUAL:
        return was == compared;
    case NOT_EQUAL:
        return was != compared;
    case LESS:
        return was < compared;
    case LESS_EQUAL:
        return was <= compared;
    case GREATER:
        return was > compared;
    default:
        return was >= compared;
    }
}

static long wake_and_operate(uint64_t first_address, uint64_t second_address, uint64_t first_count,
                             uint64_t second_count, uint32_t instruction)
{
    uint64_t first_key, second_key;
    long woken = key_of(first_address, &first_key);

    if (!woken)
        woken = key_of(second_address, &second_key);
    if (woken)
        return woken;

    struct queue *first = queue_of(first_key), *second = queue_of(second_key);
    both_lock(first, second);
    int passes = word_operate(second_address, instruction);
    if (passes < 0) {
        woken = passes;
    } else {
        woken = queue_wake(first, first_key, first_count, FUTEX_ANY);
        if (passes)
            woken += queue_wake(second, second_key, second_count, FUTEX_ANY);
    }
    both_unlock(first, second);
    return woken;
}

/* ---- Waiting ---- */

/* Takes a waiter out that nobody has woken; false where somebody was quicker. */
static bool waiter_withdraw(struct waiter *waiter)
{
    for (;;) {
        struct queue *queue = __atomic_load_n(&waiter->queue, __ATOMIC_RELAXED);

        spin_lock(&queue->lock);
        bool here = queue == waiter->queue, waits = !waiter->woken;
        if (here && waits)
            queue_leave(waiter);
        spin_unlock(&queue->lock);
        if (here)
            return waits;
    }
}

static long wait_rest(const uint64_t *words);

static long futex_wait(uint64_t address, uint32_t expected, uint64_t deadline_ns, uint32_t bits)
{
    struct waiter waiter = { .bits = bits, .cpu = arch_cpu_index() };
    uint32_t value;
    int error = key_of(address, &waiter.key);

    if (error)
        return error;

    struct queue *queue = queue_of(waiter.key);
    spin_lock(&queue->lock);
    error = user_read_word(&value, address) ? -EFAULT : value != expected ? -EAGAIN : 0;
    if (!error)
        queue_join(queue, &waiter);
    spin_unlock(&queue->lock);
    if (error)
        return error;

    error = thread_sleep(&waiter.woken, deadline_ns);
    if (!error || !waiter_withdraw(&waiter))
        return 0;
    if (error != -EINTR)
        return error;
    if (deadline_ns == TIMER_NEVER)
        return thread_interrupted_call(SYSCALL_NUMBER_futex, RESTART_ALWAYS);

    const uint64_t words[RESUME_WORDS] = { address, expected, deadline_ns, bits };
    return thread_interrupted_wait(wait_rest, words);
}

static long wait_rest(const uint64_t *words)
{
    return futex_wait(words[0], (uint32_t)words[1], words[2], (uint32_t)words[3]);
}

/* The local time until which to wait; TIMER_NEVER without a time. */
static int futex_deadline_read(uint64_t operation, uint64_t timeout, uint64_t *deadline_ns)
{
    uint64_t ns;

    *deadline_ns = TIMER_NEVER;
    if (!timeout)
        return 0;

    int error = timespec_read(timeout, &ns);
    if (error)
        return error;
    if ((operation & FUTEX_COMMANDS) == FUTEX_WAIT)
        *deadline_ns = time_add(clock_now_ns(), ns); /* the one relative time among them */
    else if (operation & FUTEX_CLOCK_REALTIME)
        *deadline_ns = ns > clock_wall_offset_ns() ? ns - clock_wall_offset_ns() : 0;
    else
        *deadline_ns = ns;
    return 0;
}

long sys_futex(uint64_t address, uint64_t operation, uint64_t value, uint64_t timeout, uint64_t address2,
               uint64_t value3)
{
    const uint32_t command = (uint32_t)operation & FUTEX_COMMANDS;
    const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
    const uint32_t bits = (uint32_t)value3, expected = (uint32_t)value3;
    uint64_t count = (uint32_t)value, count2 = (uint32_t)timeout, deadline_ns = TIMER_NEVER;
    int error;

    if ((operation & FUTEX_CLOCK_REALTIME) && command != FUTEX_WAIT_BITSET)
        return -ENOSYS;
    if (waits && (error = futex_deadline_read(operation, timeout, &deadline_ns)))
        return error;
    switch (command) {
    case FUTEX_WAIT:
        return futex_wait(address, (uint32_t)value, deadline_ns, FUTEX_ANY);
    case FUTEX_WAIT_BITSET:
        return bits ? futex_wait(address, (uint32_t)value, deadline_ns, bits) : -EINVAL;
    case FUTEX_WAKE:
        return futex_wake(address, count ? count : 1, FUTEX_ANY); /* Linux wakes one for 0, too */
    case FUTEX_WAKE_BITSET:
        return bits ? futex_wake(address, count ? count : 1, bits) : -EINVAL;
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        if ((int32_t)value < 0 || (int32_t)timeout < 0)
            return -EINVAL;
        return requeue(address, address2, count, count2, command == FUTEX_CMP_REQUEUE ? &expected : NULL);
    case FUTEX_WAKE_OP:
        return wake_and_operate(address, address2, count ? count : 1, count2, (uint32_t)value3);
    default:
        if (command > FUTEX_COMMAND_LAST)
            return -ENOSYS;
        return syscall_refuse(
            "futex",
            "locks that inherit priority: threads do not share CPUs here, so there is none to inherit");
    }
}

/* ---- Robust locks [man 2 set_robust_list] ---- */

#define ROBUST_LIST_MAX 2048 /* a list that the program has made a ring ends, too */

/* The thread has died with the lock: where its word is the thread's, it is marked, one waiter woken. A lock
 * that was being given back (`pending`) may be free already, and whoever waits for it not yet told. */
static void robust_lock_hand_on(const struct thread *thread, uint64_t address, bool pending)
{
    uint32_t value;
    int done;

    if (address % sizeof(value) || user_read_word(&value, address))
        return;
    if (pending && value == 0)
        futex_wake(address, 1, FUTEX_ANY);
    do {
        if ((value & FUTEX_TID_MASK) != thread->tid)
            return;
        done = user_exchange_word(address, &value, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
    } while (done == 0);
    if (done == 1 && (value & FUTEX_WAITERS))
        futex_wake(address, 1, FUTEX_ANY);
}

void futex_robust_list_hand_on(struct thread *thread)
{
    struct {
        uint64_t first;
        int64_t word_offset;
        uint64_t pending; /* a lock that is being taken or given back */
    } head;
    uint64_t list = thread->robust_list, next;

    if (!list || user_read(&head, list, sizeof(head)))
        return;
    next = head.first;
    for (unsigned count = 0; next != list && count < ROBUST_LIST_MAX; count++) {
        uint64_t entry = next & ~1ULL; /* bit 0: one that inherits priority; there are none */

        if (user_read(&next, entry, sizeof(next)))
            next = list;
        if (entry != (head.pending & ~1ULL))
            robust_lock_hand_on(thread, entry + (uint64_t)head.word_offset, false);
    }
    if (head.pending)
        robust_lock_hand_on(thread, (head.pending & ~1ULL) + (uint64_t)head.word_offset, true);
}
