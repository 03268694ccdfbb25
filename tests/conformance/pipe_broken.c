/* SPDX-License-Identifier: BSD-2-Clause */
/* pipe_broken.c: a write nobody can read is EPIPE, and SIGPIPE before it. */
#include "conform.h"

static volatile int seen;

static void note(int number)
{
    seen = number;
}

CONFORM(pipe_broken)
{
    struct sigaction action = { .sa_handler = SIG_IGN };
    int ends[2] = { -1, -1 };

    sys(SYS_pipe2, ends, 0);
    sys(SYS_close, ends[0]);
    sigaction(SIGPIPE, &action, NULL);
    result("ignored", sys(SYS_write, ends[1], "1", 1));
    action.sa_handler = note;
    sigaction(SIGPIPE, &action, NULL);
    result("handled", sys(SYS_write, ends[1], "1", 1));
    result("the signal", seen);
}
