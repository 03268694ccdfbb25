/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/cpu.h: replaces x86_64's header of that name in host tests: privileged instructions are calls of
 * functions of the test.
 */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#include <stdbool.h>
#include <stdint.h>

struct cpu {
    unsigned index;
};

struct cpuid_result {
    uint32_t a, b, c, d;
};

struct cpuid_result cpuid(uint32_t leaf, uint32_t subleaf);
void xcr0_write(uint64_t components);
uint64_t cpu_tables(void);
void cpu_tables_set(uint64_t root);
void tlb_invalidate_page(uint64_t address);

#endif
