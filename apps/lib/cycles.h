/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cycles.h: the clock that the noise benchmarks read, the basic operation that FTQ counts, and the loops of
 * the others. This is the one place of the benchmarks that knows the architecture: another one adds its block
 * here, nothing else changes.
 *
 * The basic operation [Betti09 §VI-A] is straight-line register arithmetic, each instruction waiting for the
 * one before, then a read of the clock, a count and a comparison. It is written in assembly so that its
 * length in instructions is a constant of the source and no compiler's choice: OPERATION_INSTRUCTIONS, the
 * loop's branch and the clock read included. It touches no memory and has one, always predicted, branch. The
 * additions are of registers, because some processors perform additions of constants in no time at all. 64
 * instructions are about 80 cycles, so that a millisecond at the 2.66 GHz of the paper holds about the
 * paper's 31300 operations.
 *
 * Runs in user mode; no function here enters the kernel but the one that is there for it.
 */
#ifndef CYCLES_H
#define CYCLES_H

#include <stdbool.h>
#include <stdint.h>

#define CYCLES_STRING(x)   CYCLES_STRING_1(x)
#define CYCLES_STRING_1(x) #x

/* Length of one basic operation, instructions: what operations_until() executes for each count. */
#define OPERATION_INSTRUCTIONS 64

#if defined(__x86_64__)

#define CYCLES_CLOCK_NAME "TSC"

/* Instructions of an operation that are its clock read, count and comparison; the rest is arithmetic. */
#define OPERATION_READ_INSTRUCTIONS  6
#define OPERATION_ARITH_INSTRUCTIONS 58

/* The time stamp counter, ticks since reset (Intel SDM 3B §18.17). Not serialising: the operations around it
 * are long enough, and a fence would cost more than it orders. */
