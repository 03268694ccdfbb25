/* SPDX-License-Identifier: BSD-2-Clause */
/* futex_pi.c: locks whose owner inherits the priority of those who wait: what comes of each operation. */
#include "conform.h"

enum {
    FUTEX_LOCK_PI = 6,
    FUTEX_UNLOCK_PI = 7,
    FUTEX_TRYLOCK_PI = 8,
    FUTEX_WAIT_REQUEUE_PI = 11,
    FUTEX_CMP_REQUEUE_PI = 12,
    FUTEX_LOCK_PI2 = 13,
};
#define WAITERS    0x80000000U
#define OWNER_DIED 0x40000000U
#define TID        0x3fffffffU
/* How long to wait for a thread that should come. */
#define AWAIT_MS   5000

static uint32_t lock, other, condition;
static volatile long answers[4];
static volatile uint32_t waiter_tid;
static volatile int owned; /* a thread that is to end has its lock */

static uint32_t tid(void)
{
    return (uint32_t)sys(SYS_gettid);
}

static struct timespec in_ms(clockid_t clock, unsigned ms)
{
    struct timespec time;

    clock_gettime(clock, &time);
    time.tv_nsec += (long)ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* Until a thread waits for a lock, which its word shows however slow the machine is: some instructions before
 * it does, hence the rest. Where no thread comes, the results say so. */
static void await_waiter(volatile uint32_t *word)
{
    for (int i = 0; i < AWAIT_MS && !(*word & WAITERS); i++)
        rest_ms(1);
    rest_ms(20);
}

/* Until a thread waits for `condition`: moved to where it is, it is counted or, if for a lock, refused. */
static void await_condition_waiter(void)
{
    for (int i = 0; i < AWAIT_MS && sys(SYS_futex, &condition, FUTEX_REQUEUE, 0, 1, &condition) == 0; i++)
        rest_ms(1);
}

static pthread_t begun(void *(*run)(void *))
{
    pthread_t thread;

    owned = 0;
    pthread_create(&thread, NULL, run, NULL);
    return thread;
}

/* ---- Others, on a lock of the first thread's ---- */

static void *tries_and_waits(void *unused)
{
    struct timespec wall = in_ms(CLOCK_REALTIME, 5), local = in_ms(CLOCK_MONOTONIC, 5);

    answers[0] = sys(SYS_futex, &lock, FUTEX_TRYLOCK_PI);
    answers[1] = sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, &wall);
    answers[2] = sys(SYS_futex, &lock, FUTEX_LOCK_PI2, 0, &local);
    wall = in_ms(CLOCK_REALTIME, 5);
    answers[3] = sys(SYS_futex, &lock, FUTEX_LOCK_PI2 | FUTEX_CLOCK_REALTIME, 0, &wall);
    waiter_tid = (uint32_t)sys(SYS_futex, &lock, FUTEX_UNLOCK_PI);
    return unused;
}

static void *takes_and_releases(void *unused)
{
    waiter_tid = tid();
    answers[0] = sys(SYS_futex, &lock, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL);
    answers[1] = lock == (waiter_tid | WAITERS);
    answers[2] = sys(SYS_futex, &lock, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG);
    return unused;
}

/* Has `other`, and waits for `lock`: whose owner must not wait for `other` then. */
static void *waits_with_a_lock(void *unused)
{
    answers[0] = sys(SYS_futex, &other, FUTEX_LOCK_PI, 0, NULL);
    answers[1] = sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL);
    sys(SYS_futex, &lock, FUTEX_UNLOCK_PI);
    sys(SYS_futex, &other, FUTEX_UNLOCK_PI);
    return unused;
}

static void *waits_for_a_condition(void *unused)
{
    waiter_tid = tid();
    answers[0] = sys(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &lock);
    answers[1] = (lock & TID) == waiter_tid;
    answers[2] = sys(SYS_futex, &lock, FUTEX_UNLOCK_PI);
    return unused;
}

static void *waits_for_a_plain_wake(void *unused)
{
    answers[0] = sys(SYS_futex, &condition, FUTEX_WAIT, 0, NULL);
    return unused;
}

static void handle(int signal)
{
    (void)signal;
    answers[3]++;
}

static struct robust_list {
    void *next;
    uint32_t word;
} entry;
static struct {
    void *first;
    long offset;
    void *pending;
} head;

