/* SPDX-License-Identifier: BSD-2-Clause */
/* clock_adjtime.c: the state of the wall clock, which programs read and may not change. */
#include "conform.h"

#include <sys/timex.h>

static struct timex state;

static long asked(unsigned modes)
{
    memset(&state, 0, sizeof(state));
    state.modes = modes;
    state.tick = 10000;
    return sys(SYS_clock_adjtime, CLOCK_REALTIME, &state);
}

static bool is_state(long answer)
{
    return answer >= TIME_OK && answer <= TIME_ERROR;
}

CONFORM(clock_adjtime)
{
    struct timespec now;
    const long answer = asked(0);

    holds("reading", is_state(answer));
    holds("not synchronised is an error", (answer == TIME_ERROR) == !!(state.status & STA_UNSYNC));
    sys(SYS_clock_gettime, CLOCK_REALTIME, &now);
    holds("the time", now.tv_sec - state.time.tv_sec >= 0 && now.tv_sec - state.time.tv_sec <= 60);
    result("the tick", state.tick);
    result("the precision", state.precision);
    result("the tolerance", state.tolerance);
    holds("errors are positive", state.maxerror > 0 && state.esterror > 0);
    result("TAI", state.tai);
    holds("adjtimex reads the same", is_state(sys(SYS_adjtimex, &state)) && state.tick == 10000);
    holds("what adjtime has left", is_state(asked(ADJ_OFFSET_SS_READ)));
    result("adjtime's, without its time", asked(0x8000));
    result("from nobody's memory", sys(SYS_clock_adjtime, CLOCK_REALTIME, NOWHERE));
    result("adjtimex from nobody's memory", sys(SYS_adjtimex, NOWHERE));
    memset(&state, 0, sizeof(state));
    result("of the monotonic clock", sys(SYS_clock_adjtime, CLOCK_MONOTONIC, &state));
    result("of no clock", sys(SYS_clock_adjtime, 99, &state));
}
