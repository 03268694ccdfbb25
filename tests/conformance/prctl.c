/* SPDX-License-Identifier: BSD-2-Clause */
/* prctl.c: the name, the slack, and what C libraries request at a start. */
#include "conform.h"

#include <sys/prctl.h>

static const struct {
    const char *name;
    int set, get;
    bool is_written; /* the value to memory */
} attributes[] = {
    { "PDEATHSIG", PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, true },
    { "DUMPABLE", PR_SET_DUMPABLE, PR_GET_DUMPABLE, false },
    { "KEEPCAPS", PR_SET_KEEPCAPS, PR_GET_KEEPCAPS, false },
    { "CHILD_SUBREAPER", PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER, true },
    { "NO_NEW_PRIVS", PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, false },
    { "THP_DISABLE", PR_SET_THP_DISABLE, PR_GET_THP_DISABLE, false },
};

static long value_of(int get, bool is_written)
{
    int value = -1;
    long answer = sys(SYS_prctl, get, is_written ? &value : NULL, 0, 0, 0);

    return is_written && !answer ? value : answer;
}

/* Tells an attribute, sets it to 1 and to 0, and tells it each time. */
static void attribute(const char *name, int set, int get, bool is_written)
{
    char what[64];

    snprintf(what, sizeof(what), "%s at first", name);
    result(what, value_of(get, is_written));
    for (int to = 1; to >= 0; to--) {
        snprintf(what, sizeof(what), "%s set to %d", name, to);
        result(what, sys(SYS_prctl, set, to, 0, 0, 0));
        snprintf(what, sizeof(what), "%s then, set to %d", name, to);
        result(what, value_of(get, is_written));
    }
}

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
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        attribute(attributes[i].name, attributes[i].set, attributes[i].get, attributes[i].is_written);
    result("a signal beyond the last at a parent's death", sys(SYS_prctl, PR_SET_PDEATHSIG, 65));
    result("dumpable by root alone", sys(SYS_prctl, PR_SET_DUMPABLE, 2));
    result("new privileges again", sys(SYS_prctl, PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    result("nobody's memory", sys(SYS_prctl, PR_GET_PDEATHSIG, NOWHERE));
}