/* Ends with `entry.word`, which its list names. */
static void *ends_with_a_lock(void *unused)
{
    head.first = (char *)&entry + 1;
    entry.next = &head;
    head.offset = (char *)&entry.word - (char *)&entry;
    head.pending = NULL;
    answers[1] = sys(SYS_set_robust_list, &head, sizeof(head));
    answers[2] = sys(SYS_futex, &entry.word, FUTEX_LOCK_PI, 0, NULL);
    waiter_tid = tid();
    owned = 1;
    return unused;
}

/* The same, once another thread waits for it. */
static void *ends_with_a_lock_that_is_waited_for(void *unused)
{
    ends_with_a_lock(unused);
    await_waiter(&entry.word);
    return unused;
}

static void alone(void)
{
    struct timespec bad = { 0, -1 }, past = { 1, 0 };
    uint32_t *unwritable = (uint32_t *)read_only();

    result("lock", sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL));
    holds("the word is the tid", lock == tid());
    result("again", sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL));
    result("try again", sys(SYS_futex, &lock, FUTEX_TRYLOCK_PI));
    result("unlock", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    result("the word", lock);
    result("unlock again", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    result("try", sys(SYS_futex, &lock, FUTEX_TRYLOCK_PI));
    lock |= WAITERS;
    result("unlock, FUTEX_WAITERS", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    result("the word, then", lock);
    lock = OWNER_DIED;
    result("lock, FUTEX_OWNER_DIED", sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL));
    holds("which stays", lock == (tid() | OWNER_DIED));
    result("unlock, FUTEX_OWNER_DIED", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    result("the word, at last", lock);
    lock = 4000000;
    result("a lock of nobody's", sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL));
    holds("the word has a bit then", lock == (4000000 | WAITERS));
    result("try one of nobody's", sys(SYS_futex, &lock, FUTEX_TRYLOCK_PI));
    result("unlock one of nobody's", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    lock = 0;
    result("a bad time", sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, &bad));
    result("a bad time, FUTEX_LOCK_PI2", sys(SYS_futex, &lock, FUTEX_LOCK_PI2, 0, &bad));
    result("a time at nobody's", sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NOWHERE));
    result("a time that is over, free", sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, &past));
    sys(SYS_futex, &lock, FUTEX_UNLOCK_PI);
    result("at nobody's", sys(SYS_futex, NOWHERE, FUTEX_LOCK_PI, 0, NULL));
    result("half a word", sys(SYS_futex, (char *)&lock + 1, FUTEX_LOCK_PI, 0, NULL));
    result("in the kernel's memory", sys(SYS_futex, KERNEL_SIDE, FUTEX_LOCK_PI, 0, NULL));
    result("unwritable", sys(SYS_futex, unwritable, FUTEX_LOCK_PI, 0, NULL));
    result("unlock at nobody's", sys(SYS_futex, NOWHERE, FUTEX_UNLOCK_PI));
    result("by the real time", sys(SYS_futex, &lock, FUTEX_LOCK_PI | FUTEX_CLOCK_REALTIME, 0, NULL));
    result("try by the real time", sys(SYS_futex, &lock, FUTEX_TRYLOCK_PI | FUTEX_CLOCK_REALTIME));
}

static void with_others(void)
{
    struct sigaction action = { .sa_handler = handle };
    pthread_t thread;

    sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL);
    pthread_join(begun(tries_and_waits), NULL);
    result("try another's", answers[0]);
    result("lock another's for a time", answers[1]);
    result("FUTEX_LOCK_PI2", answers[2]);
    result("FUTEX_LOCK_PI2, FUTEX_CLOCK_REALTIME", answers[3]);
    result("unlock another's", (int32_t)waiter_tid);
    holds("FUTEX_WAITERS stays", lock == (tid() | WAITERS));
    result("unlock what was waited for", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    result("its word", lock);

    /* A signal's handler without SA_RESTART does not end the wait. */
    sigaction(SIGUSR1, &action, NULL);
    sys(SYS_futex, &lock, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL);
    thread = begun(takes_and_releases);
    await_waiter(&lock);
    answers[3] = 0;
    pthread_kill(thread, SIGUSR1);
    rest_ms(20);
    result("unlock to a waiter", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG));
    pthread_join(thread, NULL);
    result("signals that it handled", answers[3]);
    result("it locked", answers[0]);
    holds("the word was its tid", answers[1]);
    result("it unlocked", answers[2]);
    result("the word is", lock);

    lock = other = 0;
    sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL);
    thread = begun(waits_with_a_lock);
    await_waiter(&lock);
    result("a circle", sys(SYS_futex, &other, FUTEX_LOCK_PI, 0, NULL));
    result("out of it", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    pthread_join(thread, NULL);
    result("the other one's lock", answers[1]);
}

