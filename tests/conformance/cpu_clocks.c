/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_clocks.c: the CPU time of other threads, by clocks that are negative numbers: a pid's or tid's
 * complement, then four bits for a thread, two for what is counted. */
#include "conform.h"

#define CLOCK_OF(id, of_thread, kind) ((int)(~(unsigned)(id) << 3 | (of_thread ? 4 : 0) | (kind)))

enum { PROFILED, USER, SCHEDULED };

static int other_tid, ends[2];
static volatile bool worked;

static uint64_t used_ns(int clock)
{
    struct timespec t = { 0, 0 };

    return sys(SYS_clock_gettime, clock, &t) ? UINT64_MAX
                                             : (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Whether a clock of the caller's has another number, too. */
static bool same_clock(int clock, int other)
{
    uint64_t before = used_ns(clock), between = used_ns(other), after = used_ns(clock);

    return before <= between && between <= after;
}

/* Works for 30 ms of its own CPU time, then sleeps until it may end. */
static void *worker(void *spent)
{
    uint64_t begin = used_ns(CLOCK_THREAD_CPUTIME_ID);
    char byte;

    other_tid = (int)sys(SYS_gettid);
    while (used_ns(CLOCK_THREAD_CPUTIME_ID) - begin < 30000000)
        ;
    *(uint64_t *)spent = used_ns(CLOCK_THREAD_CPUTIME_ID);
    worked = true;
    sys(SYS_read, ends[0], &byte, 1);
    return NULL;
}

static pthread_t worker_begin(uint64_t *spent)
{
    pthread_t thread;

    worked = false;
    pthread_create(&thread, NULL, worker, spent);
    while (!worked)
        rest_ms(1);
    return thread;
}

static void worker_end(pthread_t thread)
{
    sys(SYS_write, ends[1], "", 1);
    pthread_join(thread, NULL);
    /* Who joins it may be faster than the kernel is with its end. */
    for (int i = 0; i < 10000 && used_ns(CLOCK_OF(other_tid, true, SCHEDULED)) != UINT64_MAX; i++)
        rest_ms(1);
}

/* Once it has gone to sleep. */
static bool stands_still(int clock)
{
    for (int i = 0; i < 100; i++) {
        uint64_t begin = used_ns(clock);

        rest_ms(50);
        if (used_ns(clock) - begin < 10000000)
            return true;
    }
    return false;
}

CONFORM(cpu_clocks)
{
    int pid = (int)sys(SYS_getpid), tid = (int)sys(SYS_gettid), other;
    uint64_t spent = 0, now;
    struct timespec t;
    pthread_t thread;
    clockid_t clock;

    sys(SYS_pipe2, ends, 0);
    thread = worker_begin(&spent);
    other = CLOCK_OF(other_tid, true, SCHEDULED);
    now = used_ns(other);
    holds("another thread's", now >= spent && now <= used_ns(CLOCK_PROCESS_CPUTIME_ID));
    holds("which sleeps", stands_still(other));
    result("by its pthread_t", pthread_getcpuclockid(thread, &clock) == 0 && clock == other);
    result("its user time", sys(SYS_clock_gettime, CLOCK_OF(other_tid, true, USER), &t));
    result("user and system time", sys(SYS_clock_gettime, CLOCK_OF(other_tid, true, PROFILED), &t));
    holds("the user time is no more than all",
          used_ns(CLOCK_OF(other_tid, true, USER)) <= used_ns(CLOCK_OF(other_tid, true, PROFILED)));
    result("its resolution", sys(SYS_clock_getres, other, &t));
    result("is a nanosecond", t.tv_sec * 1000000000 + t.tv_nsec);
    result("the resolution, to nowhere", sys(SYS_clock_getres, other, NULL));
    result("to nobody's memory", sys(SYS_clock_gettime, other, NOWHERE));
    holds("the caller's by its tid", same_clock(CLOCK_THREAD_CPUTIME_ID, CLOCK_OF(tid, true, SCHEDULED)));
    holds("the caller's by 0", same_clock(CLOCK_THREAD_CPUTIME_ID, CLOCK_OF(0, true, SCHEDULED)));
    holds("the process's by its pid", same_clock(CLOCK_PROCESS_CPUTIME_ID, CLOCK_OF(pid, false, SCHEDULED)));
    holds("the process's by 0", same_clock(CLOCK_PROCESS_CPUTIME_ID, CLOCK_OF(0, false, SCHEDULED)));
    result("the process's from its C library", clock_getcpuclockid(pid, &clock));
    holds("which is the same", same_clock(CLOCK_PROCESS_CPUTIME_ID, clock));
    result("a timer by another thread's, of no kind",
           sys(SYS_timer_create, CLOCK_OF(other_tid, true, 3), NULL, &clock));

    worker_end(thread);
    result("a thread that has ended", sys(SYS_clock_gettime, other, &t));
    result("its resolution then", sys(SYS_clock_getres, other, &t));
    result("a timer by it", sys(SYS_timer_create, other, NULL, &clock));
    result("no such thread", sys(SYS_clock_gettime, CLOCK_OF(4194302, true, SCHEDULED), &t));
    result("no such process", sys(SYS_clock_gettime, CLOCK_OF(4194302, false, SCHEDULED), &t));
    result("a timer by no such process",
           sys(SYS_timer_create, CLOCK_OF(4194302, false, SCHEDULED), NULL, &clock));
    result("no such kind", sys(SYS_clock_gettime, CLOCK_OF(tid, true, 3), &t));
    result("no such kind of the process", sys(SYS_clock_gettime, CLOCK_OF(pid, false, 3), &t));
    result("the largest number", sys(SYS_clock_gettime, CLOCK_OF(0xfffffff, true, SCHEDULED), &t));
}
