/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_ranks.c: two ranks. The second answers each signal of the first one with one of its own; the first
 * stops it, lets it go on, and ends it. */
#define _GNU_SOURCE
#include "promise.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_PID 2
#define CONTINUED  100

static void answer(int signal, siginfo_t *info, void *context)
{
    (void)context;
    kill(info->si_pid, signal);
}

/* Whether an answer comes within some ms. */
static int answered(long ms)
{
    const struct timespec limit = { ms / 1000, ms % 1000 * 1000000 };
    sigset_t mask;
    siginfo_t info;

    sigemptyset(&mask);
    sigaddset(&mask, SIGURG);
    return sigtimedwait(&mask, &info, &limit) == SIGURG && info.si_pid == SECOND_PID;
}

int main(void)
{
    const struct sigaction action = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO };
    sigset_t mask;
    int ready = 0;

    sigemptyset(&mask);
    sigaddset(&mask, SIGURG);
    if (strcmp(getenv("TACET_RANK"), "1") == 0) {
        sigaction(SIGURG, &action, NULL);
        for (;;)
            pause();
    }
    sigprocmask(SIG_BLOCK, &mask, NULL);
    for (int i = 0; i < 2000 && !ready; i++) { /* ignored until there is a handler */
        kill(SECOND_PID, SIGURG);
        ready = answered(10);
    }
    PROMISE(ready, "the second rank does not start");
    while (answered(50))
        ;
    PROMISE(kill(SECOND_PID, SIGURG) == 0 && answered(20000), "%d", errno);
    kill(SECOND_PID, SIGSTOP);
    kill(SECOND_PID, SIGURG);
    PROMISE(!answered(100), "it was stopped");
    PROMISE(kill(SECOND_PID, SIGCONT) == 0 && answered(20000), "%d", errno);
    /* Sooner or later after the second rank has taken SIGSTOP, and before it has stopped. */
    for (unsigned i = 0; i < CONTINUED; i++) {
        kill(SECOND_PID, SIGSTOP);
        for (volatile unsigned wait = i * i; wait; wait--)
            ;
        kill(SECOND_PID, SIGCONT);
        kill(SECOND_PID, SIGURG);
        PROMISE(answered(5000), "it did not go on, round %u", i);
    }
    PROMISE(kill(99, 0) < 0 && errno == ESRCH, "%d", errno);
    PROMISE(kill(-1, SIGTERM) == 0, "%d", errno);
    while (kill(SECOND_PID, 0) == 0)
        ;
    return promises_kept();
}
