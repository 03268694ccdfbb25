/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_frames.c SEED COUNT: returns from a handler COUNT times with a frame in which random places hold
 * random or hostile values. What comes of it is the program's own trouble (a fault's signal, which ends the
 * attempt) or nothing; the kernel, and the program's next attempt, are as well as before.
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
    0xffffff0000000000, UINT64_MAX, UINT64_MAX - 7, 1UL << 63, 0x5a5a5a5a5a5a5a5a,
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

/* Never one in this program: what the program does then would be its own doing. */
static uint64_t random_instruction(void)
{
    return random_number() % 4 ? hostile[random_number() % (sizeof(hostile) / sizeof(hostile[0]))]
                               : random_number() | 1UL << 40;
}

static void mutate(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    char *vectors = (char *)user->uc_mcontext.fpregs;
    uint32_t state_bytes = 512;

    (void)signal, (void)info;
    if (*(uint32_t *)(vectors + 464) == 0x46505853)
        state_bytes = *(uint32_t *)(vectors + 480) + 4;
    for (unsigned changes = 1 + (unsigned)(random_number() % 4); changes; changes--) {
        uint64_t word;
        uint32_t place;

        switch (random_number() % 8) {
        case 0: /* registers, instruction, flags, selectors, state's address */
        case 1:
            place = (uint32_t)(random_number() % (sizeof(user->uc_mcontext) / 8));
            memcpy(&word, (char *)&user->uc_mcontext + place * 8, 8);
            word = place == REG_RIP ? random_instruction() : value(word);
            memcpy((char *)&user->uc_mcontext + place * 8, &word, 8);
            break;
        case 2:
            user->uc_mcontext.gregs[REG_EFL] ^= 1L << random_number() % 32;
            break;
        case 3: /* the software's note on the vector state, and the header of XSAVE */
            place = (random_number() % 2 ? 464 : 512) + (uint32_t)(random_number() % 64);
            if (place + 1 < state_bytes)
                vectors[place] = (char)random_number();
            break;
        case 4: /* control words */
            vectors[(const uint8_t[]){ 0, 1, 2, 3, 24, 25, 26, 27, 28, 29 }[random_number() % 10]] =
                (char)random_number();
            break;
        case 5:
            vectors[random_number() % state_bytes] = (char)random_number();
            break;
        case 6:
            user->uc_flags = value(user->uc_flags);
            break;
        default:
            memcpy(&word, vectors + 512 + 8, 8);
            word = value(word);
            memcpy(vectors + 512 + (random_number() % 8) * 8, &word, 8);
            break;
        }
    }
    user->uc_mcontext.gregs[REG_EFL] &= ~0x40000L;
    sigemptyset(&user->uc_sigmask);
}

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
            __asm__ volatile("syscall; "
                             "cld"
                             :
                             : "a"((long)SYS_kill), "D"(pid), "S"((long)SIGUSR1)
                             : "rcx", "r11", "memory", "cc");
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
