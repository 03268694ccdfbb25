/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/cpu.h: the per-CPU area of ppc64, and instructions that C cannot express.
 *
 * One `struct cpu` a CPU, page-aligned; its variables of smp/per_cpu.h follow it. In the kernel, r13 points
 * into the running CPU's own, at its counters, below which stands what the entry code needs: an instruction
 * reaches 32 KiB either way. The ABI gives that register to threads' local variables, which the kernel has
 * none of, so no compiled code touches it. The area's last page is mapped into programs, for the counters:
 * nothing else may be stored there.
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
#define CPU_PAGE_BYTES  65536
#define CPU_STACK_BYTES (2 * CPU_PAGE_BYTES)

struct process;
struct thread;

/* Bytes of the area between the stacks and the counters. */
#define CPU_FIELDS_BYTES 4096

struct cpu {
    uint8_t guard[CPU_PAGE_BYTES]; /* not mapped: an overflow of the stack faults */
    uint8_t stack[CPU_STACK_BYTES];
    /* For what may come while the stack cannot be used: its overflow, a machine check, a system reset. They
     * all stop the node. */
    uint8_t emergency_stack[CPU_PAGE_BYTES - CPU_FIELDS_BYTES];

    uint64_t kernel_stack;    /* top of the stack where entries from the program begin */
    uint64_t call_stack;      /* r1 in a system call's entry: below the frame on kernel_stack */
    uint64_t table_of_kernel; /* what r2 is in the kernel */
    const void *calls;        /* the table of system calls that the entry code uses */
    uint64_t call_unknown;    /* the function for numbers beyond that table */
    struct klog_ring *klog;   /* its ring of the flight log */
    struct process *process;  /* the process that it runs, or NULL */
    struct thread *thread;    /* the thread that it runs, or NULL */
    uint64_t scratch[5];      /* memory for the entry code */
    uint64_t kernel_ticks;    /* spent in the kernel: each entry subtracts the time base, each exit adds it */
    uint64_t distance;        /* from the first CPU's area to this one */
    uint64_t deadline;        /* when the decrementer is to interrupt, by the time base */
    uint64_t interrupted;     /* the instruction before which the newest interrupt came */
    uint32_t index;
    uint32_t numa_domain;
    uint32_t core;   /* the CPU with the lowest number on the same core */
    uint32_t server; /* its number for the hypervisor, RTAS and the interrupt controller */
    uint32_t place_package, place_core;
    bool online;       /* it has answered its start-up */
    bool is_known;     /* it is one of the CPUs that run */
    bool has_ended;    /* arch_halt: interrupts have no effect any more */
    bool polls_ipi;    /* it looks at ipi_pending: no interrupt is needed */
    bool ipi_pending;  /* another CPU has something for it */
    bool beat_pending; /* another CPU has passed a heartbeat on to it */
    uint32_t stopping; /* a fault of the kernel is being reported */

    union {
        struct tacet_counters counters;
        uint8_t counters_page[CPU_PAGE_BYTES];
    } __attribute__((aligned(CPU_PAGE_BYTES)));
};

#define CPU_MIDDLE offsetof(struct cpu, counters)

_Static_assert(CPU_MIDDLE == 4 * CPU_PAGE_BYTES, "the fields have room below the counters");

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

/* Returns the same, not before earlier instructions have completed: for comparing clocks. */
static inline uint64_t cpu_ticks_ordered(void)
{
    __asm__ volatile("isync" : : : "memory");
    return cpu_ticks();
}

#endif
