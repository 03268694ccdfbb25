/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/setup.h: what the files of arch/x86_64 tell each other while the machine is set up.
 */
#ifndef ARCH_SETUP_H
#define ARCH_SETUP_H

#include "arch/acpi.h"
#include "arch/cpu.h"
#include <stdbool.h>
#include <stdint.h>

struct cpu_features {
    uint32_t basic_leaves; /* highest basic CPUID leaf */
    uint32_t hwcap;        /* CPUID 1 EDX, which Linux hands to programs as AT_HWCAP */
    uint64_t xcr0;         /* vector state that is on */
    bool fxsave, xsave, rdrand, hypervisor, machine_check;
    bool smep, smap, umip, no_execute, huge_pages, invariant_tsc;
};

const struct cpu_features *cpu_features(void); /* filled by the first cpu_initialise */
void cpu_initialise(struct cpu *cpu, unsigned index);

/* Assembly entry points (syscall_entry.asm). */
void syscall_entry(void);
_Noreturn void program_enter(uint64_t entry, uint64_t stack);

/* Registers of a device at `physical`, uncached, in the device window; NULL where the window is full. paging.c. */
volatile void *device_map(uint64_t physical, uint64_t bytes);

/* Facts from ACPI; zero where there is none. start.c. */
const struct acpi_facts *acpi_facts(void);

void interrupts_silence(void); /* quiet.c */
void clock_initialise(void);   /* clock.c */

#endif
