/* SPDX-License-Identifier: BSD-2-Clause */
/* timer_create.c: timers of a program's own: a signal with a value, an interval, what was missed. */
#include "conform.h"

static volatile int times, value, code;
/* the most expirations that one signal stood for; read before the next one can come */
static volatile long missed;
static int timer = -1;

static void note(int number, siginfo_t *info, void *context)
{
    long overrun = sys(SYS_timer_getoverrun, timer);

    times += number != 0 && context;
    missed = overrun > missed ? overrun : missed;
    value = info->si_value.sival_int;
    code = info->si_code;
}

CONFORM(timer_create)
{
    struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL,
        .sigev_signo = SIGUSR1,
        .sigev_value.sival_int = 123,
    };
    struct itimerspec when = { { 0, 0 }, { 0, 2000000 } }, now;
    uint64_t usr1 = 1UL << (SIGUSR1 - 1), pending = 0;

    sigaction(SIGUSR1, &action, NULL);
    result("made", sys(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
    if (timer < 0)
        return;
    sys(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, SIGSET_BYTES);
    result("set", sys(SYS_timer_settime, timer, 0, &when, NULL));
    rest_ms(5);
    for (int i = 0; i < 10000 && sys(SYS_rt_sigpending, &pending, SIGSET_BYTES) == 0 && !(pending & usr1);
         i++)
        rest_ms(1);
    result("held back", times);
    sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &usr1, NULL, SIGSET_BYTES);
    result("came", times);
    result("with its value", value);
    result("and code", code);
    result("read back", sys(SYS_timer_gettime, timer, &now));
    result("over", now.it_value.tv_sec + now.it_value.tv_nsec);
    when.it_interval.tv_nsec = 1000000;
    sys(SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, SIGSET_BYTES);
    sys(SYS_timer_settime, timer, 0, &when, NULL);
    rest_ms(20);
    times = 0;
    sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &usr1, NULL, SIGSET_BYTES);
    const long removed = sys(SYS_timer_delete, timer); /* or a signal would interrupt what is printed */
    holds("what was missed is counted", times >= 1 && missed >= 5);
    result("removed", removed);
    result("removed again", sys(SYS_timer_delete, timer));
    result("set then", sys(SYS_timer_settime, timer, 0, &when, NULL));
    event.sigev_notify = SIGEV_NONE;
    result("without a signal", sys(SYS_timer_create, CLOCK_REALTIME, &event, &timer));
    when.it_value.tv_nsec = -1;
    result("no time at all", sys(SYS_timer_settime, timer, 0, &when, NULL));
    result("from nobody's memory", sys(SYS_timer_settime, timer, 0, NOWHERE, NULL));
    sys(SYS_timer_delete, timer);
    result("no such clock", sys(SYS_timer_create, 99, &event, &timer));
    event.sigev_notify = 77;
    result("no such way to notify", sys(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
    event = (struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = 65 };
    result("no such signal", sys(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
    result("at nobody's", sys(SYS_timer_create, CLOCK_MONOTONIC, NOWHERE, &timer));
    timer = -1;
    result("of the process's CPU time", sys(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, NULL, &timer));
    result("of the thread's CPU time", sys(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, NULL, &timer));
    result("of this process's, by its number", sys(SYS_timer_create, -6, NULL, &timer));
    result("of a negative clock that is none", sys(SYS_timer_create, -5, NULL, &timer));
    result("of no clock", sys(SYS_timer_create, 77, NULL, &timer));
}
