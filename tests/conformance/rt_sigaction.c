/* SPDX-License-Identifier: BSD-2-Clause */
/* rt_sigaction.c: actions: set, read back, and what happens when the signal comes. */
#include "conform.h"

static volatile int times, number_reported, masked_inside;
static void *sender_reported;

static void note(int number)
{
    uint64_t mask = 0;

    times++;
    number_reported = number;
    sys(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, SIGSET_BYTES);
    masked_inside = (int)(mask >> (SIGUSR1 - 1) & 1) * 10 + (int)(mask >> (SIGUSR2 - 1) & 1);
}

static void note_more(int number, siginfo_t *info, void *context)
{
    number_reported = number;
    sender_reported = info->si_pid == getpid() && info->si_uid == 0 && info->si_code == SI_USER ? info : NULL;
    times += context != NULL;
}

static void raise_by_kill(int number)
{
    sys(SYS_kill, sys(SYS_getpid), number);
}

CONFORM(rt_sigaction)
{
    struct sigaction action = { .sa_handler = note }, old;

    result("no action read or set", sys(SYS_rt_sigaction, SIGUSR1, NULL, NULL, SIGSET_BYTES));
    result("a set of another size", sys(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4));
    result("signal 0", sys(SYS_rt_sigaction, 0, NULL, NULL, SIGSET_BYTES));
    result("signal 65", sys(SYS_rt_sigaction, 65, NULL, NULL, SIGSET_BYTES));
    result("from nobody's memory", sys(SYS_rt_sigaction, SIGUSR1, NOWHERE, NULL, SIGSET_BYTES));
    result("to nobody's memory", sys(SYS_rt_sigaction, SIGUSR1, NULL, NOWHERE, SIGSET_BYTES));
    result("a handler for SIGKILL", sigaction(SIGKILL, &action, NULL) ? -errno : 0);
    result("a handler", sigaction(SIGUSR1, &action, NULL) ? -errno : 0);
    if (sigaction(SIGUSR1, NULL, &old) != 0 || old.sa_handler != note) {
        holds("it is kept", false);
        return;
    }
    raise_by_kill(SIGUSR1);
    result("called", times);
    result("with the signal", number_reported);
    result("itself masked", masked_inside);
    sigaddset(&action.sa_mask, SIGUSR2);
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, NULL);
    raise_by_kill(SIGUSR1);
    result("not itself but another", masked_inside);
    action = (struct sigaction){ .sa_sigaction = note_more, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND };
    sigaction(SIGUSR2, &action, NULL);
    raise_by_kill(SIGUSR2);
    holds("the sender is reported", number_reported == SIGUSR2 && sender_reported);
    sigaction(SIGUSR2, NULL, &old);
    holds("once only", old.sa_handler == SIG_DFL);
    times = 0;
    signal(SIGUSR1, SIG_IGN);
    raise_by_kill(SIGUSR1);
    result("ignored", times);
    action = (struct sigaction){ .sa_handler = note };
    sigaction(SIGRTMIN + 3, &action, NULL);
    raise_by_kill(SIGRTMIN + 3);
    result("a real-time signal", times);
}
