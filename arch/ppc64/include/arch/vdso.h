/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/vdso.h: what the kernel and the vDSO of ppc64 agree on, besides clock_page.h; and the frame of a
 * signal's handler, from whose trampoline in the vDSO the program unwinds.
 *
 * Programs get a CPU's number and NUMA node as one value, laid out as on Linux: cpu | node << VDSO_CPU_BITS.
 * They read it from SPRG3, by that register's number for programs [Power ISA 3.0B III §4.3.2]. The word
 * `features` of the clock's page is the rate of the time base in Hz.
 */
#ifndef ARCH_VDSO_H
#define ARCH_VDSO_H

#define VDSO_CPU_BITS     16
#define VDSO_NODE_UNKNOWN 0xffffU /* getcpu enters the kernel */

/* What signal_frame.c puts on the stack: AT_MINSIGSTKSZ. */
#define SIGNAL_FRAME_BYTES 2528

#ifndef __ASSEMBLER__
#include <stdint.h>

/* Returns where in the vDSO's image a handler is to begin. */
uint64_t vdso_trampoline(void);
#endif

#endif
