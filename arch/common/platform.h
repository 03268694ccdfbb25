/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * platform.h: the part of the contract's inline and constant half (kernel/arch.h) that architectures have
 * alike. Their arch/platform.h ends with this header, after arch/cpu.h: `struct cpu`, cpu_this() and
 * DIRECT_MAP.
 */
#ifndef ARCH_COMMON_PLATFORM_H
#define ARCH_COMMON_PLATFORM_H

#include <stdint.h>

#define ARCH_CPUS_MAX   1024
#define ARCH_LARGE_PAGE (2ULL << 20)
#define ARCH_HUGE_PAGE  (1ULL << 30)

#define ARCH_KERNEL_STACK_BYTES CPU_STACK_BYTES

#define ARCH_PIE_BASE  0x0000040000000000ULL
#define ARCH_MMAP_BASE 0x0000100000000000ULL

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

static inline struct tacet_counters *arch_counters_here(void)
{
    return &cpu_this()->counters;
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

/* Finds the area of a CPU that runs. */
static inline struct cpu *cpu_area(unsigned cpu)
{
    return (struct cpu *)((uint64_t)&boot_cpu + arch_cpu_distances[cpu]);
}

static inline void arch_kernel_ticks_begin(void)
{
    cpu_this()->kernel_ticks = -cpu_ticks();
}

static inline const struct klog_ring *arch_klog_of(unsigned cpu)
{
    return cpu_area(cpu)->klog;
}

static inline unsigned arch_core_of(unsigned cpu)
{
    return cpu_area(cpu)->core;
}

static inline uint32_t arch_cpu_numa_domain(unsigned cpu)
{
    return cpu_area(cpu)->numa_domain;
}

static inline uint64_t arch_per_cpu_of(unsigned cpu)
{
    return arch_cpu_distances[cpu];
}

#endif
