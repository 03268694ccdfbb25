/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/cpu.h: the per-CPU area of ppc64, and instructions that C cannot express.
 *
 * One `struct cpu` a CPU, page-aligned; its variables of smp/per_cpu.h follow it. In the kernel, r13 points
 * into the running CPU's own, to what the entry code needs: an instruction reaches 32 KiB from there. The ABI
 * gives that register to threads' local variables, which the kernel has none of, so no compiled code touches
 * it. The area's first page is mapped into programs, for the counters: nothing else may be stored there.
 */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#define TACET_KERNEL
#include "../../../../libc/include/tacet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Physical memory, in order, and in it the image: quadrant 3 of effective addresses, which in real mode are
 * physical ones without their four highest bits [Power ISA 3.0B III §5.7.3]. */
#define DIRECT_MAP      0xc000000000000000ULL
#define DEVICE_WINDOW   0xc008000000000000ULL /* device registers, uncached */
#define ADDRESS_LIMIT   (1ULL << 46)          /* of the physical memory for which the direct map has room */
#define CPU_PAGE_BYTES  65536
#define CPU_STACK_BYTES (2 * CPU_PAGE_BYTES)

struct process;
struct thread;

struct cpu {
    union {
        struct tacet_counters counters;
        uint8_t counters_page[CPU_PAGE_BYTES];
    };

    uint8_t guard[CPU_PAGE_BYTES]; /* not mapped: an overflow of the stack faults */
    uint8_t stack[CPU_STACK_BYTES];

    uint64_t kernel_stack;   /* top of the stack where entries from the program begin */
    struct klog_ring *klog;  /* its ring of the flight log */
    struct process *process; /* the process that it runs, or NULL */
    struct thread *thread;   /* the thread that it runs, or NULL */
    uint64_t scratch[4];     /* of the entry code */
    uint64_t kernel_ticks;   /* spent in the kernel: each entry subtracts the time base, each exit adds it */
    uint64_t distance;       /* from the first CPU's area to this one */
    uint32_t index;
    uint32_t numa_domain;
    uint32_t core;
};

#define CPU_MIDDLE offsetof(struct cpu, kernel_stack)

extern struct cpu boot_cpu;

static inline struct cpu *cpu_this(void)
{
    register uint8_t *middle __asm__("r13");

    return (struct cpu *)(middle - CPU_MIDDLE);
}

static inline uint64_t cpu_ticks(void)
{
    uint64_t ticks;

    __asm__ volatile("mftb %0" : "=r"(ticks));
    return ticks;
}

/* The same, not before earlier instructions have completed: for comparing clocks. */
static inline uint64_t cpu_ticks_ordered(void)
{
    __asm__ volatile("isync" : : : "memory");
    return cpu_ticks();
}

#endif
