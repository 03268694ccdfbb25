/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/vdso_machine.h: what the vDSO (arch/common/vdso/vdso.c) asks of ppc64: the page that it reads, system
 * calls, the CPU's number, the clock source. The C library calls by an address alone: no register points to
 * a table of contents, so no code here may need one.
 */
#ifndef ARCH_VDSO_MACHINE_H
#define ARCH_VDSO_MACHINE_H

#include "arch/vdso.h"
#include "time/clock_page.h"

#define SYSTEM_CALL_CLOCK_GETTIME 246
#define SYSTEM_CALL_CLOCK_GETRES  247
#define SYSTEM_CALL_GETCPU        302

/* Returns the pages below the ELF header (vdso.ld), by the distance from here. */
static inline struct clock_page *page_here(void)
{
    struct clock_page *page;

    __asm__ volatile("bcl 20, 31, 1f\n"
                     "1:\tmflr %0\n\t"
                     "addis %0, %0, (page - 1b)@ha\n\t"
                     "addi %0, %0, (page - 1b)@l"
                     : "=b"(page)
                     :
                     : "lr");
    return page;
}

static inline long system_call(long number, long a, long b)
{
    register long r0 __asm__("r0") = number;
    register long r3 __asm__("r3") = a;
    register long r4 __asm__("r4") = b;
    register long r5 __asm__("r5") = 0;

    __asm__ volatile("sc\n\t"
                     "bns+ 1f\n\t"
                     "neg %1, %1\n"
                     "1:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5)
                     :
                     : "r6", "r7", "r8", "r9", "r10", "r11", "r12", "ctr", "cr0", "memory");
    return r3;
}

static inline uint32_t cpu_value(const struct clock_page *clock)
{
    uint64_t value;

    (void)clock;
    __asm__ volatile("mfspr %0, 259" : "=r"(value));
    return (uint32_t)value;
}

static inline uint32_t cpu_of(uint32_t value)
{
    return value & ((1U << VDSO_CPU_BITS) - 1);
}

/* Reads the time base, alike on all CPUs, not before earlier instructions of the program have completed. */
static inline uint64_t ticks_read(const struct clock_page *clock)
{
    uint64_t ticks;

    (void)clock;
    __asm__ volatile("isync\n\tmftb %0" : "=r"(ticks) : : "memory");
    return ticks;
}

#endif
