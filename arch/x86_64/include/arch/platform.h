/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/platform.h: the inline and constant half of the contract in kernel/arch.h, for x86_64.
 */
#ifndef ARCH_PLATFORM_H
#define ARCH_PLATFORM_H

#include "arch/cpu.h"
#include "arch/trap.h"

#define ARCH_NAME        "x86_64"
#define ARCH_ELF_MACHINE 62 /* EM_X86_64 */

#define ARCH_PAGE 4096ULL

#define ARCH_EARLY_LIMIT   (4UL << 30) /* end of the map that entry.asm builds */
#define ARCH_ADDRESS_LIMIT (1UL << 46) /* end of the memory for which the direct map has room */

/* The last page below the canonical hole stays unmapped, so that the return address of a SYSCALL instruction
 * is always canonical. */
#define ARCH_USER_LIMIT 0x00007ffffffff000ULL

#define ARCH_SYSCALL_NUMBER(x86_64_number, ppc64_number) x86_64_number

/* There are no hardware priorities. */
#define ARCH_PRIORITY_MAX           0
#define arch_priority(context)      0U
#define arch_priority_set(priority) ((void)(priority))

static inline uint64_t arch_physical_of(const void *pointer)
{
    uint64_t address = (uint64_t)pointer;

    return address >= KERNEL_BASE ? address - KERNEL_BASE : address - DIRECT_MAP;
}

static inline uint64_t arch_ticks(void)
{
    return cpu_ticks() + cpu_this()->clock_offset;
}

static inline uint64_t arch_ticks_ordered(void)
{
    return cpu_ticks_ordered() + cpu_this()->clock_offset;
}

static inline uint64_t arch_per_cpu_here(void)
{
    uint64_t distance;

    __asm__("mov %%gs:%c1, %0" : "=r"(distance) : "i"(offsetof(struct cpu, distance)));
    return distance;
}

static inline void arch_pause(void)
{
    __asm__ volatile("pause");
}

#include "arch/common/platform.h"

#endif
