/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * avx512.c: all of AVX-512's registers, 32 vectors of 64 bytes and 8 masks, belong to the thread. They
 * survive system calls and turns of other threads on the same CPU, whether a thread yields its turn or loses
 * it. A signal's handler finds them in its frame and may use them all; values that it writes to the frame are
 * in the registers afterwards. The node must run it as one rank on one CPU. Ends with 77 if the CPU has no
 * AVX-512.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS 3
#define YIELDS  50
#define TURNS   5
#define TARGET  __attribute__((target("avx512f,avx512bw"), noinline))

struct registers {
    uint8_t z[32][64];
    uint64_t k[8];
} __attribute__((aligned(64)));

// clang-format off
#define NUMBERS "0,1,2,3,4,5,6,7"
#define VECTORS NUMBERS ",8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define LOAD                                                                       \
    ".irp n," VECTORS "\n\t vmovups \\n*64(%[from]), %%zmm\\n\n\t .endr\n\t"       \
    ".irp n," NUMBERS "\n\t kmovq 2048+\\n*8(%[from]), %%k\\n\n\t .endr\n\t"
#define STORE                                                                      \
    ".irp n," VECTORS "\n\t vmovups %%zmm\\n, \\n*64(%[to])\n\t .endr\n\t"         \
    ".irp n," NUMBERS "\n\t kmovq %%k\\n, 2048+\\n*8(%[to])\n\t .endr\n\t"
#define CLOBBER                                                                                             \
    "memory", "cc", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", \
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",       \
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",  \
        "xmm27", "xmm28", "xmm29", "xmm30", "xmm31"
// clang-format on

/* Fills the registers with a pattern for the seed, in which no two registers are equal. */
static void fill(struct registers *registers, unsigned seed)
{
    uint64_t state = 0x9e3779b97f4a7c15 * (seed + 1);

    for (uint64_t *word = (uint64_t *)registers; word < (uint64_t *)(registers + 1); word++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        *word = state;
    }
}

TARGET static void load(const struct registers *from)
{
    __asm__ volatile(LOAD : : [from] "r"(from) : CLOBBER);
}

TARGET static long across_call(const struct registers *from, struct registers *to, long number, long a,
                               long b)
{
    __asm__ volatile(LOAD "syscall\n\t" STORE
                     : "+a"(number)
                     : [from] "r"(from), [to] "r"(to), "D"(a), "S"(b)
                     : "rcx", "r11", CLOBBER);
    return number;
}

/* Spins without a system call: a timer takes the CPU from the spinning thread. */
TARGET static void across_turns(const struct registers *from, struct registers *to, const volatile int *turn,
                                int mine)
{
    __asm__ volatile(LOAD "1: pause\n\t"
                          "cmpl %[mine], (%[turn])\n\t"
                          "jne 1b\n\t" STORE
                     :
                     : [from] "r"(from), [to] "r"(to), [turn] "r"(turn), [mine] "r"(mine)
                     : CLOBBER);
}

static unsigned vectors_wrong(const struct registers *a, const struct registers *b)
{
    unsigned wrong = 0;

    for (int n = 0; n < 32; n++)
        wrong += memcmp(a->z[n], b->z[n], 64) != 0;
    return wrong;
}

static void same(const struct registers *expected, const struct registers *found, const char *after)
{
    PROMISE(vectors_wrong(expected, found) == 0, "%u vectors changed by %s", vectors_wrong(expected, found),
            after);
    PROMISE(memcmp(expected->k, found->k, sizeof(found->k)) == 0, "masks changed by %s", after);
}

/* ---- Threads ---- */

static volatile int turn;
static pthread_barrier_t all_here;

static void *thread(void *argument)
{
    const int mine = (int)(intptr_t)argument;
    struct registers before, after;

    pthread_barrier_wait(&all_here);
    for (unsigned round = 0; round < YIELDS; round++) {
        fill(&before, (unsigned)mine * 1000 + round);
        PROMISE(across_call(&before, &after, SYS_sched_yield, 0, 0) == 0, "sched_yield");
        same(&before, &after, "a turn given away");
    }
    for (unsigned round = 0; round < TURNS; round++) {
        fill(&before, (unsigned)mine * 2000 + round);
        across_turns(&before, &after, &turn, mine);
        same(&before, &after, "a turn lost");
        turn = (mine + 1) % THREADS;
    }
    return NULL;
}

static void threads(void)
{
    pthread_t others[THREADS];

    PROMISE(sysconf(_SC_NPROCESSORS_ONLN) == 1, "one CPU for all");
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (intptr_t n = 0; n < THREADS; n++)
        PROMISE(pthread_create(&others[n], NULL, thread, (void *)n) == 0, "thread %ld", (long)n);
    for (int n = 0; n < THREADS; n++)
        pthread_join(others[n], NULL);
}

/* ---- Signals ---- */

#define FRAME_MAGIC 0x46505853 /* at byte 464 of the frame's vector state; 472: its components */
#define COMPONENTS  0xe6UL     /* SSE, AVX, masks, upper halves of the first 16 vectors, the other 16 */

static struct registers before_signal;
static unsigned handled;

static unsigned component(unsigned number)
{
    unsigned size, offset, c, d;

    __cpuid_count(13, number, size, offset, c, d);
    return offset;
}

static void handler(int signal, siginfo_t *info, void *context)
{
    uint8_t *state = (uint8_t *)((ucontext_t *)context)->uc_mcontext.fpregs;
    uint8_t *upper = state + component(6), *others = state + component(7), *masks = state + component(5);
    struct registers found, mine;
    uint64_t saved;

    (void)signal, (void)info;
    handled++;
    PROMISE(*(uint32_t *)(state + 464) == FRAME_MAGIC, "the frame has more than FXSAVE's state");
    memcpy(&saved, state + 472, 8);
    PROMISE((saved & COMPONENTS) == COMPONENTS, "the frame may hold components %#lx", (unsigned long)saved);
    memcpy(&saved, state + 512, 8);
    PROMISE((saved & COMPONENTS) == COMPONENTS, "the frame holds components %#lx", (unsigned long)saved);
    for (unsigned n = 0; n < 16; n++) {
        memcpy(found.z[n], state + 160 + n * 16, 16);
        memcpy(found.z[n] + 16, state + component(2) + n * 16, 16);
        memcpy(found.z[n] + 32, upper + n * 32, 32);
        memcpy(found.z[16 + n], others + n * 64, 64);
    }
    memcpy(found.k, masks, sizeof(found.k));
    same(&before_signal, &found, "the way into the frame");

    /* What the thread is to find in its registers. */
    for (unsigned n = 0; n < 16; n++) {
        before_signal.z[n][63] = upper[n * 32 + 31] ^= 0xff;
        before_signal.z[16 + n][n] = others[n * 64 + n] ^= 0xff;
    }
    before_signal.k[5] ^= 1UL << 63;
    memcpy(masks + 5 * 8, &before_signal.k[5], 8);
    fill(&mine, 99);
    load(&mine);
}

static void signals(void)
{
    const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    struct registers after;

    PROMISE(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    for (unsigned round = 0; round < 3; round++) {
        fill(&before_signal, 5000 + round);
        PROMISE(across_call(&before_signal, &after, SYS_kill, getpid(), SIGUSR1) == 0, "kill");
        PROMISE(handled == round + 1, "the handler ran %u times", handled);
        same(&before_signal, &after, "the way back from the frame");
    }
}

int main(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw")) {
        puts("this CPU has no AVX-512");
        return 77;
    }
    threads();
    signals();
    return promises_kept();
}
