/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profiled.c NAME: what profilers need of timers of CPU time: which thread gets a signal, how many interrupts
 * that costs, and what becomes of timers when threads move and end. The comment above each function in the
 * table at the end says what it promises. Interrupts are exact only under a deterministic clock.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "sharing.h"

#include <errno.h>

#define TIMER_INTERRUPT  0xf1
#define SIGNALLED_THREAD 4 /* SIGEV_THREAD_ID */
#define CLOCK_OF(tid)    ((clockid_t)(~(unsigned)(tid) << 3 | 6))

static _Thread_local unsigned me;
static volatile uint64_t samples[THREADS_MAX];

static void sample(int unused)
{
    (void)unused;
    samples[me]++;
}

static void sample_on(int signal_number)
{
    struct sigaction action = { .sa_handler = sample, .sa_flags = SA_RESTART };

    sigaction(signal_number, &action, NULL);
}

static void interval(int which, uint64_t ns)
{
    const struct timeval time = { (time_t)(ns / 1000 / MS), (suseconds_t)(ns / 1000 % MS) };

    IS(setitimer(which, &(struct itimerval){ time, time }, NULL), 0);
}

static int timer_of(clockid_t clock, pid_t tid)
{
    struct {
        long value;
        int signal, notify, tid, padding[11];
    } event = { 0, SIGUSR1, SIGNALLED_THREAD, tid, { 0 } };
    int id = -1;

    return syscall(SYS_timer_create, clock, &event, &id) ? -errno : id;
}

static int timer_every(int id, uint64_t ns)
{
    const struct timespec time = { (time_t)(ns / 1000 / MS), (long)(ns % (1000 * MS)) };
    const struct itimerspec setting = { time, time };

    return syscall(SYS_timer_settime, id, 0, &setting, NULL) ? -errno : 0;
}

static void work_ns(uint64_t ns)
{
    for (uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns; clock_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
        ;
}

/* Computes without a call; on POWER, reading musl's clocks is one. */
static void compute_ns(uint64_t ns)
{
    const uint64_t end = machine_ticks() + ns / 1000 * (tacet_node()->clock_hz / 1000) / 1000;

    while (machine_ticks() < end)
        ;
}

static uint64_t timer_interrupts(void)
{
    uint64_t sum = 0;

    for (unsigned cpu = 0; cpu < cpus; cpu++)
        sum += counters(cpu)->interrupts[TIMER_INTERRUPT];
    return sum;
}

/* ---- Which thread gets the signals ---- */

static volatile uint64_t workers_samples;

static void *worker(void *argument)
{
    me = (unsigned)(uintptr_t)argument + 1;
    while (workers_samples < 20 * cpus) {
        uint64_t sum = 0;

        for (unsigned i = 1; i <= cpus; i++)
            sum += samples[i];
        workers_samples = sum;
    }
    return NULL;
}

/* Lets as many threads as CPUs compute, while the first one waits for them: ITIMER_PROF's signals go to those
 * that compute, to each as often. */
static void shares(void)
{
    sample_on(SIGPROF);
    interval(ITIMER_PROF, 2 * MS);
    for (unsigned i = 0; i < cpus; i++)
        start(i, worker);
    join(0, cpus);
    interval(ITIMER_PROF, 0);

    uint64_t own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    PROMISE(samples[0] <= own_ns / (2 * MS) + 1, "the first thread got %lu in %lu ns", samples[0], own_ns);
    PROMISE(samples[0] + workers_samples <= all_ns / (2 * MS), "%lu in %lu ns", workers_samples, all_ns);
    for (unsigned i = 1; i <= cpus; i++)
        PROMISE(samples[i] >= 7, "thread %u got %lu of %lu", i, samples[i], workers_samples);
}

static void *timed_worker(void *argument)
{
    me = (unsigned)(uintptr_t)argument + 1;
    int id = timer_of(CLOCK_THREAD_CPUTIME_ID, tid_here());
    uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID), used;

    PROMISE(id >= 0 && timer_every(id, 2 * MS) == 0, "%d", id);
    for (unsigned i = 0; i < 20; i++) {
        work_ns(number * MS / 20);
        if (me == 1) /* through all CPUs */
            pin(0, 1UL << i % cpus);
        else if (me == 2)
            policy_set(0, i % 2 ? SCHED_IDLE : SCHED_OTHER, 0);
        sleep_ns(MS / 10);
    }
    timer_every(id, 0);
    used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
    PROMISE(samples[me] > 0 && samples[me] <= used / (2 * MS), "thread %u got %lu in %lu ns", me, samples[me],
            used);
    syscall(SYS_timer_delete, id);
    return NULL;
}

/* Starts more threads than CPUs, each with a timer of its own CPU time: one goes through all CPUs, one is
 * SCHED_IDLE in between. Each gets its signals, and none too early. */
static void threads_of_their_own(void)
{
    sample_on(SIGUSR1);
    for (unsigned i = 0; i < 2 * cpus + 1; i++)
        start(i, timed_worker);
    join(0, 2 * cpus + 1);
    PROMISE(samples[0] == 0, "%lu", samples[0]);
}

/* ---- Interrupts ---- */

/* Counts interrupts: a timer that does not expire costs no interrupt; one that does, one for each signal; one
 * that was stopped, none. */
