/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vectors.S: where interrupts come in. vectors_install copies the block below to physical 0 and, as
 * interrupts that find translation on go there (AIL 3), to 0x4000, where sc has a way of its own
 * (syscall_entry.S). A CPU's area is in SPRG0; SPRG1 has r13 of the interrupted code.
 *
 * An entry from the program begins at the top of its thread's kernel stack, where the frame stays; one from
 * the kernel continues below what runs. What leaves no stack to trust goes to the emergency stack, and stops
 * the node: a machine check and a system reset, which come at any instruction, even of this entry; a fault
 * for an address of the kernel's own, as the guard page's below a stack is; an invalid stack pointer.
 */
#include "arch/assembler.inc"

    .macro VECTOR at
    . = vectors + \at
    mtsprg1 r13
    mfsprg0 r13
    std r12, CPU_SCRATCH(r13)
    li r12, \at
    b vectors_common
    .endm

    .section .text.vectors, "ax"
    .balign 256
    .globl vectors, vectors_end
vectors:
    .irp at, 0x100, 0x200, 0x300, 0x380, 0x400, 0x480, 0x500, 0x600, 0x700, 0x800, 0x900, 0xa00, 0xc00, 0xd00
    VECTOR \at
    .endr
    .irp at, 0xf00, 0xf20, 0xf40, 0xf60
    VECTOR \at
    .endr
    . = vectors + 0x1800
vectors_common:
    std r11, CPU_SCRATCH + 8(r13)
    mfctr r11
    std r11, CPU_SCRATCH + 16(r13)
    LOAD_ADDRESS r11, trap_entry
    mtctr r11
    bctr
vectors_end:

    .text
    .globl trap_entry
trap_entry:
    std r10, CPU_SCRATCH + 24(r13)
    mfcr r10
    std r10, CPU_SCRATCH + 32(r13)
    mr r11, r1
    cmplwi r12, VECTOR_MACHINE_CHECK
    ble 5f
    mfsrr1 r10
    andi. r10, r10, MSR_PR
    beq 2f
1:  ld r1, CPU_KERNEL_STACK(r13)
    b 7f
    /* From the kernel: is it between scv and the first instruction with interrupts off? Then the program is
     * before its scv, and nothing of it is lost but r9. So is a program that ran scv with another level than
     * 0, where no instruction stands: it has run one that does not exist. */
2:  mfsrr0 r10
    LOAD_ADDRESS r1, syscall_entry_vectored
    subf r1, r1, r10
    cmpldi r1, VECTORED_OPEN_BYTES
    blt 3f
    LOAD_ADDRESS r1, DIRECT_MAP_VECTORED
    subf r1, r1, r10
    cmpldi r1, VECTORED_BYTES
    bge 4f
3:  mflr r10
    addi r10, r10, -4
    mtsrr0 r10
    ld r10, CPU_SCRATCH + 16(r13)
    rldicl r10, r10, 42, 6 /* scv leaves bits undefined that in SRR1 say what has happened */
    rldicl r10, r10, 22, 0
    mtsrr1 r10
    b 1b
4:  cmpdi r11, 0
    bge 5f
    addi r1, r11, -288 /* what a function may use below its frame [ELF V2 ABI §2.2.2.4] */
    cmplwi r12, VECTOR_DATA
    bne 7f
    mfdar r10
    cmpdi r10, 0
    bge 7f
5:  addi r1, r13, CPU_FIELDS
7:  stdu r11, -(FRAME_MIN + FRAME_BYTES)(r1)
    std r0, FRAME_MIN(r1)
    REGISTERS_STORE 2, 9, FRAME_MIN + 8 * 2, r1
    REGISTERS_STORE 14, 31, FRAME_MIN + 8 * 14, r1
    std r11, FRAME_MIN + 8 * 1(r1)
    ld r3, CPU_SCRATCH(r13)
    ld r4, CPU_SCRATCH + 8(r13)
    ld r5, CPU_SCRATCH + 16(r13)
    ld r6, CPU_SCRATCH + 24(r13)
    ld r10, CPU_SCRATCH + 32(r13)
    mfsprg1 r7
    std r3, FRAME_MIN + 8 * 12(r1)
    std r4, FRAME_MIN + 8 * 11(r1)
    std r5, FRAME_MIN + FRAME_COUNTER(r1)
    std r6, FRAME_MIN + 8 * 10(r1)
    std r7, FRAME_MIN + 8 * 13(r1)
    std r10, FRAME_MIN + FRAME_CONDITION(r1)
    mfsrr0 r3
    mfsrr1 r4
    mflr r5
    mfxer r6
    mfdar r7
    mfdsisr r8
    mfspr r9, PRIORITY
    std r3, FRAME_MIN + FRAME_INSTRUCTION(r1)
    std r4, FRAME_MIN + FRAME_MSR(r1)
    std r5, FRAME_MIN + FRAME_LINK(r1)
    std r6, FRAME_MIN + FRAME_XER(r1)
    std r7, FRAME_MIN + FRAME_ADDRESS(r1)
    std r8, FRAME_MIN + FRAME_STATUS(r1)
    std r9, FRAME_MIN + FRAME_PRIORITY(r1)
    std r12, FRAME_MIN + FRAME_VECTOR(r1)
    or 2, 2, 2 /* medium priority of the hardware thread */
    ld r2, CPU_TABLE_OF_KERNEL(r13)
    addi r3, r1, FRAME_MIN
    bl trap_handle
    addi r3, r1, FRAME_MIN

/* frame_enter(frame in r3): continues as the frame says. */
    .globl frame_enter
frame_enter:
    ld r4, FRAME_INSTRUCTION(r3)
    ld r5, FRAME_MSR(r3)
    ld r6, FRAME_LINK(r3)
    ld r7, FRAME_COUNTER(r3)
    ld r8, FRAME_XER(r3)
    ld r9, FRAME_CONDITION(r3)
    ld r10, FRAME_PRIORITY(r3)
    mtsrr0 r4
    mtsrr1 r5
    mtlr r6
    mtctr r7
    mtxer r8
    mtcr r9
    mtspr PRIORITY, r10
    REGISTERS_LOAD 0, 2, 0, r3
    REGISTERS_LOAD 4, 31, 8 * 4, r3
    ld r3, 8 * 3(r3)
    rfid

/* translation_on(msr in r3): continues with that machine state. */
    .globl translation_on
translation_on:
    mflr r4
    mtsrr0 r4
    mtsrr1 r3
    rfid
