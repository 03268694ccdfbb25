/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/trap.h: what the entry stubs (trap_entry.asm) leave on the stack for trap_handle.
 */
#ifndef ARCH_TRAP_H
#define ARCH_TRAP_H

#include "errno.h"
#include <stdint.h>

#define FLAGS_FIXED     0x002 /* bit 1 of RFLAGS always reads as one */
#define FLAGS_INTERRUPT 0x200

/* Lowest address first: the stubs push in the opposite order, the CPU the last five. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
    uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector;
    uint64_t error; /* the CPU's error code, 0 for vectors without */
    uint64_t instruction, code_selector, flags, stack, stack_selector;
};

enum trap_vector {
    TRAP_DIVIDE = 0,
    TRAP_DEBUG = 1,
    TRAP_NMI = 2,
    TRAP_BREAKPOINT = 3,
    TRAP_OVERFLOW = 4,
    TRAP_BOUND = 5,
    TRAP_INVALID_OPCODE = 6,
    TRAP_NO_FPU = 7,
    TRAP_DOUBLE_FAULT = 8,
    TRAP_INVALID_TSS = 10,
    TRAP_NO_SEGMENT = 11,
    TRAP_STACK = 12,
    TRAP_PROTECTION = 13,
    TRAP_PAGE_FAULT = 14,
    TRAP_FPU = 16,
    TRAP_ALIGNMENT = 17,
    TRAP_MACHINE_CHECK = 18,
    TRAP_SIMD = 19,
    TRAP_CONTROL = 21,
    VECTOR_FIRST_INTERRUPT = 32,
    VECTOR_WAKE = 0xf0,  /* from another CPU: look at what you wait for */
    VECTOR_TIMER = 0xf1, /* the local one-shot timer */
    VECTOR_SPURIOUS = 255,
};

/* The error code of a page fault [Intel SDM 3A §4.7]. */
#define PAGE_FAULT_PRESENT  1
#define PAGE_FAULT_WRITE    2
#define PAGE_FAULT_USER     4
#define PAGE_FAULT_RESERVED 8
#define PAGE_FAULT_FETCH    16
#define PAGE_FAULT_ORDINARY \
    (PAGE_FAULT_PRESENT | PAGE_FAULT_WRITE | PAGE_FAULT_USER | PAGE_FAULT_FETCH) /* an entry's rights */

void trap_initialise(void);
void trap_handle(struct trap_frame *frame);

#endif
