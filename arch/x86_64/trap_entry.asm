; SPDX-License-Identifier: BSD-2-Clause
;
; trap_entry.asm: the entry into the kernel for exceptions and interrupts, and the return.
;
; One stub for each vector pushes what the CPU did not (a zero if there is no error code, the vector) and
; joins a common path, which completes struct trap_frame (arch/trap.h), counts the entry, and calls
; trap_handle(struct trap_frame *). The stack then, downwards:
;
;       stack_selector, stack, flags, code_selector, instruction      pushed by the CPU
;       error                                                          by the CPU or the stub
;       vector                                                         by the stub
;       rax rbx rcx rdx rsi rdi rbp r8 … r15                           by the common path; RSP -> r15
;
; GS: a program's own base while it runs, this CPU's area in the kernel. The code selector shows which one is
; loaded, except for #DB, NMI, #DF and #MC: these may arrive between an entry and its SWAPGS, so if they
; interrupt the kernel, the base itself is read. Programs can only set bases below the canonical hole
; (arch_thread_pointer_call; CR4.FSGSBASE stays off), and the CPU area is above it: the sign bit decides.
;
; Sources: Intel SDM 3A §6.12-6.15; AMD64 APM 2 §8.9.

%include "offsets.inc"
%include "frame.inc"

MSR_GS_BASE equ 0xc0000101

bits 64
default abs

extern trap_handle

section .text

; Vectors whose error code the CPU pushes itself: #DF #TS #NP #SS #GP #PF #AC #CP #VC #SX.
%define has_error_code(v) \
    ((v) == 8 || ((v) >= 10 && (v) <= 14) || (v) == 17 || (v) == 21 || (v) == 29 || (v) == 30)
%define is_paranoid(v)    ((v) == 1 || (v) == 2 || (v) == 8 || (v) == 18)

; Each of the same size: a vector above 127 is pushed as a negative byte, which .interrupt makes positive.
global trap_stubs_start                         ; const uint8_t trap_stubs_start[256][TRAP_STUB_BYTES]
trap_stubs_start:
%assign v 0
%rep 256
%if !has_error_code(v)
    push 0
%endif
    push byte v - (v / 128) * 256
%if is_paranoid(v)
    jmp strict near trap_paranoid
%else
    jmp strict near trap_common
%endif
%assign v v + 1
    times trap_stubs_start + v * TRAP_STUB_BYTES - $ int3
%endrep

; EBX from trap_call on: 1 if GS must be swapped back.
trap_common:
    push_registers
    xor ebx, ebx
    test byte [rsp + FRAME_CODE_SELECTOR], 3
    jz trap_call
    swapgs
trap_swapped:
    mov ebx, 1
    kernel_ticks sub                            ; the program's time ends, the kernel's begins
trap_call:
    movzx eax, byte [rsp + FRAME_VECTOR]
    cmp eax, 32
    jae .interrupt
    inc qword [gs:CPU_EXCEPTIONS + rax * 8]
    jmp .counted
.interrupt:
    mov [rsp + FRAME_VECTOR], rax
    inc qword [gs:CPU_INTERRUPTS + rax * 8]
.counted:
    mov rdi, rsp
    call trap_handle                            ; 22 words were pushed on a 16-byte boundary: RSP is aligned
    test ebx, ebx
    jnz frame_return
    pop_registers_and_return

; Returns to the program whose frame RSP points to; syscall_entry.asm jumps here, too.
global frame_return
frame_return:
    kernel_ticks add
    swapgs
    pop_registers_and_return

; _Noreturn void frame_enter(const struct trap_frame *frame)
; Enters a thread's program.
global frame_enter
frame_enter:
    mov rsp, rdi
    mov eax, SELECTOR_USER_DATA
    mov ds, eax
    mov es, eax
    jmp frame_return

; From a program: moves the frame to the CPU's kernel stack, which is empty then. The handler may take long,
; or never return (the end of a thread), and the small stack must be free for the next exception of its kind.
trap_paranoid:
    push_registers
    test byte [rsp + FRAME_CODE_SELECTOR], 3
    jz .from_kernel
    swapgs
    mov rsi, rsp
    mov rdi, [gs:CPU_KERNEL_STACK]
    sub rdi, FRAME_BYTES
    mov rsp, rdi
    mov ecx, FRAME_BYTES / 8
    rep movsq
    jmp trap_swapped
.from_kernel:
    xor ebx, ebx
    mov ecx, MSR_GS_BASE
    rdmsr
    test edx, edx
    js trap_call                                ; the kernel's base is in place
    swapgs
    jmp trap_swapped
global trap_stubs_end
trap_stubs_end:
