; SPDX-License-Identifier: BSD-2-Clause
;
; entry.asm: the kernel's first instructions, for both boot protocols.
;
; Multiboot2 and PVH loaders start the kernel in the same state: 32-bit protected mode, flat segments, paging
; and interrupts off, EBX = physical address of the loader's information. They differ in EAX: the multiboot2
; magic, or undefined. So each has its own entry, which sets EBP to the protocol; after that there is one
; path: check for a 64-bit CPU, build the early page tables, enter long mode, call arch_start(protocol,
; information).
;
; Further CPUs (smp.c) start in real mode at a page below 1 MiB, to which smp.c has copied ap_trampoline, and
; join the path where it enters long mode, with EBP = BOOT_FURTHER_CPU; ap_cpu is their per-CPU area, with the
; stack in it.
;
; The early page tables (2 MiB pages, everything writable and executable; kernel_map.c replaces them) map the
; first 4 GiB of physical memory at 0, where this code runs, and at DIRECT_MAP, and the first of these GiB at
; KERNEL_BASE, where the kernel is linked.
;
; Sources: Multiboot2 Specification 2.0 §3.1-3.3; Xen "x86/HVM direct boot ABI"; Intel SDM 3A §9.8.5 (entering
; IA-32e mode).

%include "offsets.inc"

%define PHYSICAL(symbol) (symbol - KERNEL_BASE)

MULTIBOOT2_HEADER_MAGIC equ 0xe85250d6
XEN_ELFNOTE_PHYS32_ENTRY equ 18

CR0_VALUE equ 0x80010033                        ; PE, MP, ET, NE, WP, PG
CR4_PAE equ 1 << 5
MSR_EFER equ 0xc0000080
EFER_LME equ 1 << 8
EFER_NXE equ 1 << 11
PTE_PRESENT_WRITE equ 3
PTE_LARGE equ 1 << 7

section .boot progbits alloc exec nowrite align=8

multiboot2_header:
    dd MULTIBOOT2_HEADER_MAGIC
    dd 0                                        ; architecture: i386 protected mode
    dd multiboot2_header.end - multiboot2_header
    dd 0x100000000 - (MULTIBOOT2_HEADER_MAGIC + 0 + (multiboot2_header.end - multiboot2_header))
.entry:
    dw 3, 0                                     ; entry address tag
    dd 12
    dd PHYSICAL(boot_entry)
    dd 0                                        ; to the next multiple of 8
.framebuffer:
    dw 5, 1                                     ; one may be set up (UEFI has no text screen); any size
    dd 20
    dd 0, 0, 0
    dd 0                                        ; to the next multiple of 8
.align_modules:
    dw 6, 0                                     ; modules on page boundaries
    dd 8
.last:
    dw 0, 0
    dd 8
.end:

bits 32

global boot_entry
boot_entry:                                     ; multiboot2: EAX = magic, EBX = information
    xor ebp, ebp
    cmp eax, MULTIBOOT2_LOADER_MAGIC
    je boot_common
    mov ebp, BOOT_UNKNOWN
    jmp boot_common

boot_entry_pvh:                                 ; PVH: EBX = hvm_start_info
    mov ebp, BOOT_PVH

boot_common:
    cli
    cld
    rdtsc
    mov [PHYSICAL(boot_ticks)], eax
    mov [PHYSICAL(boot_ticks) + 4], edx
    mov esp, PHYSICAL(boot_stack_top)
    mov esi, ebx                                ; CPUID overwrites EBX

    mov eax, 0x80000000
    cpuid
    cmp eax, 0x80000001
    jb not_64_bit
    mov eax, 0x80000001
    cpuid
    bt edx, 29                                  ; long mode
    jnc not_64_bit
    mov edi, edx                                ; bit 20: no-execute

    ; Four page directories of 512 large pages each: physical 0 .. 4 GiB.
    xor ecx, ecx
.fill_directory:
    mov eax, ecx
    shl eax, 21
    or eax, PTE_PRESENT_WRITE | PTE_LARGE
    mov [PHYSICAL(boot_directories) + ecx * 8], eax
    inc ecx
    cmp ecx, 4 * 512
    jb .fill_directory

    xor ecx, ecx
    mov eax, PHYSICAL(boot_directories) + PTE_PRESENT_WRITE
