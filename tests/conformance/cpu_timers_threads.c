/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_timers_threads.c: timers and sleeps by the CPU time of other threads, and of a process with several. */
#include "cpu_timers.h"

static int worker_tid;
static volatile bool works;
static int gate[2];

/* Works as long as it is told to, then sleeps until it may end. */
static void *worker(void *unused)
{
    char byte;

    (void)unused;
    worker_tid = (int)sys(SYS_gettid);
    works = true;
    while (works)
        ;
    sys(SYS_read, gate[0], &byte, 1);
    return NULL;
}

static pthread_t worker_begin(void)
{
    pthread_t thread;

    works = false;
    pthread_create(&thread, NULL, worker, NULL);
    while (!works)
        rest_ms(1);
    return thread;
}

static void worker_end(pthread_t thread)
{
    struct timespec t;

    works = false;
    sys(SYS_write, gate[1], "", 1);
    pthread_join(thread, NULL);
    /* Who joins it may be faster than the kernel is with its end. */
    for (int i = 0; i < 10000 && sys(SYS_clock_gettime, CLOCK_OF(worker_tid, true, SCHEDULED), &t) == 0; i++)
        rest_ms(1);
}

static bool sleep_until(int wanted)
{
    for (int i = 0; i < 60000 && times < wanted; i++)
        rest_ms(1);
    return times >= wanted;
}

/* A sleep by a clock that stands still, which a signal ends. */
static void sleep_interrupted(void)
{
    const struct itimerval soon = { { 0, 0 }, { 0, 20000 } };
    struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
    struct timespec rest = { 1000, 0 }, left = { 0, 0 };

    sigaction(SIGALRM, &action, NULL);
    sys(SYS_setitimer, ITIMER_REAL, &soon, NULL);
    result("interrupted", sys(SYS_clock_nanosleep, CLOCK_PROCESS_CPUTIME_ID, 0, &rest, &left));
    holds("what was left", left.tv_sec >= 998 && left.tv_sec <= 1000);
}

CONFORM(cpu_timers_threads)
{
    int tid = (int)sys(SYS_gettid), timer, other, of_both;
    struct timespec rest = { 0, 10000000 }, negative = { 0, -1 };
    struct itimerspec now;
    uint64_t begin;
    pthread_t thread;

    sys(SYS_pipe2, gate, 0);
    note_from_now_on(SIGUSR1);
    thread = worker_begin();
    other = CLOCK_OF(worker_tid, true, SCHEDULED);
    timer = made(other, SIGNALLED_THREAD, tid);
    begin = used_ns(other);
    result("while this one sleeps", set(timer, 0, 20 * MS, 0));
    holds("it came", sleep_until(1) && used_ns(other) - begin >= 20 * MS);
    holds("to this thread", receiver == tid);
    result("again and again", set(timer, 0, 5 * MS, 5 * MS));
    holds("which comes", sleep_until(5));
    set(timer, 0, 0, 0);

    of_both = made(CLOCK_PROCESS_CPUTIME_ID, SIGNALLED_THREAD, tid);
    begin = used_ns(CLOCK_PROCESS_CPUTIME_ID);
    times = 0;
    set(of_both, 0, 20 * MS, 0);
    holds("by the process, while the other works",
          sleep_until(1) && used_ns(CLOCK_PROCESS_CPUTIME_ID) - begin >= 20 * MS);
    set(of_both, 0, 20 * MS, 0);
    holds("by the process, while both work", work_until(2));
    sys(SYS_timer_delete, of_both);

    begin = used_ns(CLOCK_PROCESS_CPUTIME_ID);
    result("a sleep by the process's clock",
           sys(SYS_clock_nanosleep, CLOCK_PROCESS_CPUTIME_ID, 0, &rest, NULL));
    holds("not too short", used_ns(CLOCK_PROCESS_CPUTIME_ID) - begin >= 10 * MS);
    begin = used_ns(other);
    result("by the other thread's", sys(SYS_clock_nanosleep, other, 0, &rest, NULL));
    holds("not too short, either", used_ns(other) - begin >= 10 * MS);
    result("up to a time that is over", sys(SYS_clock_nanosleep, other, TIMER_ABSTIME, &rest, NULL));
    result("by one's own", sys(SYS_clock_nanosleep, CLOCK_OF(0, true, SCHEDULED), 0, &rest, NULL));
    result("by one's own number", sys(SYS_clock_nanosleep, CLOCK_OF(tid, true, SCHEDULED), 0, &rest, NULL));
    result("by CLOCK_THREAD_CPUTIME_ID", sys(SYS_clock_nanosleep, CLOCK_THREAD_CPUTIME_ID, 0, &rest, NULL));
    result("by no such thread", sys(SYS_clock_nanosleep, CLOCK_OF(4194302, true, SCHEDULED), 0, &rest, NULL));
    result("no time at all", sys(SYS_clock_nanosleep, other, 0, &negative, NULL));
    result("a time at nobody's", sys(SYS_clock_nanosleep, other, 0, NOWHERE, NULL));

    set(timer, 0, 1000000 * MS, MS);
    worker_end(thread);
    result("set after its thread has ended", set(timer, 0, 5 * MS, 0));
    result("read then", sys(SYS_timer_gettime, timer, &now));
    result("nothing is left", now.it_value.tv_sec + now.it_value.tv_nsec + now.it_interval.tv_nsec);
    result("removed then", sys(SYS_timer_delete, timer));
    sleep_interrupted();
}
