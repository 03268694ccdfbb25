; SPDX-License-Identifier: BSD-2-Clause
;
; msr.asm: access to model-specific registers that the CPU may not have, whatever its CPUID leaves and counts
; say. RDMSR and WRMSR then raise #GP; trap_handle then continues at user_copy_fault, as for a copy
; from a program (user_copy.asm), which returns -EFAULT from the function. Above each function stands its C
; prototype; it clobbers what C expects a call to clobber, and keeps nothing on the stack.

%include "frame.inc"

bits 64
default rel

section .text

; int msr_try_read(uint32_t msr, uint64_t *value): 0, or -EFAULT and *value unchanged
global msr_try_read
msr_try_read:
    mov ecx, edi
.read:
    rdmsr
    shl rdx, 32
    or rax, rdx
    mov [rsi], rax
    xor eax, eax
    ret
may_fault msr_try_read.read

; int msr_try_write(uint32_t msr, uint64_t value): 0 or -EFAULT
global msr_try_write
msr_try_write:
    mov ecx, edi
    mov eax, esi
    mov rdx, rsi
    shr rdx, 32
.write:
    wrmsr
    xor eax, eax
    ret
may_fault msr_try_write.write
