/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/setup.h: what the sources of arch/ppc64 share to set the machine up.
 */
#ifndef ARCH_SETUP_H
#define ARCH_SETUP_H

#include "arch/cpu.h"
#include <stdint.h>

#define MSR_TRANSLATION   0x30ULL /* of instructions and of data */
#define MSR_RECOVERABLE   0x02ULL
#define MSR_INTERRUPTS    0x8000ULL
#define MSR_LITTLE_ENDIAN 1ULL
#define MSR_VECTORS       0x2802000ULL /* floating point, VMX, VSX */

/* What the device tree says. */
struct machine_facts {
    uint64_t timebase_hz;
    uint32_t decrementer_bits;
    uint32_t version;          /* PVR */
    uint32_t rtas, rtas_bytes; /* its entry; 0: there is none */
    uint32_t rtas_base;
    uint32_t power_off, reboot; /* tokens of RTAS; UINT32_MAX: not there */
};
extern struct machine_facts machine;
extern uint64_t boot_ticks;

/* Resources of H_SET_MODE. */
#define ADDRESS_TRANSLATION_MODE 3
#define LITTLE_ENDIAN_MODE       4

void cpu_initialise(struct cpu *cpu, unsigned index);
void kernel_map_activate(void);

/* The tables by which the lower half of addresses goes: a number of the process table, which has room for so
 * many. 0 is the kernel's; one has nothing. */
#define PROCESSES_MAX 4096
#define PROCESS_NONE  1
void process_table_set(unsigned process, uint64_t tree);
void space_process_set(unsigned process);

void translation_on(uint64_t msr);
void decrementer_initialise(void);
void decrementer_quiet(void); /* as far as it can wait */

#endif
