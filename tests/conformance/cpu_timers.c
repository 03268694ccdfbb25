/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_timers.c: timer_create's timers by the CPU time of the process and of the caller. */
#include "cpu_timers.h"

static void own_timer(const char *of, int clock)
{
    int tid = (int)sys(SYS_gettid), timer = made(clock, SIGNALLED_THREAD, tid);
    uint64_t begin;
    struct itimerspec now;

    holds_of(of, "made", timer >= 0);
    note_from_now_on(SIGUSR1);
    set(timer, 0, 10000 * MS, 0);
    result_of(of, "read", sys(SYS_timer_gettime, timer, &now));
    holds_of(of, "the rest", now.it_value.tv_sec >= 1 && now.it_value.tv_sec <= 10);
    begin = used_ns(clock);
    result_of(of, "set", set(timer, 0, 10 * MS, 0));
    holds_of(of, "came", work_until(1));
    holds_of(of, "not before its time", used_ns(clock) - begin >= 10 * MS);
    result_of(of, "value", value);
    result_of(of, "code", -code);
    holds_of(of, "to this thread", receiver == tid);
    work_ns(15 * MS);
    result_of(of, "times", times);
    sys(SYS_timer_gettime, timer, &now);
    result_of(of, "nothing is left", now.it_value.tv_sec + now.it_value.tv_nsec);

    result_of(of, "again and again", set(timer, 0, 5 * MS, 5 * MS));
    holds_of(of, "which comes", work_until(4));
    result_of(of, "off", set(timer, 0, 0, 0));
    times = 0;
    result_of(of, "up to a time that is over", set(timer, TIMER_ABSTIME, 1, 0));
    holds_of(of, "came at once", work_until(1));
    result_of(of, "up to a time", set(timer, TIMER_ABSTIME, used_ns(clock) + 5 * MS, 0));
    holds_of(of, "came then", work_until(2));
    result_of(of, "one nanosecond", set(timer, 0, 1, 1));
    holds_of(of, "leaves time for work", work_until(20));
    result_of(of, "removed", sys(SYS_timer_delete, timer));
    result_of(of, "set then", set(timer, 0, 1, 1));
}

CONFORM(cpu_timers)
{
    int pid = (int)sys(SYS_getpid), tid = (int)sys(SYS_gettid), timer;
    struct itimerspec when = after_ns(1, 0);

    own_timer("the process", CLOCK_PROCESS_CPUTIME_ID);
    own_timer("the thread", CLOCK_THREAD_CPUTIME_ID);
    own_timer("this process, by its number", CLOCK_OF(pid, false, SCHEDULED));
    own_timer("this thread, by its number", CLOCK_OF(tid, true, SCHEDULED));

    timer = made(CLOCK_THREAD_CPUTIME_ID, SIGEV_NONE, 0);
    set(timer, 0, 5 * MS, 0);
    work_ns(10 * MS);
    sys(SYS_timer_gettime, timer, &when);
    result("without a signal, nothing left", when.it_value.tv_sec + when.it_value.tv_nsec);
    when = after_ns(1000000000, 0);
    when.it_value.tv_nsec = 1000000000;
    result("no time at all", sys(SYS_timer_settime, timer, 0, &when, NULL));
    sys(SYS_timer_delete, timer);
    result("by no such thread", made(CLOCK_OF(4194302, true, SCHEDULED), SIGEV_SIGNAL, 0));
    result("by no such kind", made(CLOCK_OF(tid, true, 3), SIGEV_SIGNAL, 0));
}
