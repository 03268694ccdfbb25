/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/setup.h: what the sources of arch/ppc64 share to set the machine up.
 */
#ifndef ARCH_SETUP_H
#define ARCH_SETUP_H

#include "arch/cpu.h"
#include "arch/device_tree.h"
#include <stdint.h>

#define MSR_TRANSLATION    0x30ULL /* translates instructions and data */
#define MSR_RECOVERABLE    0x02ULL
#define MSR_INTERRUPTS     0x8000ULL
#define MSR_MACHINE_CHECKS 0x1000ULL
#define MSR_LITTLE_ENDIAN  1ULL
#define MSR_VMX            0x2000000ULL
#define MSR_VSX            0x0800000ULL
#define MSR_VECTORS        (MSR_VMX | MSR_VSX | 0x2000ULL) /* vectors and floating point */

extern uint64_t boot_ticks;

/* Resources of H_SET_MODE. */
#define ADDRESS_TRANSLATION_MODE 3
#define LITTLE_ENDIAN_MODE       4

struct page_pool;
void cpu_initialise_first(void);

/* Initialises, on the first CPU, with the final map: its place, the interrupt controller. */
void cpus_initialise(struct page_pool *pool);

/* Returns what all CPUs but the first one take of the kernel's pool: their areas, and what the interrupt
 * controller has of each. */
uint64_t cpus_pool_bytes(void);

/* Calls RTAS, one CPU at a time. Returns its status [PAPR §7.2.8], 0 if all is well, RTAS_NO_FUNCTION if
 * there is no such function. `out` gets all answers, of which the first one is that status; `answers` 0:
 * none. */
#define RTAS_NO_FUNCTION (-1)
int32_t rtas_call(uint32_t token, unsigned count, const uint32_t *in, unsigned answers, uint32_t *out);

/* Registers the hypervisor's terminals as consoles: the first one, before the tree has been read; then
 * all. */
void terminals_begin(void);
void terminals_register(void);

void entry_initialise(struct cpu *cpu); /* what the entry code needs of its area */
/* Sets up what programs may use, on the CPU that is meant, which knows its number. */
void cpu_facilities_initialise(void);
void kernel_map_activate(void);
struct page_pool *kernel_map_pool(void); /* the kernel's own, that of its tables */

/* Lower addresses go by the tables of a number of the process table, which has room for PROCESSES_MAX. 0 is
 * the kernel's; one has nothing; each CPU has one for the space that it runs. */
#define PROCESSES_MAX       4096
#define PROCESS_NONE        1
#define PROCESS_OF_CPU(cpu) (2 + (cpu))

void process_table_set(unsigned process, uint64_t tree);
void space_process_set(unsigned process);

void translation_on(uint64_t msr);
void decrementer_initialise(void);
void decrementer_quiet(void); /* as far as it can wait */
void decrementer_interrupt(void);

#endif
