/* SPDX-License-Identifier: BSD-2-Clause */
/* prctl.c: the name, the slack, and what C libraries request at a start. */
#include "conform.h"

#include <sys/prctl.h>

CONFORM(prctl)
{
    char name[17] = "#################";

    result("PR_SET_NAME", sys(SYS_prctl, PR_SET_NAME, "a name of more than fifteen"));
    result("PR_GET_NAME", sys(SYS_prctl, PR_GET_NAME, name));
    text("cut", name);
    result("PR_SET_NAME, nobody's memory", sys(SYS_prctl, PR_SET_NAME, NOWHERE));
    result("PR_GET_NAME, nobody's memory", sys(SYS_prctl, PR_GET_NAME, NOWHERE));
    result("PR_GET_TIMERSLACK, default", sys(SYS_prctl, PR_GET_TIMERSLACK));
    result("PR_SET_TIMERSLACK", sys(SYS_prctl, PR_SET_TIMERSLACK, 1));
    result("PR_GET_TIMERSLACK", sys(SYS_prctl, PR_GET_TIMERSLACK));
    result("PR_SET_TIMERSLACK to the default", sys(SYS_prctl, PR_SET_TIMERSLACK, 0));
    result("no such request", sys(SYS_prctl, 9999));
}
