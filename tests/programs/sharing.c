/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sharing.c NAME [NUMBER]: which of several threads has a CPU, for how long, and which CPU. The comment above
 * each function in the table at the end says what it promises. It checks orders, exact sums and the node's
 * counters, never times of the host. Figures that are exact only under a deterministic clock (turns, CPU
 * time) are printed, for the test to judge.
 */
#define _GNU_SOURCE
#include "sharing.h"

/* ---- Turns ---- */

static volatile unsigned owner;
static volatile uint64_t turn_begun_ns, turn_shortest_ns = UINT64_MAX, turns;

/* Computes; the first to see that it has the CPU after another one measures the other one's turn. */
static void *computer(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument + 1;

    pin(0, 1);
    while (!over) {
        if (owner != me) {
            uint64_t now = now_ns();

            if (turns++ > 2 && owner && !over && now - turn_begun_ns < turn_shortest_ns)
                turn_shortest_ns = now - turn_begun_ns;
            turn_begun_ns = now, owner = me;
        }
        counts[me - 1]++;
    }
    return NULL;
}

static void turns_print(void)
{
    printf("turns: %lu, shortest_ns: %lu\n", turns, turn_shortest_ns);
}

static void rotation(void)
{
    uint64_t before = counters(0)->rotations;

    start(0, computer);
    start(1, computer);
    while (turns < 12)
        sleep_ns(10 * MS);
    over = true;
    join(0, 2);
    PROMISE(counts[0] > 0 && counts[1] > 0, "%lu %lu", counts[0], counts[1]);
    PROMISE(counters(0)->rotations - before >= 10, "%lu", counters(0)->rotations - before);
    turns_print();
}

static void *blocker(void *unused)
{
    (void)unused;
    pin(0, 1);
    while (!over) {
        spin_ns(7 * (uint64_t)turn_ns / 10);
        owner = 0; /* the next one's turn begins */
        sleep_ns(MS / 10);
    }
    return NULL;
}

/* Lets two threads compute, and one give up its turn before the end: the next turn has the usual length. */
static void rotation_blocks(void)
{
    start(0, computer);
    start(1, computer);
    start(2, blocker);
    while (turns < 40)
        sleep_ns(10 * MS);
    over = true;
    join(0, 3);
    turns_print();
}

static void *often(void *unused)
{
    (void)unused;
    pin(0, 1);
    policy_set(0, SCHED_FIFO, 5);
    while (!over)
        sleep_ns((uint64_t)turn_ns / 5);
    return NULL;
}

/* Lets a thread of higher rank run for a moment, many times per turn: the turn still ends. */
static void rotation_often(void)
{
    start(0, computer);
    start(1, computer);
    start(2, often);
    while (turns < 12)
        sleep_ns(10 * MS);
    over = true;
    join(0, 3);
    PROMISE(counts[0] > 0 && counts[1] > 0, "%lu %lu", counts[0], counts[1]);
}

static void *ran(void *argument)
{
    flags[(uintptr_t)argument] = 1;
    return NULL;
}

/* Checks rotation=off: other threads go on when this thread blocks or yields, not before. */
static void rotation_off(void)
{
    pin(0, 1);
    for (unsigned i = 0; i < 3; i++)
        start(i, ran);
    spin_ns(50 * MS);
    PROMISE(!flags[0] && !flags[1] && !flags[2], "%d %d %d", flags[0], flags[1], flags[2]);
    sched_yield();
    PROMISE(flags[0] && flags[1] && flags[2], "%d %d %d", flags[0], flags[1], flags[2]);
    start(3, ran);
    PROMISE(!flags[3], "it runs before the first one blocks");
    sleep_ns(MS);
    PROMISE(flags[3], "it has not run while the first one slept");
    join(0, 4);
    PROMISE(counters(0)->rotations == 0, "%lu", counters(0)->rotations);
}

/* ---- What becomes pending for a thread that is ready ---- */

