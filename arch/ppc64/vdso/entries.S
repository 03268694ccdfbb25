/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entries.S: the vDSO's functions as programs call them, and where a signal's handler begins and returns.
 *
 * A function of the vDSO returns as a system call does: an error is its positive number, with the summary
 * overflow bit of CR0 [Linux: C libraries look at that bit, after every function but sigtramp].
 */
#include "arch/vdso.h"

    .macro FUNCTION name
    .globl __kernel_\name
    .type __kernel_\name, @function
__kernel_\name:
    .endm

/* int __kernel_NAME(…): by C's __vdso_NAME, which returns a negative number for an error.
 *
 * The C library calls from inline assembly, so from functions that the compiler takes for leaves: the place
 * of a called function's return address is in use, and so is the red zone below the stack pointer. From the
 * new stack pointer upwards: what C needs of its caller (32 bytes), the return address, the red zone. */
#define BY_C_BYTES (32 + 16 + 288)

    .macro BY_C name
    FUNCTION \name
    .cfi_startproc
    mflr r0
    stdu r1, -BY_C_BYTES(r1)
    std r0, 32(r1)
    .cfi_def_cfa_offset BY_C_BYTES
    .cfi_offset lr, 32 - BY_C_BYTES
    bl __vdso_\name
    ld r0, 32(r1)
    addi r1, r1, BY_C_BYTES
    mtlr r0
    .cfi_def_cfa_offset 0
    .cfi_restore lr
    cmpdi r3, 0
    crclr 4 * cr0 + so
    bgelr
    neg r3, r3
    crset 4 * cr0 + so
    blr
    .cfi_endproc
    .size __kernel_\name, . - __kernel_\name
    .endm

    .text
    BY_C clock_gettime
    BY_C clock_getres
    BY_C gettimeofday
    BY_C time
    BY_C getcpu

/* uint64_t __kernel_get_tbfreq(void): Hz */
FUNCTION get_tbfreq
    .cfi_startproc
    mflr r0
    .cfi_register lr, r0
    bcl 20, 31, 1f
1:  mflr r3
    mtlr r0
    .cfi_restore lr
    addis r3, r3, (page - 1b)@ha
    lwz r3, (page - 1b + 4)@l(r3) /* struct clock_page: features */
    crclr 4 * cr0 + so
    blr
    .cfi_endproc

/* The handler, whose address is in CTR, returns after the first instruction, where the stack pointer is at
 * CALLER_BYTES below the user context. libgcc knows the place by its three instructions, and by the number
 * after them that a frame in the 2.4 kernels' layout could not have there.
 *
 * For unwinding by tables: the CFA and every general register are what the user context has of them
 * (signal_frame.c). The instruction before the return address must belong to the same table. */
#define CALLER_BYTES 128
#define GENERAL_AT   (CALLER_BYTES + 168 + 64)

/* DW_CFA_expression: a register is at r1 (DW_OP_breg1) and an offset in two bytes of signed LEB128. */
    .macro SAVED register, at
    .cfi_escape 0x10, \register, 3, 0x71, ((\at) & 0x7f) | 0x80, ((\at) >> 7) & 0x7f
    .endm

    .balign 32
    .globl __kernel_start_sigtramp_rt64
    nop
    .cfi_startproc
    .cfi_signal_frame
    /* DW_CFA_def_cfa_expression: the r1 that was interrupted; DW_OP_deref */
    .cfi_escape 0x0f, 4, 0x71, ((GENERAL_AT + 8) & 0x7f) | 0x80, ((GENERAL_AT + 8) >> 7) & 0x7f, 0x06
    .set number, 0
    .rept 32
    SAVED number, GENERAL_AT + 8 * number
    .set number, number + 1
    .endr
    SAVED 65, GENERAL_AT + 8 * 36 /* the link register */
    SAVED 68, GENERAL_AT + 8 * 38 /* the condition register */
    .set number, 0
    .rept 32
    SAVED 32 + number, GENERAL_AT + 8 * 48 + 8 * number /* floating point */
    .set number, number + 1
    .endr
    SAVED 67, GENERAL_AT + 8 * 32 /* where it goes on: a column that no register has */
    .cfi_return_column 67
__kernel_start_sigtramp_rt64:
    bctrl
FUNCTION sigtramp_rt64
    addi r1, r1, CALLER_BYTES
    li r0, 172 /* rt_sigreturn */
    sc
    .cfi_endproc
    .long 0, 0, 0
    .quad 0, -21 * 8
