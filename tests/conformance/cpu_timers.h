/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_timers.h: what the tests of timers of CPU time share: a handler that notes what comes, work, and timers
 * by a clock that is a negative number: a pid's or tid's complement, then four bits for a thread, two for
 * what is counted. */
#ifndef CPU_TIMERS_H
#define CPU_TIMERS_H

#include "conform.h"

#define CLOCK_OF(id, of_thread, kind) ((int)(~(unsigned)(id) << 3 | (of_thread ? 4 : 0) | (kind)))
#define MS                            1000000UL

enum { PROFILED, USER, SCHEDULED };

#define SIGNALLED_THREAD 4 /* SIGEV_THREAD_ID */

static volatile int times, value, code, receiver;

static inline void note(int number, siginfo_t *info, void *context)
{
    receiver = (int)sys(SYS_gettid);
    value = info->si_value.sival_int;
    code = info->si_code;
    times += number != 0 && context;
}

static inline void note_from_now_on(int number)
{
    struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART };

    sigaction(number, &action, NULL);
    times = 0;
}

static inline uint64_t used_ns(int clock)
{
    struct timespec t = { 0, 0 };

    sys(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline bool work_until(int wanted)
{
    for (uint64_t begin = now_ns(); times < wanted;)
        if (now_ns() - begin > 60000 * MS)
            return false;
    return true;
}

static inline void work_ns(uint64_t ns)
{
    for (uint64_t begin = used_ns(CLOCK_THREAD_CPUTIME_ID); used_ns(CLOCK_THREAD_CPUTIME_ID) - begin < ns;)
        ;
}

static inline struct itimerspec after_ns(uint64_t ns, uint64_t interval_ns)
{
    return (struct itimerspec){ { (time_t)(interval_ns / 1000000000), (long)(interval_ns % 1000000000) },
                                { (time_t)(ns / 1000000000), (long)(ns % 1000000000) } };
}

static inline long set(int timer, int flags, uint64_t ns, uint64_t interval_ns)
{
    struct itimerspec when = after_ns(ns, interval_ns);

    return sys(SYS_timer_settime, timer, flags, &when, NULL);
}

static inline int made(int clock, int notify, int tid)
{
    struct {
        long value;
        int signal, notify, tid, padding[11];
    } event = { 77, SIGUSR1, notify, tid, { 0 } };
    int timer = -1;
    long error = sys(SYS_timer_create, clock, &event, &timer);

    return error ? (int)error : timer;
}

/* As result and holds, of one of several timers. */
static inline void result_of(const char *of, const char *what, long number)
{
    char line[100];

    snprintf(line, sizeof(line), "%s, %s", of, what);
    result(line, number);
}

static inline void holds_of(const char *of, const char *what, bool it)
{
    char line[100];

    snprintf(line, sizeof(line), "%s, %s", of, what);
    holds(line, it);
}

#endif
