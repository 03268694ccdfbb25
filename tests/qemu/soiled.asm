; SPDX-License-Identifier: BSD-2-Clause
;
; soiled.asm: what firmware may leave, done to each CPU right before the kernel's first instructions.
; Planted over a function that the test does not need, by soiled.py, which defines: ORIGIN, its physical
; address; FIRST and FURTHER, where the first CPU and the others go on in the kernel, each after one
; instruction that this code does in its place.
;
; 32 bits, flat segments, paging and interrupts off; no stack, EBX to be kept.

bits 32
org ORIGIN

VECTOR equ 0xf8                                 ; above those of the kernel
APIC equ 0xfee00000
IO_APIC equ 0xfec00000

%macro msr 3
    mov ecx, %1
    mov edx, %2
    mov eax, %3
    wrmsr
%endmacro

%macro soil 0
    msr 0x174, 0, 0x08                          ; SYSENTER leads to the beginning of memory, at privilege 0
    msr 0x175, 0, 0x1000
    msr 0x176, 0, 0x2000
    msr 0x277, 0x04040404, 0x04040404           ; PAT: all write-through
    mov eax, 0x401000                           ; breakpoints where programs are
    mov dr0, eax
    mov dr3, eax
    mov eax, 0x4ff
    mov dr7, eax
%endmacro

first:
    jmp .begin
    times 8 - ($ - $$) nop
    jmp further
.begin:
    soil
    mov al, 0xff                                ; nothing else is to come in here
    out 0x21, al
    out 0xa1, al
    mov esi, first                              ; an interrupt that is never acknowledged
    lea esp, [esi + 0x550]
    lea eax, [esi + taken - first]
    mov [gate], ax
    shr eax, 16
    mov [gate + 6], ax
    mov ax, cs
    mov [gate + 2], ax
    lidt [pointer]
    mov edi, APIC
    mov dword [edi + 0xf0], 0x1ff
    mov dword [edi + 0x80], 0
    mov dword [edi + 0x300], 0x44000 | VECTOR   ; to itself
    sti
.wait:
    jmp .wait
taken:
    mov edi, IO_APIC                            ; the timer of the PC and another line, not masked
    mov dword [edi], 0x14
    mov dword [edi + 0x10], 0x55
    mov dword [edi], 0x20
    mov dword [edi + 0x10], 0x8056
    mov dword [APIC + 0x320], 0xf9              ; the timer, periodic and not masked, too
    mov ebp, 1                                  ; the instruction of boot_entry_pvh
    jmp FIRST

further:
    mov eax, 0x18                               ; the instruction of ap_protected
    mov ds, eax
    soil
    mov eax, 0x18
    jmp FURTHER

gate:
    dw 0, 0
    dw 0x8e00, 0
pointer:
    dw 0x7ff
    dd gate - VECTOR * 8
