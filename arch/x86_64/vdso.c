/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdso.c: the vDSO, whose image vdso_elf.asm contains, and the CPU features that it may use.
 */
#include "arch.h"
#include "arch/setup.h"
#include "arch/vdso.h"

uint32_t arch_vdso_features(void)
{
    return (cpu_features()->rdtscp ? VDSO_RDTSCP : 0) | (cpu_features()->rdpid ? VDSO_RDPID : 0);
}
