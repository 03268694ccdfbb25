; SPDX-License-Identifier: BSD-2-Clause
;
; vdso_elf.asm: the vDSO (common/vdso/vdso.c), an ELF file, as whole pages of the kernel's constants. Programs
; see these pages, so they are filled up with zeroes.

section .rodata align=4096

global arch_vdso_image, arch_vdso_image_end

arch_vdso_image:
    incbin "vdso.so"
    align 4096, db 0
arch_vdso_image_end:
