/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vsx_ppc64.h: POWER's vector and floating-point registers, for programs that try whether they are kept.
 */
#ifndef VSX_PPC64_H
#define VSX_PPC64_H

#include <stdint.h>

/* All of them, as an assembly's clobbers: VSX has those of floating point (0 to 31) and of VMX (32 to 63). */
#define EVERY_VECTOR                                                                                      \
    "vs0", "vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8", "vs9", "vs10", "vs11", "vs12", "vs13", \
        "vs14", "vs15", "vs16", "vs17", "vs18", "vs19", "vs20", "vs21", "vs22", "vs23", "vs24", "vs25",   \
        "vs26", "vs27", "vs28", "vs29", "vs30", "vs31", "vs32", "vs33", "vs34", "vs35", "vs36", "vs37",   \
        "vs38", "vs39", "vs40", "vs41", "vs42", "vs43", "vs44", "vs45", "vs46", "vs47", "vs48", "vs49",   \
        "vs50", "vs51", "vs52", "vs53", "vs54", "vs55", "vs56", "vs57", "vs58", "vs59", "vs60", "vs61",   \
        "vs62", "vs63"

/* Returns the FPSCR. */
static uint64_t floating_status(void)
{
    union {
        double value;
        uint64_t bits;
    } state;

    __asm__ volatile("mffs %0" : "=d"(state.value));
    return state.bits;
}

#endif
