/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch.S: from one kernel stack to another; the vector registers.
 */
#include "arch/assembler.inc"

    .text
/* void stack_switch(uint64_t *from, uint64_t to): stores the stack pointer, after the registers that C
 * functions preserve, and goes on with another, where the same has been done. */
    .globl stack_switch
stack_switch:
    mflr r0
    std r0, 16(r1)
    stdu r1, -SWITCH_BYTES(r1)
    mfcr r0
    std r0, 32(r1)
    REGISTERS_STORE 14, 31, 40, r1
    std r1, 0(r3)
    mr r1, r4
    ld r0, 32(r1)
    mtcr r0
    REGISTERS_LOAD 14, 31, 40, r1
    addi r1, r1, SWITCH_BYTES
    ld r0, 16(r1)
    mtlr r0
    blr

/* void vector_state_save(void *area), void vector_state_restore(const void *area): 64 registers of 16 bytes,
 * 16-byte aligned, then FPSCR and VSCR. */
    .machine push
    .machine power9
    .globl vector_state_save
vector_state_save:
    .set number, 0
    .rept 64
    stxv number, 16 * number(r3)
    .set number, number + 1
    .endr
    mffs 0
    stfd 0, 1024(r3)
    mfvscr 0
    li r4, 1040
    stvx 0, r3, r4
    lxv 0, 0(r3)
    lxv 32, 16 * 32(r3)
    blr

    .globl vector_state_restore
vector_state_restore:
    lfd 0, 1024(r3)
    mtfsf 0xff, 0, 1, 0
    li r4, 1040
    lvx 0, r3, r4
    mtvscr 0
    .set number, 0
    .rept 64
    lxv number, 16 * number(r3)
    .set number, number + 1
    .endr
    blr
    .machine pop

/* thread_begin and thread_idle have no caller: their table of contents is loaded here. */
    .globl begin_thread, begin_idle
begin_thread:
    LOAD_ADDRESS r2, .TOC.
    LOAD_ADDRESS r12, thread_begin
    mtctr r12
    bctr
begin_idle:
    LOAD_ADDRESS r2, .TOC.
    LOAD_ADDRESS r12, thread_idle
    mtctr r12
    bctr
