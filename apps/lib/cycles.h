/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cycles.h: the clock that the noise benchmarks read, the basic operation that FTQ counts, and the loops of
 * the other benchmarks. This is their only file that depends on the architecture: a port adds a block here.
 *
 * The basic operation [Betti09 §VI-A] is straight-line register arithmetic, in which each instruction waits
 * for the one before it, then a read of the clock, a count, and a comparison. It is in assembly, so that the
 * source and not the compiler fixes its length: OPERATION_INSTRUCTIONS, with the clock read and the loop's
 * branch. It touches no memory and has one branch, always predicted. It adds registers, because some
 * processors add constants in no time. 64 instructions are about 80 cycles, so a millisecond at the paper's
 * 2.66 GHz holds about the paper's 31300 operations.
 *
 * Runs in user mode. No function here enters the kernel except the one whose purpose it is.
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

/* An operation's instructions for the clock read, the count and the comparison; the rest is arithmetic. */
#define OPERATION_READ_INSTRUCTIONS  6
#define OPERATION_ARITH_INSTRUCTIONS 58

/* Returns the time stamp counter, in ticks since reset (Intel SDM 3B §18.17). Does not serialise: the
 * operations around it are long, and a fence would cost more than the disorder. */
static inline uint64_t cycles_now(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Returns whether the clock keeps its rate in every power state (CPUID 0x80000007, EDX bit 8). */
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
 * Performs basic operations until the clock at the end of an operation reads `end_ticks` or later; at least
 * one. Returns their number, the last included; `*now_ticks` is the clock at the end of the last.
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

/* Tells the processor that this CPU spins, waiting for another, and may slow down for a moment. */
static inline void cycles_relax(void)
{
    __asm__ volatile("pause" : : : "memory");
}

/* Instructions of one turn of fixed_work() and of clock_watch(). */
#define FIXED_WORK_INSTRUCTIONS  16
#define CLOCK_WATCH_INSTRUCTIONS 11

/*
 * Performs the work of FWQ, the empty loop of [Tsafrir05 §3.1]: `iterations` turns (at least 1) without a
 * result. A turn is register additions, each of which waits for the one before it.
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
 * Reads the clock again and again, until a read is more than `threshold_ticks` after the one before it, or
 * not before `end_ticks`, or the clock goes backwards. `*now_ticks` is the read to begin with; on return it
 * is the last read, and `*previous_ticks` the one before it. Returns the number of reads.
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

/* System calls in one timing: enough that a tick of the clock is small compared to them. Here one is. */
#define CYCLES_CALLS 1

/*
 * Two timings, in ticks between two clock reads: one with CYCLES_CALLS times the bare instruction of system
 * call `number` (no arguments) between the reads, the other with everything except that instruction. Their
 * difference is the calls' cost: the system call instruction, the kernel, and the return instruction.
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

/* Returns the timebase, in ticks since reset (Power ISA Book II §5.2). */
static inline uint64_t cycles_now(void)
{
    uint64_t now;

    __asm__ volatile("mftb %0" : "=r"(now));
    return now;
}

/* Returns true: by the architecture, the timebase keeps its rate in every power state. */
static inline bool cycles_invariant(void)
{
    return true;
}

/* Performs basic operations until `end_ticks`, as on x86_64. */
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

/* Tells the processor that this CPU spins, as on x86_64. */
static inline void cycles_relax(void)
{
    __asm__ volatile("or 27, 27, 27" : : : "memory");
}

#define FIXED_WORK_INSTRUCTIONS  16
#define CLOCK_WATCH_INSTRUCTIONS 8

/* Performs the work of FWQ, as on x86_64. */
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

/* Reads the clock until a gap or the end, as on x86_64. */
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

/* The timebase is slower than the processor, too coarse for a single call. */
#define CYCLES_CALLS             64

/* The two timings, as on x86_64. */
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
