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

#define ARCH_CPUS_MAX   1024
#define ARCH_PAGE       65536ULL
#define ARCH_LARGE_PAGE (2ULL << 20)
#define ARCH_HUGE_PAGE  (1ULL << 30)

#define ARCH_KERNEL_STACK_BYTES CPU_STACK_BYTES

#define ARCH_USER_LIMIT 0x000fffffffff0000ULL /* quadrant 0 of a radix tree of 52 bits */

#define ARCH_PIE_BASE  0x0000040000000000ULL
#define ARCH_MMAP_BASE 0x0000100000000000ULL

#define ARCH_SYSCALL_NUMBER(x86_64_number, ppc64_number) ppc64_number

static inline struct process *arch_process(void)
{
    return cpu_this()->process;
}

static inline void arch_process_set(struct process *process)
{
    cpu_this()->process = process;
}

static inline struct thread *arch_thread(void)
{
    return cpu_this()->thread;
}

static inline void arch_thread_set(struct thread *thread)
{
    cpu_this()->thread = thread;
}

static inline void *arch_physical(uint64_t address)
{
    return (void *)(DIRECT_MAP + address);
}

static inline uint64_t arch_physical_of(const void *pointer)
{
    return (uint64_t)pointer - DIRECT_MAP;
}

static inline uint64_t arch_ticks(void)
{
    return cpu_ticks();
}

static inline struct tacet_counters *arch_counters_here(void)
{
    return &cpu_this()->counters;
}

static inline uint64_t arch_ticks_ordered(void)
{
    return cpu_ticks_ordered();
}

struct klog_ring;

static inline struct klog_ring *arch_klog(void)
{
    return cpu_this()->klog;
}

static inline uint32_t arch_cpu_index(void)
{
    return cpu_this()->index;
}

/* How far the area of each CPU that runs lies above the first one's; smp.c. */
extern uint64_t arch_cpu_distances[ARCH_CPUS_MAX];

static inline uint64_t arch_per_cpu_here(void)
{
    return cpu_this()->distance;
}

static inline uint64_t arch_per_cpu_of(unsigned cpu)
{
    return arch_cpu_distances[cpu];
}

static inline void arch_pause(void)
{
    __asm__ volatile("or 31, 31, 31\n\tor 2, 2, 2"); /* low priority of the hardware thread, and back */
}

#endif
