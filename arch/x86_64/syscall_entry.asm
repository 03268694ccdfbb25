; SPDX-License-Identifier: BSD-2-Clause
;
; syscall_entry.asm: SYSCALL and SYSRET.
;
; Linux's convention on x86_64: number in RAX, arguments in RDI RSI RDX R10 R8 R9, result in RAX; RCX and R11
; are lost, everything else is preserved. C functions preserve RBX RBP R12-R15, so the entry saves only the
; others. The kernel stack, downwards:
;
;       R11 (the program's flags), RCX (its next instruction), RDI, RSI, RDX, R10, R8, R9      RSP -> R9
;
; Each entry subtracts the TSC from the CPU's kernel_ticks, each exit adds it: so the time in the kernel is
; counted without a tick [Tsafrir05 §4.2].
;
; Interrupts stay off until the program runs again (IA32_FMASK): the kernel is never preempted.
;
; The slow return, for what is to be done before the program runs again (a signal, the end of the thread),
; costs the fast one no instruction: arch_request_slow_return() changes where the function of the call returns
; to, which is below R9, from call_return to call_return_slow. The slow return completes a struct trap_frame,
; calls program_return() in C, and ends with IRETQ.
;
; SYSRET to an address that is not canonical faults in the kernel, on the program's stack [Intel SDM 2B,
; SYSRET]. None can come here: no program has the last page below 2^47 (ARCH_USER_LIMIT).

%include "offsets.inc"
%include "frame.inc"

bits 64
default abs

extern syscall_table
extern syscall_unknown
extern program_return
extern thread_clone
extern frame_return
extern klog_system_call
extern klog_system_call_end

section .text

; Saved after R11, and restored before it.
%define CALL_REGISTERS rcx, rdi, rsi, rdx, r10, r8, r9

; Everything up to the call. Then RSP -> R9 of the picture above, arguments in C's registers, R11 = number.
%macro entry_begin 0
    swapgs
    mov [gs:CPU_USER_STACK], rsp
    mov rsp, [gs:CPU_KERNEL_STACK]
    inc qword [gs:CPU_SYSTEM_CALLS]
    push r11
    push_list CALL_REGISTERS
    mov r11, rax
    kernel_ticks sub
    mov rdx, [rsp + 24]
    mov rcx, r10                                ; fourth argument, in C's register
%endmacro

; The way back up to R11.
%macro return_begin 0
    mov r11, rax
    kernel_ticks add
    mov rax, r11
    pop_list CALL_REGISTERS
    pop r11
%endmacro

global syscall_entry
global call_return
global call_return_slow
syscall_entry:
    entry_begin
    cmp r11, SYSCALL_SLOTS
    jae .unknown
    call [syscall_table + r11 * 8]
call_return:
    return_begin
    mov rsp, [gs:CPU_USER_STACK]
    swapgs
    o64 sysret
syscall_entry.unknown:
    push call_return
    jmp syscall_hole
call_return_slow:
    return_begin
    push SELECTOR_USER_DATA                     ; struct trap_frame, downwards from the top of the stack
    push qword [gs:CPU_USER_STACK]
    push r11
    push SELECTOR_USER_CODE
    push rcx
    push 0                                      ; error
    push VECTOR_SYSTEM_CALL
    push_registers
    kernel_ticks sub                            ; still the kernel's time
    mov rdi, rsp
    call program_return                         ; (struct trap_frame *)
    jmp frame_return

; The same with an event of the flight log before and after the call; MSR_LSTAR holds its address while the
; log's class of system calls is on (arch_system_calls_log). Below R9 stands call_return, as in the plain
; entry, then the call's number, which its result replaces.
global syscall_entry_logged
syscall_entry_logged:
    entry_begin
    push call_return
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
.end:
    mov rdi, [rsp]
    mov [rsp], rax
    mov rsi, rax
    call klog_system_call_end                   ; (uint64_t number, uint64_t result)
    pop rax
    ret
.unknown:
    push .end
    jmp syscall_hole

; void syscall_hole(void)
; In the unused slots of the table: passes the call's number, which is still in R11, to
; long syscall_unknown(uint64_t number).
global syscall_hole
syscall_hole:
    mov rdi, r11
    jmp syscall_unknown

; long sys_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t child_tid, uint64_t tls)
; C functions may move RBX RBP R12-R15 anywhere, but here they still hold the program's values: passes
; them, as a struct kept_registers, as the sixth argument of long thread_clone(…).
global sys_clone
sys_clone:
    push_list r15, r14, r13, r12, rbp, rbx
    mov r9, rsp
    sub rsp, 8                                  ; RSP was 8 below a multiple of 16 at the entry
    call thread_clone
    add rsp, 56
    ret

; void stack_switch(uint64_t *from, uint64_t to)
global stack_switch
stack_switch:
    push_list r15, r14, r13, r12, rbp, rbx
    mov [rdi], rsp
    mov rsp, rsi
    pop_list r15, r14, r13, r12, rbp, rbx
    ret
