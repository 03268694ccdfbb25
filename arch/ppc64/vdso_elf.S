/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdso_elf.S: the vDSO (common/vdso/vdso.c, vdso/entries.S), an ELF file, as whole pages of the kernel's
 * constants. Programs see these pages, so they are filled up with zeroes.
 */
    .section .rodata.vdso, "a"
    .balign 65536
    .globl arch_vdso_image, arch_vdso_image_end
arch_vdso_image:
    .incbin "vdso.so"
    .balign 65536, 0
arch_vdso_image_end:
