/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_frames.c SEED COUNT: returns from a handler COUNT times with a frame in which random places hold
 * random or hostile values, for each machine its own (signal_frames_<machine>.h). The program may get a
 * fault's signal, which ends the attempt, or nothing may happen. The kernel, and the program's next attempt,
 * must not be affected.
 *
 * Left as they are: the alternate stack (the fault's handler runs there), and the flag of alignment checks,
 * which the C library is not built for. A program that goes on somewhere else for long is fetched back by a
 * timer.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (64 * 1024)

// clang-format off
static const uint64_t hostile[] = {
    0, 1, 8, 0xfff, 0x7fffffffefff, 0x7ffffffff000, 0x7fffffffffff, 0x800000000000, 0x1234567812345678,
    0xffff7fffffffffff, 0xffff800000000000, 0xffff800000100000, 0xffffffff80000000, 0xffffffff80100000,
    0xffffff0000000000, 0x000fffffffff0000, 0x0010000000000000, 0xc000000000400000,
    0xc008000000000000, UINT64_MAX, UINT64_MAX - 7, 1UL << 63, 0x5a5a5a5a5a5a5a5a,
};
// clang-format on

static uint64_t state;
static sigjmp_buf back;
static unsigned long faults, fetched, went_on;

static uint64_t random_number(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static uint64_t value(uint64_t old)
{
    switch (random_number() % 4) {
    case 0:
        return old ^ 1UL << random_number() % 64;
    case 1:
        return random_number();
    default:
        return hostile[random_number() % (sizeof(hostile) / sizeof(hostile[0]))];
    }
}

/* Returns a random instruction address outside of this program, whose own code must not run from there. */
static uint64_t random_instruction(void)
{
    return random_number() % 4 ? hostile[random_number() % (sizeof(hostile) / sizeof(hostile[0]))]
                               : random_number() | 1UL << 40;
}

#if defined(__x86_64__)
#include "signal_frames_x86_64.h"
#else
#include "signal_frames_ppc64.h"
#endif

static void fetch_back(int signal)
{
    if (signal == SIGALRM)
        fetched++;
    else
        faults++;
    siglongjmp(back, 1);
}

static void timer_set(long us)
{
    const struct itimerval time = { { 0, us }, { 0, us } };

    setitimer(ITIMER_REAL, &time, NULL);
}

int main(int count, char **arguments)
{
    const int caught[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGALRM, SIGSYS };
    struct sigaction mutating = { .sa_sigaction = mutate, .sa_flags = SA_SIGINFO };
    struct sigaction fetching = { .sa_handler = fetch_back, .sa_flags = SA_ONSTACK | SA_NODEFER };
    static volatile unsigned long attempts;

    attempts = count > 2 ? strtoul(arguments[2], NULL, 0) : 10000;
    static char stack[STACK_BYTES];
    const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
    static long pid;
    static volatile unsigned long attempt;

    pid = getpid();
    state = (count > 1 ? strtoull(arguments[1], NULL, 0) : 1) * 0x9e3779b97f4a7c15 + 1;
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &mutating, NULL);
    for (unsigned i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
        sigaction(caught[i], &fetching, NULL);
    for (attempt = 0; attempt < attempts; attempt++) {
        switch (sigsetjmp(back, 1)) {
        case 0:
            timer_set(20000);
            kill_process(pid);
            siglongjmp(back, 2); /* whatever has become of the registers */
        case 2:
            went_on++;
        }
        timer_set(0);
    }
    printf("attempts: %lu, faults: %lu, fetched back: %lu, went on: %lu\n", attempts, faults, fetched,
           went_on);
    return faults + fetched + went_on < attempts || faults <= attempts / 10 || went_on <= attempts / 10;
}
