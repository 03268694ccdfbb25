; SPDX-License-Identifier: BSD-2-Clause
;
; vdso_elf.asm: the vDSO (common/vdso/vdso.c), an ELF file, as whole pages of the kernel's constants. Programs
; see these pages, so they are filled up with zeroes.

section .rodata align=4096

global vdso_image, vdso_image_end

vdso_image:
    incbin "vdso.so"
    align 4096, db 0
vdso_image_end:
