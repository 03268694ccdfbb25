/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_time.c: what a process has used: it grows in a loop and stands still in a sleep. */
#include "conform.h"

#include <sys/times.h>

static uint64_t used_ns(int clock)
{
    struct timespec t = { 0, 0 };

    sys(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

CONFORM(cpu_time)
{
    struct rusage usage;
    struct tms ticks;
    uint64_t start = now_ns(), begin = used_ns(CLOCK_PROCESS_CPUTIME_ID), spent;

    while (now_ns() - start < 20000000)
        ;
    spent = used_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    holds("20 ms of work are some", spent > 0 && spent <= 2 * (now_ns() - start) + 100000000);
    /* A pause of the host's in the call counts as the thread's: the quietest of some sleeps. */
    spent = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        begin = used_ns(CLOCK_THREAD_CPUTIME_ID);
        rest_ms(20);
        begin = used_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
        spent = begin < spent ? begin : spent;
    }
    holds("20 ms of sleep are next to none", spent < 10000000);
    result("getrusage", sys(SYS_getrusage, RUSAGE_SELF, &usage));
    holds("microseconds below a second",
          usage.ru_utime.tv_usec < 1000000 && usage.ru_stime.tv_usec < 1000000);
    result("of the thread", sys(SYS_getrusage, RUSAGE_THREAD, &usage));
    result("of the children", sys(SYS_getrusage, RUSAGE_CHILDREN, &usage));
    result("of no such", sys(SYS_getrusage, 9, &usage));
    result("to nobody's memory", sys(SYS_getrusage, RUSAGE_SELF, NOWHERE));
    holds("times", sys(SYS_times, &ticks) > 0);
    holds("times to nowhere", sys(SYS_times, NULL) > 0);
    result("times to nobody's memory", sys(SYS_times, NOWHERE));
}