static void silent(void)
{
    static const int kinds[] = { ITIMER_PROF, ITIMER_VIRTUAL };
    uint64_t before = timer_interrupts();

    compute_ns(20 * MS);
    PROMISE(timer_interrupts() == before, "none is set: %lu", timer_interrupts() - before);
    interval(ITIMER_PROF, 3600000 * MS);
    interval(ITIMER_VIRTUAL, 3600000 * MS);
    int id = timer_of(CLOCK_THREAD_CPUTIME_ID, tid_here());
    timer_every(id, 3600000 * MS);
    compute_ns(20 * MS);
    PROMISE(timer_interrupts() == before, "three are set: %lu", timer_interrupts() - before);
    interval(ITIMER_VIRTUAL, 0);
    interval(ITIMER_PROF, 0);
    timer_every(id, 0);

    sample_on(SIGPROF);
    sample_on(SIGVTALRM);
    sample_on(SIGUSR1);
    for (unsigned i = 0; i < 2; i++) {
        samples[0] = 0;
        before = timer_interrupts();
        interval(kinds[i], MS);
        compute_ns(50 * MS);
        interval(kinds[i], 0);
        uint64_t interrupts = timer_interrupts() - before;
        /* The user time is less than what passes: its alarm may have to look twice. */
        PROMISE(samples[0] >= 25 && interrupts >= samples[0] && interrupts <= samples[0] * (1 + i) + 1,
                "kind %d: %lu interrupts, %lu signals", kinds[i], interrupts, samples[0]);
    }
    samples[0] = 0;
    before = timer_interrupts();
    timer_every(id, MS);
    compute_ns(50 * MS);
    timer_every(id, 0);
    uint64_t interrupts = timer_interrupts() - before;
    PROMISE(samples[0] >= 40 && interrupts >= samples[0] && interrupts <= samples[0] + 1,
            "%lu interrupts, %lu signals", interrupts, samples[0]);
    before = timer_interrupts();
    compute_ns(20 * MS);
    PROMISE(timer_interrupts() == before, "none is set any more: %lu", timer_interrupts() - before);
}

/* Sleeps: the process has one interrupt of such a timer at most; the sleep's own may need a second one. */
static void asleep(void)
{
    uint64_t before;

    interval(ITIMER_PROF, 10 * MS);
    sample_on(SIGPROF);
    before = timer_interrupts();
    sleep_ns(2000 * MS);
    PROMISE(timer_interrupts() - before <= 3, "%lu interrupts", timer_interrupts() - before);
    PROMISE(samples[0] == 0, "%lu", samples[0]);
    work_ns(20 * MS);
    PROMISE(samples[0] > 0, "it goes on");
}

/* ---- Ends, and many at a time ---- */

static volatile int newest = -1;

static void *ends_soon(void *argument)
{
    uint64_t turn = (uint64_t)(uintptr_t)argument;
    int id = timer_of(CLOCK_THREAD_CPUTIME_ID, turn % 2 ? tid_here() : getpid());

    if (id >= 0)
        timer_every(id, turn % 3 ? 10000 : 1);
    newest = id;
    work_ns(turn % 7 * 50000);
    return (void *)(intptr_t)id;
}

static void *disturbs(void *unused)
{
    struct itimerspec left;
    (void)unused;
    while (!over) {
        const int id = newest;

        timer_every(id, 20000);
        syscall(SYS_timer_gettime, id, &left);
        interval(ITIMER_PROF, 100000);
        interval(ITIMER_VIRTUAL, 30000);
    }
    return NULL;
}

/* Lets NUMBER threads end while timers of their CPU time are about to expire and others set them: they answer
 * ESRCH afterwards, and the process's timers go on. */
static void ends(void)
{
    void *id;

    sample_on(SIGUSR1);
    sample_on(SIGPROF);
    sample_on(SIGVTALRM);
    start(THREADS_MAX - 1, disturbs);
    for (unsigned i = 0; i < number; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, ends_soon, (void *)(uintptr_t)i))
            break;
        pthread_join(thread, &id);
        const int timer = (int)(intptr_t)id;
        int error;
        /* The kernel may still be at its end. */
        while ((error = timer_every(timer, MS)) == 0)
            sched_yield();
        PROMISE(timer >= 0 && error == -ESRCH, "turn %u: timer %d, %d", i, timer, error);
        syscall(SYS_timer_delete, timer);
    }
    over = true;
    join(THREADS_MAX - 1, THREADS_MAX);
    samples[0] = 0;
    interval(ITIMER_VIRTUAL, 0);
    interval(ITIMER_PROF, MS);
    work_ns(20 * MS);
    PROMISE(samples[0] > 0, "the process's timer goes on");
    PROMISE(timer_of(CLOCK_OF(4194302), tid_here()) == -EINVAL, "no such thread");
}

/* Sets RLIMIT_CPU to one second, and two: SIGXCPU comes after the first, SIGKILL after the second. */
static void limited(void)
{
    const struct rlimit limit = { 1, 2 }, more = { 1, 3 };
    struct rlimit now;

    sample_on(SIGXCPU);
    IS(setrlimit(RLIMIT_CPU, &limit), 0);
    IS(getrlimit(RLIMIT_CPU, &now), 0);
    PROMISE(now.rlim_cur == 1 && now.rlim_max == 2, "%lu %lu", (unsigned long)now.rlim_cur,
            (unsigned long)now.rlim_max);
    FAILS(setrlimit(RLIMIT_CPU, &more), EPERM);
    while (!samples[0])
        ;
    PROMISE(clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= 1000 * MS, "%lu", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    promises_kept();
    for (;;)
        ;
}

static const struct test tests[] = {
    { "shares", shares }, { "own", threads_of_their_own }, { "silent", silent }, { "asleep", asleep },
    { "ends", ends },     { "limited", limited },
};

int main(int count, char **arguments)
{
    return test_run(tests, sizeof(tests) / sizeof(tests[0]), count, arguments);
}
