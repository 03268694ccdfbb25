/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/vdso.h: what the kernel and the vDSO of x86_64 agree on, beside clock_page.h.
 *
 * Each CPU tells programs its number and NUMA node by one value, as Linux does: cpu | node << VDSO_CPU_BITS.
 * RDTSCP and RDPID deliver it from a register of the CPU, where it has them; and LSL finds it as the limit of
 * a segment descriptor, everywhere. [Intel SDM 2A LSL, 2B RDPID, RDTSCP; 3B §18.17.2]
 */
#ifndef ARCH_VDSO_H
#define ARCH_VDSO_H

#define VDSO_CPU_BITS     12
#define VDSO_NODE_UNKNOWN 255U /* a number that does not fit: the kernel knows it */

/* clock_page.features */
#define VDSO_RDTSCP 1U
#define VDSO_RDPID  2U

#endif