static void conditions(void)
{
    struct timespec soon;
    pthread_t thread;

    result("requeue, another value", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 1));
    result("requeue, two to wake", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 2, 0, &lock, 0));
    result("requeue to itself", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 0, &condition, 0));
    result("requeue nobody", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 1, &lock, 0));
    result("requeue less than nobody", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, -1, &lock, 0));
    result("wait, another value", sys(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI, 1, NULL, &lock));
    result("wait for itself", sys(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &condition));
    result("wait, the lock at nobody's", sys(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI, 0, NULL, NOWHERE));
    soon = in_ms(CLOCK_MONOTONIC, 5);
    result("wait for a time", sys(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI, 0, &soon, &lock));
    soon = in_ms(CLOCK_REALTIME, 5);
    result("wait by the real time",
           sys(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI | FUTEX_CLOCK_REALTIME, 0, &soon, &lock));

    lock = 0;
    thread = begun(waits_for_a_condition);
    await_condition_waiter();
    result("wake who is to be requeued", sys(SYS_futex, &condition, FUTEX_WAKE, 1));
    result("requeue it, but not to a lock", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE, 0, 1, &other, 0));
    result("to another lock", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 0, &other, 0));
    result("to a free lock", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 0));
    pthread_join(thread, NULL);
    result("the waiter", answers[0]);
    holds("had the lock", answers[1]);
    result("and released it", answers[2]);

    sys(SYS_futex, &lock, FUTEX_LOCK_PI, 0, NULL);
    thread = begun(waits_for_a_condition);
    await_condition_waiter();
    result("to a lock that is taken", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 0));
    holds("it waits", lock == (tid() | WAITERS));
    result("unlock to it", sys(SYS_futex, &lock, FUTEX_UNLOCK_PI));
    pthread_join(thread, NULL);
    result("the second waiter", answers[0]);
    holds("had it, too", answers[1]);
    result("released it, too", answers[2]);

    thread = begun(waits_for_a_plain_wake);
    await_condition_waiter();
    result("a waiter of another kind", sys(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 0));
    sys(SYS_futex, &condition, FUTEX_WAKE, 1);
    pthread_join(thread, NULL);
}

static void owner_ends(void)
{
    pthread_t thread = begun(ends_with_a_lock_that_is_waited_for);

    while (!owned)
        rest_ms(1);
    result("a lock whose owner ends", sys(SYS_futex, &entry.word, FUTEX_LOCK_PI, 0, NULL));
    holds("says so", entry.word == (tid() | OWNER_DIED | WAITERS));
    result("unlocked", sys(SYS_futex, &entry.word, FUTEX_UNLOCK_PI));
    result("and free", entry.word);
    pthread_join(thread, NULL);
    thread = begun(ends_with_a_lock);
    pthread_join(thread, NULL);
    holds("without a waiter", entry.word == OWNER_DIED);
}

/* Ends with `other`, which no list names, once another thread waits for it. */
static void *ends_with_an_unlisted_lock(void *unused)
{
    sys(SYS_futex, &other, FUTEX_LOCK_PI, 0, NULL);
    owned = 1;
    await_waiter(&other);
    return unused;
}

static void programs_mistakes(void)
{
    pthread_t thread;

    lock = other = 0;
    sys(SYS_futex, &lock, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL);
    thread = begun(takes_and_releases);
    await_waiter(&lock);
    result("a plain wake", sys(SYS_futex, &lock, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1));
    sys(SYS_futex, &lock, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG);
    pthread_join(thread, NULL);
    thread = begun(waits_for_a_plain_wake);
    await_condition_waiter();
    result("lock where one waits for a plain wake", sys(SYS_futex, &condition, FUTEX_LOCK_PI, 0, NULL));
    condition = 0;
    sys(SYS_futex, &condition, FUTEX_WAKE, 1);
    pthread_join(thread, NULL);
    thread = begun(ends_with_an_unlisted_lock);
    while (!owned)
        rest_ms(1);
    result("an owner ends without a list", sys(SYS_futex, &other, FUTEX_LOCK_PI, 0, NULL));
    pthread_join(thread, NULL);
}

CONFORM(futex_pi)
{
    alone();
    with_others();
    conditions();
    owner_ends();
    programs_mistakes();
}