static void *yield_then_compute(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;

    pin(0, 1);
    counts[me] = (uint64_t)tid_here();
    flags[me] = 1;
    sched_yield();
    while (!never)
        flags[me] = 2;
    return NULL;
}

/* Checks that a signal, and the end of the process, reach a thread that has yielded before it computes on. */
static void yields_end(void)
{
    struct sigaction action = { .sa_handler = handler };

    sigaction(SIGUSR1, &action, NULL);
    pin(0, 1);
    start(0, yield_then_compute);
    while (!flags[0])
        sched_yield();
    PROMISE(flags[0] == 1, "it computes already");
    syscall(SYS_tgkill, getpid(), (pid_t)counts[0], SIGUSR1);
    sched_yield(); /* back after its turn */
    PROMISE(over, "the signal of a thread that has yielded was not delivered");
    exit(promises_kept());
}

/* ---- Policies ---- */

static char order[64];

static void note(char what)
{
    order[strlen(order)] = what;
}

#define ORDER(expected)                                                            \
    do {                                                                           \
        PROMISE(strcmp(order, expected) == 0, "%s, expected %s", order, expected); \
        memset(order, 0, sizeof(order));                                           \
    } while (0)

/* A thread that takes its policy from `number`s below, waits for its flag and notes its letter. */
static int policies[THREADS_MAX], priorities[THREADS_MAX];

static void *noter(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;

    policy_set(0, policies[me], priorities[me]);
    tids[me] = tid_here();
    word_wait(&flags[me], 0);
    note((char)('a' + me));
    return NULL;
}

static void noter_start(unsigned me, int policy, int priority)
{
    policies[me] = policy, priorities[me] = priority, tids[me] = 0, flags[me] = 0;
    start(me, noter);
    waiter_wait(&flags[me], 0); /* this thread is alone again */
}

/* Notes a thread's letter when it begins, and again after a long time. */
static void *long_noter(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;

    note((char)('a' + me));
    spin_ns(5 * (uint64_t)turn_ns);
    note((char)('A' + me));
    return NULL;
}

/* Notes a thread's letter, and computes until another thread has noted its letter, too. */
static void *both_noter(void *argument)
{
    note((char)('a' + (uintptr_t)argument));
    while (!__atomic_load_n(&order[1], __ATOMIC_ACQUIRE))
        ;
    return NULL;
}

static void ranks(void)
{
    pin(0, 1);

    /* a woken thread of higher rank runs before the waker goes on; one of the same or a lower rank, later */
    noter_start(0, SCHED_FIFO, 10);
    word_set(&flags[0], 1);
    note('m');
    join(0, 1);
    ORDER("am");
    noter_start(0, SCHED_OTHER, 0);
    word_set(&flags[0], 1);
    note('m');
    join(0, 1);
    ORDER("ma");

    /* the highest first, whichever was ready first; equal ones in order */
    IS(policy_set(0, SCHED_FIFO, 50), 0);
    noter_start(0, SCHED_FIFO, 3);
    noter_start(1, SCHED_FIFO, 7);
    noter_start(2, SCHED_OTHER, 0);
    noter_start(3, SCHED_FIFO, 7);
    noter_start(4, SCHED_IDLE, 0);
    for (unsigned i = 5; i-- > 0;)
        word_set(&flags[i], 1);
    note('m');
    join(0, 5);
    ORDER("mdbace");

    /* equal ones of SCHED_FIFO take no turns, those of SCHED_RR do */
    uint64_t before = counters(0)->rotations;
    start(0, long_noter);
    start(1, long_noter);
    join(0, 2);
    ORDER("aAbB");
    PROMISE(counters(0)->rotations == before, "%lu", counters(0)->rotations - before);
    IS(policy_set(0, SCHED_RR, 50), 0);
    start(0, both_noter);
    start(1, both_noter);
    join(0, 2);
    PROMISE(counters(0)->rotations > before, "no turns");
    ORDER("ab");

    /* a thread that is raised runs at once; one that lowers itself loses the CPU at once */
    IS(policy_set(0, SCHED_FIFO, 50), 0);
    noter_start(0, SCHED_FIFO, 3);
    word_set(&flags[0], 1);
    note('m');
    IS(policy_set(tids[0], SCHED_FIFO, 51), 0);
    note('n');
    join(0, 1);
    ORDER("man");
    noter_start(0, SCHED_FIFO, 3);
    word_set(&flags[0], 1);
    note('m');
    IS(policy_set(0, SCHED_FIFO, 2), 0);
    note('n');
    join(0, 1);
    ORDER("man");
    IS(policy_set(0, SCHED_OTHER, 0), 0);
}