.fill_pointers:
    mov [PHYSICAL(boot_pointers_low) + ecx * 8], eax
    add eax, 4096
    inc ecx
    cmp ecx, 4
    jb .fill_pointers

    mov dword [PHYSICAL(boot_pointers_high) + 510 * 8], PHYSICAL(boot_directories) + PTE_PRESENT_WRITE
    mov dword [PHYSICAL(boot_root)], PHYSICAL(boot_pointers_low) + PTE_PRESENT_WRITE
    mov dword [PHYSICAL(boot_root) + DIRECT_MAP_SLOT * 8], PHYSICAL(boot_pointers_low) + PTE_PRESENT_WRITE
    mov dword [PHYSICAL(boot_root) + 511 * 8], PHYSICAL(boot_pointers_high) + PTE_PRESENT_WRITE

enter_long_mode:                                ; EDI bit 20: the CPU has no-execute
    mov eax, CR4_PAE
    mov cr4, eax
    mov eax, PHYSICAL(boot_root)
    mov cr3, eax
    mov ecx, MSR_EFER
    rdmsr
    or eax, EFER_LME
    bt edi, 20
    jnc .no_execute_disable
    or eax, EFER_NXE
.no_execute_disable:
    wrmsr
    mov eax, CR0_VALUE                          ; as a whole: firmware and INIT may leave caches off (CD, NW),
    mov cr0, eax                                ; or the vector unit marked as stale (TS)
    lgdt [PHYSICAL(boot_gdt_pointer)]
    jmp 0x08:PHYSICAL(boot_64)

; A 32-bit CPU, on which nothing of the kernel can run: prints that on the first serial port and on the text
; screen, and halts.
not_64_bit:
    mov esi, PHYSICAL(not_64_bit_text)
    mov edi, 0xb8000
.next:
    lodsb
    test al, al
    jz .halt
    mov ah, 0x0f
    mov [edi], ax
    add edi, 2
    mov dx, 0x3f8
    out dx, al
    jmp .next
.halt:
    hlt
    jmp .halt

bits 64

boot_64:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov fs, eax
    mov gs, eax
    mov ss, eax
    cmp ebp, BOOT_FURTHER_CPU
    je .further_cpu
    mov rsp, boot_stack_top
    mov edi, ebp                                ; arch_start(unsigned protocol, uint64_t information)
    mov esi, esi                                ; zero-extends
    mov rax, arch_start
.start:
    xor ebp, ebp                                ; ends a stack trace
    call rax
.halt:
    hlt
    jmp .halt
.further_cpu:
    mov rax, ap_cpu
    mov rdi, [rax]                              ; arch_start_further(struct cpu *cpu)
    mov rsp, [rdi + CPU_KERNEL_STACK]
    mov rax, arch_start_further
    jmp .start

; Real mode, CS = the page that smp.c has chosen. Everything it refers to is in the kernel's image, below 4
; GiB.
bits 16
global ap_trampoline, ap_trampoline_end
ap_trampoline:
    cli
    cld
    mov ax, cs
    mov ds, ax
    o32 lgdt [ap_gdt_pointer - ap_trampoline]
    mov eax, cr0
    or eax, 1                                   ; protected mode
    mov cr0, eax
    jmp dword 0x10:PHYSICAL(ap_protected)
align 4
ap_gdt_pointer:
    dw 31
    dd PHYSICAL(boot_gdt)
ap_trampoline_end:

bits 32
ap_protected:
    mov eax, 0x18
    mov ds, eax
    mov es, eax
    mov ss, eax
    mov eax, 0x80000001
    cpuid
    mov edi, edx
    mov ebp, BOOT_FURTHER_CPU
    jmp enter_long_mode

extern arch_start
extern arch_start_further
extern ap_cpu

section .rodata
not_64_bit_text: db 13, 10, "tacet: this CPU has no 64-bit mode; Tacet needs an x86_64 machine", 13, 10, 0
align 8
boot_gdt:
    dq 0
    dq 0x00209a0000000000                       ; 0x08: 64-bit code
    dq 0x00cf9a000000ffff                       ; 0x10: 32-bit code, for further CPUs
    dq 0x00cf92000000ffff                       ; 0x18: 32-bit data
boot_gdt_pointer:
    dw 31
    dd PHYSICAL(boot_gdt)

section .note.pvh note alloc noexec nowrite align=4
    dd 4, 4, XEN_ELFNOTE_PHYS32_ENTRY
    db "Xen", 0
    dd PHYSICAL(boot_entry_pvh)

section .bss nobits alloc noexec write align=4096
global boot_root
boot_root: resb 4096
boot_pointers_low: resb 4096
boot_pointers_high: resb 4096
boot_directories: resb 4 * 4096
global boot_guard
boot_guard: resb 4096                           ; not mapped by the final map: an overflow of the stack faults
global boot_stack
boot_stack: resb 16384
global boot_stack_top
boot_stack_top:
global boot_ticks
boot_ticks: resq 1                              ; clock source at the first instruction
