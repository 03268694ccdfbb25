/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/cpu.h: stands for the header of that name of x86_64 in host tests of its page tables: what the CPU
 * would do with privileged instructions is told to the test.
 */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#include <stdbool.h>
#include <stdint.h>

struct cpu {
    unsigned index;
};

void cpu_tables_set(uint64_t root);
void tlb_invalidate_page(uint64_t address);

#endif