static void *policy_tell(void *policy)
{
    *(int *)policy = (int)syscall(SYS_sched_getscheduler, 0);
    return NULL;
}

static int policy_of_child(void)
{
    pthread_t child;
    int policy = -1;

    PROMISE(pthread_create(&child, NULL, policy_tell, &policy) == 0, "no child");
    pthread_join(child, NULL);
    return policy;
}

/* Checks errors: they are what Linux returns to a privileged thread. */
static void errors(void)
{
    const struct sched_param five = { .sched_priority = 5 };
    struct timespec interval = { -1, -1 };
    struct sched_param kept;

    FAILS(policy_set(0, SCHED_OTHER, 1), EINVAL);
    FAILS(policy_set(0, SCHED_IDLE, 1), EINVAL);
    FAILS(policy_set(0, SCHED_BATCH, 1), EINVAL);
    FAILS(policy_set(0, SCHED_FIFO, 0), EINVAL);
    FAILS(policy_set(0, SCHED_RR, 100), EINVAL);
    FAILS(policy_set(0, SCHED_RR, -1), EINVAL);
    FAILS(policy_set(0, 4, 0), EINVAL);
    FAILS(policy_set(0, 7, 0), EINVAL);
    FAILS(policy_set(0, -1, 0), EINVAL);
    FAILS(policy_set(-1, SCHED_OTHER, 0), EINVAL);
    FAILS(policy_set(4000000, SCHED_OTHER, 0), ESRCH);
    FAILS((int)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, NULL), EINVAL);
    FAILS((int)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, 8), EFAULT);
    FAILS((int)syscall(SYS_sched_setparam, 0, &five), EINVAL);
    FAILS((int)syscall(SYS_sched_rr_get_interval, -1, &interval), EINVAL);
    FAILS((int)syscall(SYS_sched_rr_get_interval, 4000000, &interval), ESRCH);
    IS(policy_set(0, SCHED_RR, 9), 0);
    IS((int)syscall(SYS_sched_setparam, 0, &five), 0);
    IS((int)syscall(SYS_sched_getparam, 0, &kept), 0);
    PROMISE(kept.sched_priority == 5, "%d", kept.sched_priority);
    IS((int)syscall(SYS_sched_rr_get_interval, 0, &interval), 0);
    PROMISE(interval.tv_sec == 0 && (interval.tv_nsec == turn_ns || !tacet_node()), "%ld", interval.tv_nsec);
    IS(policy_of_child(), SCHED_RR);
    IS(policy_set(0, SCHED_FIFO, 9), 0);
    IS((int)syscall(SYS_sched_rr_get_interval, 0, &interval), 0);
    PROMISE(interval.tv_sec == 0 && interval.tv_nsec == 0, "%ld", interval.tv_nsec);
    IS(policy_set(0, SCHED_FIFO | 0x40000000, 9), 0);
    IS((int)syscall(SYS_sched_getscheduler, 0), SCHED_FIFO | 0x40000000);
    IS(policy_of_child(), SCHED_OTHER);
    IS(policy_set(0, SCHED_IDLE | 0x40000000, 0), 0);
    IS(policy_of_child(), SCHED_IDLE); /* only priorities above the ordinary are reset */
    IS(policy_set(0, SCHED_OTHER, 0), 0);
}

