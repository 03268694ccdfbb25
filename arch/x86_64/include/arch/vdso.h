/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/vdso.h: what the kernel and the vDSO of x86_64 agree on, besides clock_page.h.
 *
 * Programs get a CPU's number and NUMA node as one value, laid out as on Linux: cpu | node << VDSO_CPU_BITS.
 * RDTSCP and RDPID, if the CPU has them, read it from a register of the CPU; LSL, which every CPU has,
 * from the limit of a segment descriptor. [Intel SDM 2A LSL, 2B RDPID, RDTSCP; 3B §18.17.2]
 */
#ifndef ARCH_VDSO_H
#define ARCH_VDSO_H

#define SELECTOR_CPU_NUMBER 0x3b /* 0x38 with privilege 3: never loaded; its limit is that value */

#define VDSO_CPU_BITS     12
#define VDSO_NODE_UNKNOWN 255U /* the number does not fit: getcpu enters the kernel */

/* clock_page.features */
#define VDSO_RDTSCP 1U
#define VDSO_RDPID  2U

#endif
