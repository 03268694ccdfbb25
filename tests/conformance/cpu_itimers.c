/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_itimers.c: setitimer's timers of CPU time: of all, and of user time alone. */
#include "cpu_timers.h"

static void interval_timer(const char *of, int which, int number)
{
    const struct itimerval every = { { 0, 5000 }, { 0, 5000 } }, none = { { 0, 0 }, { 0, 0 } };
    const struct itimerval later = { { 0, 0 }, { 100, 0 } };
    struct itimerval old = none;

    note_from_now_on(number);
    result_of(of, "every 5 ms", sys(SYS_setitimer, which, &every, NULL));
    holds_of(of, "came three times", work_until(3));
    result_of(of, "off", sys(SYS_setitimer, which, &none, &old));
    result_of(of, "its interval", old.it_interval.tv_usec);
    holds_of(of, "it had less left than that", old.it_value.tv_sec == 0 && old.it_value.tv_usec <= 10000);
    result_of(of, "its code", code);
    times = 0;
    work_ns(20 * MS);
    result_of(of, "after it was off", times);

    result_of(of, "after 100 s of work", sys(SYS_setitimer, which, &later, NULL));
    rest_ms(20);
    result_of(of, "read", sys(SYS_getitimer, which, &old));
    holds_of(of, "a sleep is no work", times == 0 && old.it_value.tv_sec >= 98 && old.it_value.tv_sec <= 100);
    sys(SYS_setitimer, which, &none, NULL);
}

CONFORM(cpu_itimers)
{
    struct itimerval when = { { 0, 0 }, { 0, 1000000 } };

    interval_timer("ITIMER_PROF", ITIMER_PROF, SIGPROF);
    interval_timer("ITIMER_VIRTUAL", ITIMER_VIRTUAL, SIGVTALRM);
    result("no time at all", sys(SYS_setitimer, ITIMER_PROF, &when, NULL));
    result("from nobody's memory", sys(SYS_setitimer, ITIMER_VIRTUAL, NOWHERE, NULL));
    result("to nobody's memory", sys(SYS_getitimer, ITIMER_PROF, NOWHERE));
}