/* ---- SCHED_IDLE, and silence ---- */

static volatile uint64_t entries_before, entries_after;
static volatile int stage;

/* Computes on the last CPU until `stage` is 2; counts the entries into the kernel meanwhile. */
static void *silent(void *argument)
{
    pin(0, UINT64_C(1) << (cpus - 1));
    policy_set(0, (int)(uintptr_t)argument == 1 ? SCHED_IDLE : SCHED_OTHER, 0);
    now_ns();
    entries_before = tacet_kernel_entries(cpus - 1);
    stage = 1;
    while (stage != 2)
        counts[0]++;
    entries_after = tacet_kernel_entries(cpus - 1);
    return NULL;
}

/* Wakes, from main on CPU 0, a thread that ranks below the one that computes on the last CPU. Returns the
 * IPIs that it cost. */
static uint64_t wake_behind(int policy, int computes)
{
    flags[2] = 0, tids[2] = 0, stage = 0;
    policies[2] = policy, priorities[2] = 0;
    start(2, noter);
    waiter_wait(&flags[2], 0);
    IS(pin(tids[2], UINT64_C(1) << (cpus - 1)), 0);
    start(computes, silent);
    while (stage != 1)
        ;

    uint64_t before = counters(0)->wake_ipis;
    word_set(&flags[2], 1);
    return counters(0)->wake_ipis - before;
}

static void background(void)
{
    pin(0, 1);
    uint64_t ipis = wake_behind(SCHED_IDLE, 0);
    spin_ns(30 * MS);
    PROMISE(ipis == 0, "%lu", ipis);
    PROMISE(counters(cpus - 1)->ready == 1 && !order[0], "%u ready, %s", counters(cpus - 1)->ready, order);
    stage = 2;
    join(0, 1);
    join(2, 3);
    PROMISE(entries_after == entries_before, "%lu", entries_after - entries_before);
    ORDER("c");

    ipis = wake_behind(SCHED_OTHER, 1);
    join(2, 3);
    ORDER("c"); /* while the other one computes */
    PROMISE(ipis == 1, "%lu", ipis);
    stage = 2;
    join(1, 2);

    /* a sleeper of the same CPU costs nothing */
    pin(0, 1);
    flags[2] = 0, stage = 0, tids[2] = 0;
    start(2, noter);
    waiter_wait(&flags[2], 0);
    IS(pin(tids[2], UINT64_C(1) << (cpus - 1)), 0);
    start(0, silent);
    while (stage != 1)
        ;
    spin_ns(30 * MS);
    stage = 2;
    join(0, 1);
    PROMISE(entries_after == entries_before, "%lu", entries_after - entries_before);
    word_set(&flags[2], 1);
    join(2, 3);
}

/* ---- Which CPU ---- */

static void *spinner(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;

    tids[me] = tid_here();
    while (!flags[me])
        counts[me] = counts[me] + 1, flags[me + 100] = (int)cpu_here() + 1;
    return NULL;
}

static void progress_wait(unsigned me)
{
    for (uint64_t before = counts[me]; counts[me] < before + 3;)
        ;
}

