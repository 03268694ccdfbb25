/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * switch.S: from one kernel stack to another; the vector registers.
 */
#include "arch/assembler.inc"

    .text
/* void stack_switch(uint64_t *from, uint64_t to): stores the stack pointer, after the registers that C
 * functions preserve, and continues with another, where the same has been done. */
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

/* The kernel's own entries find these registers off. */
    .macro VECTORS_ON
    mfmsr r0
    oris r0, r0, MSR_VECTORS >> 16
    ori r0, r0, MSR_VECTORS & 0xffff
    mtmsrd r0
    .endm

/* void vector_state_save(struct vector_state *state), void vector_state_restore(const struct vector_state *) */
    .machine push
    .machine power9
    .globl vector_state_save
vector_state_save:
    VECTORS_ON
    .set number, 0
    .rept 64
    stxv number, 16 * number(r3)
    .set number, number + 1
    .endr
    mffs 0
    stfd 0, VECTORS_FLOATING_STATUS(r3)
    mfvscr 0
    li r4, VECTORS_STATUS
    stvx 0, r3, r4
    mfspr r4, SPR_VRSAVE
    std r4, VECTORS_MASK(r3)
    mfspr r4, SPR_TAR
    std r4, VECTORS_TARGET(r3)
    mfspr r4, SPR_DSCR
    std r4, VECTORS_STREAM_CONTROL(r3)
    lxv 0, 0(r3)
    lxv 32, 16 * 32(r3)
    blr

    .globl vector_state_restore
vector_state_restore:
    VECTORS_ON
    lfd 0, VECTORS_FLOATING_STATUS(r3)
    mtfsf 0xff, 0, 1, 0
    li r4, VECTORS_STATUS
    lvx 0, r3, r4
    mtvscr 0
    ld r4, VECTORS_MASK(r3)
    mtspr SPR_VRSAVE, r4
    ld r4, VECTORS_TARGET(r3)
    mtspr SPR_TAR, r4
    ld r4, VECTORS_STREAM_CONTROL(r3)
    mtspr SPR_DSCR, r4
    .set number, 0
    .rept 64
    lxv number, 16 * number(r3)
    .set number, number + 1
    .endr
    blr
    .machine pop

/* uint32_t vector_status(void): FPSCR of the program. */
    .globl vector_status
vector_status:
    VECTORS_ON
    stfd 0, -8(r1)
    mffs 0
    stfd 0, -16(r1)
    lfd 0, -8(r1)
    lwz r3, -16(r1)
    blr

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
