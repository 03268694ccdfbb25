/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/cpu.h: the per-CPU area of x86_64, and instructions that C cannot express.
 *
 * One `struct cpu` a CPU, page-aligned; its variables of smp/per_cpu.h follow it. In the kernel, GS points to
 * the running CPU's own, so the entry code reaches it in one instruction. Its first page is mapped into
 * programs, for the counters: nothing else may be stored there.
 */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#define TACET_KERNEL
#include "../../../../libc/include/tacet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_BASE     0xffffffff80000000ULL /* link base of the image: physical 0 */
#define DIRECT_MAP      0xffff800000000000ULL /* all physical memory, in order */
#define DIRECT_MAP_SLOT 256                   /* its entry in the root table */
#define DEVICE_WINDOW   0xffffff0000000000ULL /* device registers, uncached */
#define FRAME_WINDOW    0xfffffe8000000000ULL /* the framebuffer, write-combining */

/* Values of `protocol` that entry.asm hands to arch_start. */
#define BOOT_MULTIBOOT2  0
#define BOOT_PVH         1
#define BOOT_UNKNOWN     2
#define BOOT_FURTHER_CPU 3 /* not a protocol: a CPU that smp.c has started */

/* Segment selectors. SYSRET requires user data just before user code [Intel SDM 2B, SYSRET]. */
#define SELECTOR_KERNEL_CODE 0x08
#define SELECTOR_KERNEL_DATA 0x10
#define SELECTOR_USER_DATA   0x1b /* 0x18 with privilege 3 */
#define SELECTOR_USER_CODE   0x23 /* 0x20 with privilege 3 */
#define SELECTOR_TSS         0x28

#define CPU_STACK_BYTES 16384
#define IST_STACK_BYTES 4096
#define IST_STACKS      4 /* of #DB, NMI, #DF, #MC, which may arrive while RSP is not the kernel's */

struct task_state {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map_base;
} __attribute__((packed));

struct process;
struct thread;

struct cpu {
    union {
        struct tacet_counters counters;
        uint8_t counters_page[4096];
    };

    uint8_t guard[4096]; /* not mapped: an overflow of the stack faults */
    uint8_t stack[CPU_STACK_BYTES];

    uint64_t user_stack;   /* RSP of the program while its system call runs */
    uint64_t kernel_stack; /* top of `stack`, where entries from the program begin */
    struct cpu *self;
    struct klog_ring *klog;  /* its ring of the flight log */
    struct process *process; /* the process that it runs, or NULL */
    struct thread *thread;   /* the thread that it runs, or NULL */
    uint64_t kernel_ticks;   /* spent in the kernel: each entry subtracts the TSC, each exit adds it */
    uint32_t index;
    uint32_t apic_id;
    uint32_t numa_domain; /* NUMA_DOMAIN_NONE if unknown */
    uint32_t core;        /* arch_core_of */
    bool panicking;
    bool polls_ipi; /* idles, and sees when ipi_pending is set (idle.c) */
    bool ipi_pending;
    bool online;            /* has reported after its start */
    uint64_t fault_address; /* address of the program's last page fault */
    /* Ticks to add to this CPU's TSC to get the first CPU's, if the hardware could not correct it. */
    uint64_t clock_offset;
    uint64_t distance; /* from the first CPU's area to this one */

    uint64_t gdt[8];
    struct task_state task_state;

    _Alignas(16) uint8_t ist_stacks[IST_STACKS][IST_STACK_BYTES];
};

extern struct cpu boot_cpu;

static inline struct cpu *cpu_this(void)
{
    struct cpu *cpu;

    __asm__("mov %%gs:%c1, %0" : "=r"(cpu) : "i"(offsetof(struct cpu, self)));
    return cpu;
}

static inline uint64_t cpu_ticks(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Returns the same, not before earlier instructions have completed: for comparing clocks. */
static inline uint64_t cpu_ticks_ordered(void)
{
    __asm__ volatile("lfence" : : : "memory");
    return cpu_ticks();
}

struct cpuid_result {
    uint32_t a, b, c, d;
};

static inline struct cpuid_result cpuid(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_result r;

    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(subleaf));
    return r;
}

static inline uint64_t msr_read(uint32_t msr)
{
    uint32_t low, high;

    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
    return (uint64_t)high << 32 | low;
}

static inline void msr_write(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

/* Sets which vector state XSAVE writes, and which instructions programs may use. */
static inline void xcr0_write(uint64_t components)
{
    __asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)components), "d"((uint32_t)(components >> 32)));
}

/* Loads the root of this CPU's page tables, which invalidates its TLB. */
static inline void cpu_tables_set(uint64_t root)
{
    __asm__ volatile("mov %0, %%cr3" : : "r"(root) : "memory");
}

static inline uint64_t cpu_tables(void)
{
    uint64_t root;

    __asm__ volatile("mov %%cr3, %0" : "=r"(root));
    return root;
}

/* Invalidates the translation of the page at `address`, and what is cached of tables on the way to any page
 * [Intel SDM 3A §4.10.4.1]. */
static inline void tlb_invalidate_page(uint64_t address)
{
    __asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

#endif