/* Moves of threads in each state, by another one. */
static void places(void)
{
    const uint64_t all = (UINT64_C(1) << cpus) - 1, last = UINT64_C(1) << (cpus - 1);

    /* main on CPU 0 from here on; no thread may run on any other CPU than its mask says */
    pin(0, 1);
    FAILS(pin(0, 0), EINVAL);
    FAILS(pin(0, ~all), EINVAL);
    FAILS(pin(4000000, 1), ESRCH);

    start(0, spinner); /* inherits CPU 0: ready */
    while (!tids[0])
        sched_yield();
    IS(pin(tids[0], last), 0); /* ready: moves to the last CPU, and runs while main does */
    progress_wait(0);
    PROMISE(flags[100] == (int)cpus, "on CPU %d", flags[100] - 1);
    IS(pin(tids[0], 2), 0); /* running */
    progress_wait(0);
    PROMISE(flags[100] == 2, "on CPU %d", flags[100] - 1);
    flags[0] = 1;
    join(0, 1);

    noter_start(0, SCHED_OTHER, 0); /* blocked */
    IS(pin(tids[0], last), 0);
    word_set(&flags[0], 1);
    while (!*(volatile char *)order)
        ; /* it needs none of this CPU's time */
    join(0, 1);
    ORDER("a");

    /* three ready threads after main; each of the other CPUs takes one as soon as it may */
    for (unsigned i = 0; i < cpus - 1; i++) {
        flags[i] = 0, tids[i] = 0;
        start(i, spinner);
        while (!tids[i])
            sched_yield();
    }
    for (unsigned i = 0; i < cpus - 1; i++)
        IS(pin(tids[i], all), 0);
    for (unsigned i = 0; i < cpus - 1; i++)
        progress_wait(i);
    for (unsigned i = 0; i < cpus - 1; i++)
        flags[i] = 1;
    join(0, cpus - 1);
}

static void *pinned_until(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;

    pin(0, 1);
    policy_set(0, me ? SCHED_FIFO : SCHED_OTHER, me ? 5 : 0);
    flags[200] = 1;
    word_wait(&flags[me], 0);
    over = true;
    while (!flags[me + 2])
        ; /* for as long as the other one does not go on */
    return NULL;
}

/* Checks that a thread that loses its CPU, to a thread bound to it, goes on on an idle CPU. */
static void displaced(void)
{
    pin(0, 1);
    start(1, pinned_until);
    waiter_wait(&flags[1], 0);
    pin(0, 3);
    while (cpu_here() != 0) { /* at home, while CPU 1 idles */
        pin(0, 1);
        pin(0, 3);
    }
    word_set(&flags[1], 1);
    flags[3] = 1; /* here only where this thread runs again */
    join(1, 2);

    pin(0, 1);
    start(0, pinned_until);
    word_set(&flags[0], 1);
    pin(0, 3);
    sched_yield();
    flags[2] = 1;
    join(0, 1);
    PROMISE(over, "it has not run");
}

/* Checks rotation=off: a ready thread that may now use another CPU, which idles, goes there at once. */
static void widened(void)
{
    cpu_set_t all;

    sched_getaffinity(0, sizeof(all), &all);
    pin(0, 1);
    start(0, ran);
    PROMISE(!flags[0], "it runs on the CPU of another one");
    PROMISE(pthread_setaffinity_np(handles[0], sizeof(all), &all) == 0, "refused");
    while (!flags[0])
        ;
    join(0, 1);
}

static void *highest(void *argument)
{
    pin(0, 2);
    policy_set(0, SCHED_FIFO, 60);
    flags[200] = 1;
    while (!flags[(uintptr_t)argument])
        ;
    if (flags[(uintptr_t)argument] == 2) {
        policy_set(0, SCHED_OTHER, 0);
        note('m');
    }
    return NULL;
}

/* Checks that a thread that waits for CPU 0 goes on on CPU 1, when that is free, before a lower thread that
 * waits there. */
static void pulled_before(int policy, int priority, int lower_policy, int how, const char *expected)
{
    pin(0, 3);
    noter_start(0, policy, priority);
    noter_start(1, lower_policy, 0);
    IS(pin(tids[1], 2), 0);
    flags[2] = flags[200] = 0;
    start(2, highest);
    pin(0, 1);
    IS(policy_set(0, SCHED_FIFO, 50), 0);
    while (!flags[200])
        sched_yield();
    word_set(&flags[0], 1);
    word_set(&flags[1], 1);
    PROMISE(counters(0)->ready == 1 && counters(1)->ready == 1, "%u, %u", counters(0)->ready,
            counters(1)->ready);
    flags[2] = how;
    while (!__atomic_load_n(&order[strlen(expected) - 1], __ATOMIC_ACQUIRE))
        ;
    join(0, 3);
    ORDER(expected);
    IS(policy_set(0, SCHED_OTHER, 0), 0);
}

