/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdso.c: the vDSO, whose image vdso_elf.S contains, and what it learns on the clock's page.
 */
#include "arch/vdso.h"
#include "arch.h"
#include "arch/setup.h"

#define ELF_ENTRY_AT 24 /* e_entry of an ELF header of 64 bits */

uint32_t arch_vdso_features(void)
{
    return (uint32_t)machine.timebase_hz;
}

uint64_t vdso_trampoline(void)
{
    return *(const uint64_t *)(arch_vdso_image + ELF_ENTRY_AT);
}
