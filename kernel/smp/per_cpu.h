/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * per_cpu.h: variables of which each CPU has one. They begin as zeroes. The first CPU's stand in the kernel's
 * image, those of any other in its own area, which is allocated when it is started: so a CPU that does not
 * exist costs nothing. Before a CPU runs, only that CPU itself may use its variables.
 *
 *      PER_CPU static struct queue queue;          (every source file may have some)
 *      PER_CPU_HERE(queue)->head                   this CPU's
 *      PER_CPU_OF(queue, 3)->head                  that of CPU 3
 */
#ifndef TACET_PER_CPU_H
#define TACET_PER_CPU_H

#include "arch/platform.h"
#include <stdint.h>

#define PER_CPU __attribute__((section(".bss.per_cpu")))

#define PER_CPU_AT(variable, distance) ((__typeof__(variable) *)((uintptr_t) & (variable) + (distance)))
#define PER_CPU_HERE(variable)         PER_CPU_AT(variable, arch_per_cpu_here())
#define PER_CPU_OF(variable, cpu)      PER_CPU_AT(variable, arch_per_cpu_of(cpu))

#endif
