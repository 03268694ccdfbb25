; SPDX-License-Identifier: BSD-2-Clause
;
; syscall_entry.asm: SYSCALL and SYSRET, and the first step into a program.
;
; Linux's convention on x86_64: number in RAX, arguments in RDI RSI RDX R10 R8 R9, result in RAX; RCX and R11 are lost, everything else is
; kept. C keeps RBX RBP R12-R15 by itself, so the entry saves only what C may overwrite. The kernel stack, downwards:
;
;       R11 (the program's flags), RCX (its next instruction), RDI, RSI, RDX, R10, R8, R9      RSP -> R9
;
; Each entry subtracts the TSC from the CPU's kernel_ticks, each exit adds it: the time spent in the kernel, with no tick [Tsafrir05 §4.2].
;
; Interrupts stay off until the program runs again (IA32_FMASK): the kernel is short and is never preempted.
;
; SYSRET to an address that is not canonical faults in the kernel, on the program's stack [Intel SDM 2B, SYSRET]. Nothing is mapped where such
; a return address could arise, and it is checked here all the same.

%include "offsets.inc"

bits 64
default abs

extern syscall_table
extern syscall_unknown
extern syscall_return_fault
extern klog_system_call
extern klog_system_call_end

section .text

; Everything up to the call: RSP -> R9 of the picture above, arguments in C's registers, R11 = number.
%macro entry_begin 0
    swapgs
    mov [gs:CPU_USER_STACK], rsp
    mov rsp, [gs:CPU_KERNEL_STACK]
    inc qword [gs:CPU_SYSTEM_CALLS]
    push r11
    push rcx
    push rdi
    push rsi
    push rdx
    push r10
    push r8
    push r9
    mov r11, rax
    mov r10, rdx
    rdtsc
    sub [gs:CPU_KERNEL_TICKS], eax
    sbb [gs:CPU_KERNEL_TICKS + 4], edx
    mov rdx, r10
    mov rcx, [rsp + 16]                         ; fourth argument, as C wants it
%endmacro

global syscall_entry
syscall_entry:
    entry_begin
    cmp r11, SYSCALL_SLOTS
    jae .unknown
    call [syscall_table + r11 * 8]
.return:
    mov r11, rax
    rdtsc
    add [gs:CPU_KERNEL_TICKS], eax
    adc [gs:CPU_KERNEL_TICKS + 4], edx
    mov rax, r11
    pop r9
    pop r8
    pop r10
    pop rdx
    pop rsi
    pop rdi
    pop rcx
    bt rcx, 47                                  ; the lower half ends there, and no program runs beyond it
    jc .not_canonical
    pop r11
    mov rsp, [gs:CPU_USER_STACK]
    swapgs
    o64 sysret
.unknown:
    call syscall_hole
    jmp .return
.not_canonical:
    pop rsi
    mov rdi, rcx                                ; syscall_return_fault(uint64_t address)
    call syscall_return_fault
    ud2                                         ; it does not return

; The same with an event of the flight log before and after; in place while the log's class of system calls is on (arch_system_calls_log). The number and the
; result are kept below R9.
global syscall_entry_logged
syscall_entry_logged:
    entry_begin
    push rax                                    ; place for the result
    push r11
    mov rsi, rdi
    mov rdi, r11
    call klog_system_call                       ; (uint64_t number, uint64_t argument)
    mov r11, [rsp]
    mov r9, [rsp + 16]
    mov r8, [rsp + 24]
    mov rcx, [rsp + 32]
    mov rdx, [rsp + 40]
    mov rsi, [rsp + 48]
    mov rdi, [rsp + 56]
    cmp r11, SYSCALL_SLOTS
    jae .unknown
    call [syscall_table + r11 * 8]
.return:
    mov [rsp + 8], rax
    mov rdi, [rsp]
    mov rsi, rax
    call klog_system_call_end                   ; (uint64_t number, uint64_t result)
    pop r11
    pop rax
    jmp syscall_entry.return
.unknown:
    call syscall_hole
    jmp .return

; Fills the unused slots of the table: hands the call's number, which is still in R11, to
; long syscall_unknown(uint64_t number).
global syscall_hole
syscall_hole:
    mov rdi, r11
    jmp syscall_unknown

; _Noreturn void program_enter(uint64_t entry, uint64_t stack)
; General registers zero but RCX and R11, which SYSRET leaves at entry and flags; interrupts on.
global program_enter
program_enter:
    mov rcx, rdi
    mov r11, FLAGS_FIXED | FLAGS_INTERRUPT
    mov rsp, rsi
    mov eax, SELECTOR_USER_DATA
    mov ds, eax
    mov es, eax
    xor eax, eax
    xor ebx, ebx
    xor edx, edx
    xor esi, esi
    xor edi, edi
    xor ebp, ebp
    xor r8d, r8d
    xor r9d, r9d
    xor r10d, r10d
    xor r12d, r12d
    xor r13d, r13d
    xor r14d, r14d
    xor r15d, r15d
    swapgs
    o64 sysret