static inline uint64_t cycles_now(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Whether the clock keeps its rate in every power state (CPUID 0x80000007, EDX bit 8). */
static inline bool cycles_invariant(void)
{
    uint32_t eax = 0x80000000, ebx, ecx = 0, edx;

    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    if (eax < 0x80000007)
        return false;
    eax = 0x80000007;
    ecx = 0;
    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return edx >> 8 & 1;
}

/*
 * Performs basic operations until the clock at the end of one reads `end_ticks` or later; at least one.
 * Returns how many, the one that passed the end included; `*now_ticks` is the clock at the end of that one.
 */
static inline uint64_t operations_until(uint64_t end_ticks, uint64_t *now_ticks)
{
    uint64_t now, count = 0, work = 0;

    __asm__ volatile("1:\n\t"
                     ".rept " CYCLES_STRING(OPERATION_ARITH_INSTRUCTIONS) "\n\t"
                                                                          "add %[end], %[work]\n\t"
                                                                          ".endr\n\t"
                                                                          "rdtsc\n\t"
                                                                          "shl $32, %%rdx\n\t"
                                                                          "or %%rdx, %%rax\n\t"
                                                                          "inc %[count]\n\t"
                                                                          "cmp %[end], %%rax\n\t"
                                                                          "jb 1b"
                     : "=&a"(now), [count] "+&r"(count), [work] "+&r"(work)
                     : [end] "r"(end_ticks)
                     : "rdx", "cc");
    *now_ticks = now;
    return count;
}

/* In a wait for another CPU: this one may rest for a moment. */
static inline void cycles_relax(void)
{
    __asm__ volatile("pause" : : : "memory");
}

/* Instructions of one turn of fixed_work() and of clock_watch(). */
#define FIXED_WORK_INSTRUCTIONS  16
#define CLOCK_WATCH_INSTRUCTIONS 11

/*
 * The work of FWQ and the empty loop of [Tsafrir05 §3.1]: `iterations` (at least 1) turns that lead nowhere.
 * A turn is register additions, each waiting for the one before.
 */
static inline void fixed_work(uint64_t iterations)
{
    uint64_t work = 0;

    __asm__ volatile(".p2align 5\n"
                     "1:\n\t"
                     ".rept 14\n\t"
                     "add %[left], %[work]\n\t"
                     ".endr\n\t"
                     "sub $1, %[left]\n\t"
                     "jnz 1b"
                     : [left] "+r"(iterations), [work] "+r"(work)
                     :
                     : "cc");
}

/*
 * Reads the clock over and over, until a read lies more than `threshold_ticks` after the one before it, or
 * not before `end_ticks`. `*now_ticks` is the read to begin with, and then the last one; `*previous_ticks`
 * the one before that. A clock that goes backwards ends it too. Returns the number of reads.
 */
static inline uint64_t clock_watch(uint64_t end_ticks, uint64_t threshold_ticks, uint64_t *previous_ticks,
                                   uint64_t *now_ticks)
{
    uint64_t now = *now_ticks, previous, gap, count = 0;

    __asm__ volatile("1:\n\t"
                     "mov %[now], %[previous]\n\t"
                     "rdtsc\n\t"
                     "shl $32, %%rdx\n\t"
                     "or %%rdx, %[now]\n\t"
                     "inc %[count]\n\t"
                     "mov %[now], %[gap]\n\t"
                     "sub %[previous], %[gap]\n\t"
                     "cmp %[threshold], %[gap]\n\t"
                     "ja 2f\n\t"
                     "cmp %[end], %[now]\n\t"
                     "jb 1b\n"
                     "2:"
                     : [now] "+&a"(now), [previous] "=&r"(previous), [gap] "=&r"(gap), [count] "+&r"(count)
                     : [threshold] "r"(threshold_ticks), [end] "r"(end_ticks)
                     : "rdx", "cc");
    *previous_ticks = previous;
    *now_ticks = now;
    return count;
}

/* System calls of one timing: as many as make a tick of the clock small beside one call. Here a tick is. */
#define CYCLES_CALLS 1

/*
 * Ticks between two clock reads with CYCLES_CALLS times the system call `number` (without arguments) between
 * them, made by the bare instruction; and with everything but that instruction between them. Their difference
 * is what the calls cost: the system call instruction, the kernel, and the return instruction.
 */
#define CYCLES_AROUND(times, instruction)                                                        \
    uint64_t first, last;                                                                        \
                                                                                                 \
    __asm__ volatile("rdtsc\n\t"                                                                 \
                     "shl $32, %%rdx\n\t"                                                        \
                     "lea (%%rax,%%rdx), %[first]\n\t"                                           \
                     ".rept " CYCLES_STRING(times) "\n\t"                                        \
                                                   "mov %[number], %%rax\n\t" instruction "\n\t" \
                                                   ".endr\n\t"                                   \
                                                   "rdtsc\n\t"                                   \
                                                   "shl $32, %%rdx\n\t"                          \
                                                   "or %%rdx, %%rax"                             \
                     : [first] "=&r"(first), "=&a"(last)                                         \
                     : [number] "r"(number)                                                      \
                     : "rcx", "rdx", "r11", "cc", "memory");                                     \
    return last - first

#define SYSTEM_CALL "syscall"

#elif defined(__powerpc64__)

#define CYCLES_CLOCK_NAME "timebase"

#define OPERATION_READ_INSTRUCTIONS  4
#define OPERATION_ARITH_INSTRUCTIONS 60

/* The timebase, ticks since reset (Power ISA Book II §5.2). */
static inline uint64_t cycles_now(void)
{
    uint64_t now;

    __asm__ volatile("mftb %0" : "=r"(now));
    return now;
}

/* The timebase keeps its rate in every power state by definition of the architecture. */
static inline bool cycles_invariant(void)
{
    return true;
}

/* As for x86_64 above. */
static inline uint64_t operations_until(uint64_t end_ticks, uint64_t *now_ticks)
{
    uint64_t now, count = 0, work = 0;

    __asm__ volatile("1:\n\t"
                     ".rept " CYCLES_STRING(OPERATION_ARITH_INSTRUCTIONS) "\n\t"
                                                                          "add %[work], %[work], %[end]\n\t"
                                                                          ".endr\n\t"
                                                                          "mftb %[now]\n\t"
                                                                          "addi %[count], %[count], 1\n\t"
                                                                          "cmpld %[now], %[end]\n\t"
                                                                          "blt 1b"
                     : [now] "=&b"(now), [count] "+&b"(count), [work] "+&b"(work)
                     : [end] "r"(end_ticks)
                     : "cr0");
    *now_ticks = now;
    return count;
}

/* As for x86_64 above. */
static inline void cycles_relax(void)
{
    __asm__ volatile("or 27, 27, 27" : : : "memory");
}

#define FIXED_WORK_INSTRUCTIONS  16
#define CLOCK_WATCH_INSTRUCTIONS 8

/* As for x86_64 above. */
static inline void fixed_work(uint64_t iterations)
{
    uint64_t work = 0;

    __asm__ volatile("mtctr %[iterations]\n\t"
                     ".p2align 5\n"
                     "1:\n\t"
                     ".rept 15\n\t"
                     "add %[work], %[work], %[iterations]\n\t"
                     ".endr\n\t"
                     "bdnz 1b"
                     : [work] "+r"(work)
                     : [iterations] "r"(iterations)
                     : "ctr");
}

/* As for x86_64 above. */
static inline uint64_t clock_watch(uint64_t end_ticks, uint64_t threshold_ticks, uint64_t *previous_ticks,
                                   uint64_t *now_ticks)
{
    uint64_t now = *now_ticks, previous, gap, count = 0;

    __asm__ volatile("1:\n\t"
                     "mr %[previous], %[now]\n\t"
                     "mftb %[now]\n\t"
                     "addi %[count], %[count], 1\n\t"
                     "subf %[gap], %[previous], %[now]\n\t"
                     "cmpld %[gap], %[threshold]\n\t"
                     "bgt 2f\n\t"
                     "cmpld %[now], %[end]\n\t"
                     "blt 1b\n"
                     "2:"
                     : [now] "+&r"(now), [previous] "=&r"(previous), [gap] "=&r"(gap), [count] "+&b"(count)
                     : [threshold] "r"(threshold_ticks), [end] "r"(end_ticks)
                     : "cr0");
    *previous_ticks = previous;
    *now_ticks = now;
    return count;
}

/* The time base is slower than the processor: of one call it would say little. */
#define CYCLES_CALLS             64

/* As for x86_64 above. */
#define CYCLES_AROUND(times, instruction)                                                                 \
    uint64_t first, last;                                                                                 \
                                                                                                          \
    __asm__ volatile("mftb %[first]\n\t"                                                                  \
                     ".rept " CYCLES_STRING(times) "\n\t"                                                 \
                                                   "mr 0, %[number]\n\t" instruction "\n\t"               \
                                                   ".endr\n\t"                                            \
                                                   "mftb %[last]"                                         \
                     : [first] "=&r"(first), [last] "=&r"(last)                                           \
                     : [number] "r"(number)                                                               \
                     : "r0", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", \
                       "memory");                                                                         \
    return last - first

#define SYSTEM_CALL "sc"

#else
#error "cycles.h: add the clock and the basic operation of this architecture"
#endif

static inline uint64_t cycles_around_system_call(long number)
{
    CYCLES_AROUND(1, SYSTEM_CALL);
}

static inline uint64_t cycles_around_system_calls(long number)
{
    CYCLES_AROUND(CYCLES_CALLS, SYSTEM_CALL);
}

static inline uint64_t cycles_around_nothing(long number)
{
    CYCLES_AROUND(CYCLES_CALLS, "");
}

#undef CYCLES_AROUND
#undef SYSTEM_CALL

_Static_assert(OPERATION_ARITH_INSTRUCTIONS + OPERATION_READ_INSTRUCTIONS == OPERATION_INSTRUCTIONS,
               "the operation's stated length must be the length of its parts");
_Static_assert(OPERATION_INSTRUCTIONS <= 300, "FTQ must see detours of a few hundred instructions");

#endif /* CYCLES_H */