static void pulled(void)
{
    pulled_before(SCHED_FIFO, 30, SCHED_OTHER, 1, "ab");
    pulled_before(SCHED_OTHER, 0, SCHED_IDLE, 1, "ab");
    pulled_before(SCHED_FIFO, 30, SCHED_IDLE, 2, "amb"); /* what runs there ranks lower than before */
}

/* Checks cores of two hardware threads: of four CPUs the cores' first have the lower numbers. */
static void cores(void)
{
    start(0, spinner);
    progress_wait(0);
    PROMISE(cpu_here() % 2 != (unsigned)(flags[100] - 1) % 2, "on CPUs %u and %d", cpu_here(),
            flags[100] - 1);
    flags[0] = 1;
    join(0, 1);
}

/* ---- CPU time ---- */

static uint64_t own_ns[THREADS_MAX];

static void *computes(void *argument)
{
    unsigned me = (unsigned)(uintptr_t)argument;

    pin(0, 1);
    for (uint64_t i = 0; i < number * (me + 1); i++)
        __asm__ volatile("" : : : "memory");
    own_ns[me] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void *computes_nothing(void *unused)
{
    (void)unused;
    word_wait(&flags[3], 0);
    own_ns[3] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* Lets three threads compute one, two and three parts at the same time, and one block. */
static void times(void)
{
    uint64_t begun = now_ns();

    start(3, computes_nothing);
    for (unsigned i = 0; i < 3; i++)
        start(i, computes);
    join(0, 3);
    word_set(&flags[3], 1);
    join(3, 4);

    uint64_t wall = now_ns() - begun, process = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    printf("own_ns: %lu %lu %lu %lu, process_ns: %lu, wall_ns: %lu\n", own_ns[0], own_ns[1], own_ns[2],
           own_ns[3], process, wall);
}

static void *stops(void *unused)
{
    (void)unused;
    word_wait(&flags[0], 0);
    return NULL;
}

static void timer_once(int signal, uint64_t after_ns)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
    struct itimerspec setting = { .it_value = { (time_t)(after_ns / 1000 / MS),
                                                (long)(after_ns % (1000 * MS)) } };
    timer_t timer;

    IS(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    IS(timer_settime(timer, 0, &setting, NULL), 0);
}

/* Stops the process, with more threads than CPUs: no thread uses time, whatever signals come; then all go
 * on. */
static void stopped(void)
{
    struct sigaction action = { .sa_handler = handler };
    unsigned many = 4 * cpus;

    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; i < many; i++)
        start(i, stops);
    sleep_ns(5 * MS);

    uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID), begun = now_ns();
    timer_once(SIGUSR1, 100 * MS);
    timer_once(SIGCONT, 2100 * MS);
    raise(SIGSTOP);
    PROMISE(now_ns() - begun >= 2100 * MS, "%lu", now_ns() - begun);
    printf("stopped_ns: %lu\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before);
    /* Any thread may take it, once it has a CPU again. */
    for (unsigned i = 0; i < 20000 && !over; i++)
        sleep_ns(MS);
    PROMISE(over, "the signal that came meanwhile was lost");
    word_set(&flags[0], 1);
    join(0, many);
}

static const struct test tests[] = {
    { "rotation", rotation },
    { "rotation-blocks", rotation_blocks },
    { "rotation-often", rotation_often },
    { "rotation-off", rotation_off },
    { "yields-end", yields_end },
    { "ranks", ranks },
    { "policies", errors },
    { "background", background },
    { "places", places },
    { "displaced", displaced },
    { "widened", widened },
    { "pulled", pulled },
    { "cores", cores },
    { "times", times },
    { "stopped", stopped },
};

int main(int count, char **arguments)
{
    return test_run(tests, sizeof(tests) / sizeof(tests[0]), count, arguments);
}
