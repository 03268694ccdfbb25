/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_ranks.c: two ranks. The second answers each signal of the first with a signal; the first stops the
 * second, lets it go on, and ends it. After the first answer, signals and answers have numbers, so that a
 * late answer is not taken for another. */
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
    if (signal == SIGURG)
        kill(info->si_pid, signal);
    else
        sigqueue(info->si_pid, signal, info->si_value);
}

/* Returns whether an answer comes within `ms`. */
static int answered(int signal, long ms, int *number)
{
    const struct timespec limit = { ms / 1000, ms % 1000 * 1000000 };
    sigset_t mask;
    siginfo_t info;

    sigemptyset(&mask);
    sigaddset(&mask, signal);
    if (sigtimedwait(&mask, &info, &limit) != signal || info.si_pid != SECOND_PID)
        return 0;
    *number = info.si_value.sival_int;
    return 1;
}

static int asked;

static int ask(void)
{
    return sigqueue(SECOND_PID, SIGRTMIN, (union sigval){ .sival_int = ++asked });
}

/* Returns whether the answer to the last signal comes, and no other. */
static int answers(long ms)
{
    int number = 0;

    return answered(SIGRTMIN, ms, &number) && number == asked;
}

int main(void)
{
    const struct sigaction action = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO };
    sigset_t mask;
    int ready = 0, none;

    sigemptyset(&mask);
    sigaddset(&mask, SIGURG);
    sigaddset(&mask, SIGRTMIN);
    if (strcmp(getenv("TACET_RANK"), "1") == 0) {
        sigaction(SIGRTMIN, &action, NULL);
        sigaction(SIGURG, &action, NULL);
        for (;;)
            pause();
    }
    sigprocmask(SIG_BLOCK, &mask, NULL);
    for (int i = 0; i < 2000 && !ready; i++) { /* ignored until there is a handler */
        kill(SECOND_PID, SIGURG);
        ready = answered(SIGURG, 10, &none);
    }
    PROMISE(ready, "the second rank does not start");
    PROMISE(ask() == 0 && answers(20000), "%d", errno);
    kill(SECOND_PID, SIGSTOP);
    ask();
    PROMISE(!answered(SIGRTMIN, 100, &none), "it was stopped");
    PROMISE(kill(SECOND_PID, SIGCONT) == 0 && answers(20000), "%d", errno);
    /* Sooner or later after the second rank has taken SIGSTOP, and before it has stopped. */
    for (unsigned i = 0; i < CONTINUED; i++) {
        kill(SECOND_PID, SIGSTOP);
        for (volatile unsigned wait = i * i; wait; wait--)
            ;
        kill(SECOND_PID, SIGCONT);
        ask();
        PROMISE(answers(20000), "it did not go on, round %u", i);
    }
    PROMISE(kill(99, 0) < 0 && errno == ESRCH, "%d", errno);
    PROMISE(kill(-1, SIGTERM) == 0, "%d", errno);
    while (kill(SECOND_PID, 0) == 0)
        ;
    return promises_kept();
}
