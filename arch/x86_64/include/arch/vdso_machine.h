/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/vdso_machine.h: what the vDSO (arch/common/vdso/vdso.c) asks of x86_64: the page that it reads, system
 * calls, the CPU's number, the clock source.
 */
#ifndef ARCH_VDSO_MACHINE_H
#define ARCH_VDSO_MACHINE_H

#include "arch/vdso.h"
#include "time/clock_page.h"

#define SYSTEM_CALL_CLOCK_GETTIME 228
#define SYSTEM_CALL_CLOCK_GETRES  229
#define SYSTEM_CALL_GETCPU        309

/* Lies below the ELF header (vdso.ld). Not `const`, or the compiler would conclude that it never
 * changes; the kernel maps it read-only. */
extern struct clock_page page __attribute__((visibility("hidden")));

static inline struct clock_page *page_here(void)
{
    return &page;
}

static inline long system_call(long number, long a, long b)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(0L)
                     : "rcx", "r11", "memory");
    return result;
}

static inline uint32_t cpu_value(const struct clock_page *clock)
{
    uint64_t value;

    if (clock->features & VDSO_RDPID)
        __asm__ volatile("rdpid %0" : "=r"(value));
    else
        __asm__ volatile("lsl %1, %k0" : "=r"(value) : "r"(SELECTOR_CPU_NUMBER) : "cc");
    return (uint32_t)value;
}

static inline uint32_t cpu_of(uint32_t value)
{
    return value & ((1U << VDSO_CPU_BITS) - 1);
}

/* Reads the first CPU's clock on this one, not before earlier instructions of the program have completed: so
 * if they have seen what another CPU wrote after it read the clock, the time here is not earlier. */
static inline uint64_t ticks_read(const struct clock_page *clock)
{
    uint32_t low, high, value;

    if (clock->features & VDSO_RDTSCP) {
        __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(value) : : "memory");
    } else {
        __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
        value = cpu_value(clock);
    }
    return ((uint64_t)high << 32 | low) + clock->ticks_offset[cpu_of(value)];
}

#endif
