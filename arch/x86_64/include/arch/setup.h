/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/setup.h: what the sources of arch/x86_64 share to set the machine up.
 */
#ifndef ARCH_SETUP_H
#define ARCH_SETUP_H

#include "arch/acpi.h"
#include "arch/cpu.h"
#include "debug/klog.h"
#include <stdbool.h>
#include <stdint.h>

#define MSR_FS_BASE        0xc0000100
#define MSR_KERNEL_GS_BASE 0xc0000102 /* the program's GS base, while the kernel runs */

/* Reads, or writes, a register that the CPU may not have: 0, or -EFAULT. msr.asm. */
int msr_try_read(uint32_t msr, uint64_t *value);
int msr_try_write(uint32_t msr, uint64_t value);

/* What LGDT and LIDT load. */
struct table_pointer {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

/* Logs and clears the machine checks of the calling CPU that are left from before the boot, and enables the
 * report of those that the hardware cannot correct; machine_checks_print prints what there is.
 * machine_check.c */
#define MACHINE_CHECK_BANKS_MAX 32 /* banks that have registers; a CPU may count more */
void machine_checks_enable(void);
void machine_checks_print(void);

struct cpu_features {
    uint32_t basic_leaves; /* highest basic CPUID leaf */
    uint32_t hwcap;        /* CPUID 1 EDX: Linux's AT_HWCAP */
    uint64_t xcr0;         /* vector state that is enabled */
    uint32_t vector_bytes; /* bytes of it that XSAVE, or FXSAVE, writes */
    /* Low bits of an APIC id that number the hardware threads of a core, and all those of a package; 0: CPUID
     * does not say. */
    uint32_t thread_bits, core_bits;
    bool xsave, monitor, rdrand, hypervisor, machine_check;
    uint8_t physical_bits; /* width of physical addresses */
    bool smep, smap, umip, no_execute, huge_pages, invariant_tsc, tsc_adjust, rdtscp, rdpid;
};

extern struct cpu_features cpu_features; /* filled by the first cpu_initialise */

/* Returns what all CPUs but the first take from the pool, whole pages: each its area, the variables of which
 * each CPU has one, and its ring of the flight log; and tables for their guard pages. smp.c. */
uint64_t cpus_pool_bytes(void);

/* The CPU's name by CPUID, "" if it has none. */
#define CPU_BRAND_BYTES 49 /* with its NUL */
void cpu_brand(char *text);

/* Enables the vector registers that there is room for (vector_state.c): the first CPU chooses them, sets xcr0
 * and vector_bytes, and vector_state_report says on the console what was wrong, or stops the node. */
void vector_state_enable(unsigned cpu);
void vector_state_report(void);

void cpu_initialise(struct cpu *cpu, unsigned index);
/* Lets programs find out, without a system call, on which CPU they run (arch/vdso.h). */
void cpu_identify(struct cpu *cpu);

/* Begins a system call: assembly entry points (syscall_entry.asm). */
void syscall_entry(void);
void syscall_entry_logged(void);

/* Maps a page of a device's registers, until the next call: on this CPU, one after the other. Returns NULL if
 * the present map does not reach it. kernel_map.c. */
volatile void *device_at(uint64_t physical);

extern const uint8_t boot_guard[]; /* not mapped: below the first stack; entry.asm */

void device_interrupt(void); /* of VECTOR_DEVICE; io_apic.c */

/* Maps the framebuffer in its window, write-combining if the CPU has that, in the early map and in the final
 * one; once, before arch_memory_initialise. Returns NULL if it does not fit, or the CPU has no such address.
 * kernel_map.c. */
void *frame_map(uint64_t physical, uint64_t bytes);

void power_order(void); /* orders the machine to switch itself off, which may take a while; power.c */

extern struct acpi_facts acpi; /* zero if there is none; start.c */

/* Loads the final map, which arch_memory_initialise has built. kernel_map.c. */
void kernel_map_activate(void);

void clock_initialise(void); /* clock.c */
void io_apics_silence(void); /* masks all their inputs; io_apic.c */

/* Registers the clock event devices; the APIC timer's rate as measured, 0 if it was not. apic_timer.c. */
void apic_timer_initialise(uint64_t local_apic_hz);

#endif
