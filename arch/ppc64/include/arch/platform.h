/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/platform.h: the inline and constant half of the contract in kernel/arch.h, for ppc64.
 */
#ifndef ARCH_PLATFORM_H
#define ARCH_PLATFORM_H

#include "arch/cpu.h"
#include "arch/trap.h"

#define ARCH_NAME        "ppc64"
#define ARCH_ELF_MACHINE 21 /* EM_PPC64 */

#define ARCH_PAGE 65536ULL

#define ARCH_EARLY_LIMIT   ARCH_ADDRESS_LIMIT /* real mode reaches all memory */
#define ARCH_ADDRESS_LIMIT (1UL << 46)        /* end of the memory for which the direct map has room */

#define ARCH_USER_LIMIT 0x00007fffffff0000ULL /* as far as Linux maps unless a program asks for more */

#define ARCH_SYSCALL_NUMBER(x86_64_number, ppc64_number) ppc64_number

#define ARCH_PRIORITY_MAX 6 /* priority.c */
unsigned arch_priority(const struct arch_context *context);
void arch_priority_set(unsigned priority);

static inline uint64_t arch_physical_of(const void *pointer)
{
    return (uint64_t)pointer - DIRECT_MAP;
}

static inline uint64_t arch_ticks(void)
{
    return cpu_ticks();
}

static inline uint64_t arch_ticks_ordered(void)
{
    return cpu_ticks_ordered();
}

static inline uint64_t arch_per_cpu_here(void)
{
    return cpu_this()->distance;
}

/* Gives the hardware thread low priority for a moment, then what it had: in a system call, the program's. */
static inline void arch_pause(void)
{
    const uint64_t priority = priority_get();

    __asm__ volatile("or 31, 31, 31");
    priority_put(priority);
}

#include "arch/common/platform.h"

#endif
