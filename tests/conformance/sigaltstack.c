/* SPDX-License-Identifier: BSD-2-Clause */
/* sigaltstack.c: a stack for handlers. */
#include "conform.h"

static char stack[65536];
static volatile int inside, flags_inside;

static void note(int number)
{
    char here;
    stack_t current;

    inside = &here >= stack && &here < stack + sizeof(stack);
    flags_inside = sigaltstack(NULL, &current) == 0 ? current.ss_flags : -number;
}

CONFORM(sigaltstack)
{
    stack_t new = { .ss_sp = stack, .ss_size = sizeof(stack) }, old;
    struct sigaction action = { .sa_handler = note, .sa_flags = SA_ONSTACK };

    result("read back", sys(SYS_sigaltstack, NULL, &old));
    result("off", old.ss_flags);
    result("set", sys(SYS_sigaltstack, &new, NULL));
    sys(SYS_sigaltstack, NULL, &old);
    holds("is what was set", old.ss_sp == stack && old.ss_size == sizeof(stack) && old.ss_flags == 0);
    if (sigaction(SIGUSR1, &action, NULL) != 0)
        return;
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("the handler is on it", inside);
    result("and sees that", flags_inside);
    action.sa_flags = 0;
    sigaction(SIGUSR1, &action, NULL);
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("without SA_ONSTACK it is not", inside);
    new.ss_size = 64;
    result("too small", sys(SYS_sigaltstack, &new, NULL));
    new.ss_flags = 0x40;
    result("no such flag", sys(SYS_sigaltstack, &new, NULL));
    result("from nobody's memory", sys(SYS_sigaltstack, NOWHERE, NULL));
    new.ss_flags = SS_DISABLE;
    result("off again", sys(SYS_sigaltstack, &new, NULL));
}
