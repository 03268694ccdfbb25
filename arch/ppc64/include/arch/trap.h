/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/trap.h: what the entry code (vectors.S) leaves on the stack for trap_handle.
 */
#ifndef ARCH_TRAP_H
#define ARCH_TRAP_H

#include <stdint.h>

struct trap_frame {
    uint64_t gpr[32];
    uint64_t instruction, msr; /* SRR0, SRR1 */
    uint64_t link, counter, xer;
    uint64_t condition;       /* in the low word */
    uint64_t address, status; /* DAR, DSISR */
    uint32_t vector;          /* stored as a whole word, with: */
    uint32_t returns_slowly;  /* by thread_slow_return: a system call */
    uint64_t argument;        /* of a system call: the first, which the result replaces */
};

#define MSR_PROBLEM (1ULL << 14) /* the program's state */

/* Interrupts [Power ISA 3.0B III §6.5], by the address of their vector. */
enum trap_vector {
    TRAP_RESET = 0x100,
    TRAP_MACHINE_CHECK = 0x200,
    TRAP_DATA = 0x300,
    TRAP_DATA_SEGMENT = 0x380,
    TRAP_INSTRUCTION = 0x400,
    TRAP_INSTRUCTION_SEGMENT = 0x480,
    TRAP_EXTERNAL = 0x500,
    TRAP_ALIGNMENT = 0x600,
    TRAP_PROGRAM = 0x700,
    TRAP_NO_FLOATING_POINT = 0x800,
    TRAP_DECREMENTER = 0x900,
    TRAP_DOORBELL = 0xa00,
    TRAP_SYSTEM_CALL = 0xc00,
    TRAP_TRACE = 0xd00,
    TRAP_PERFORMANCE = 0xf00,
    TRAP_NO_VMX = 0xf20,
    TRAP_NO_VSX = 0xf40,
    TRAP_NO_FACILITY = 0xf60,
};

/* 32 registers of VSX, which contain those of floating point, and 32 of VMX; FPSCR, VSCR. */
#define VECTOR_STATE_BYTES (64 * 16 + 32)

/* The registers of a thread that no CPU runs. */
struct arch_context {
    uint64_t stack;        /* r1 in the kernel, at what stack_switch has stored */
    uint64_t kernel_stack; /* the top of the thread's own kernel stack */
    struct trap_frame frame;
    _Alignas(16) uint8_t vector_state[VECTOR_STATE_BYTES];
};

/* Copies the vectors to where the CPU looks for them: physical 0 on, and 0x4000 on for an address space with
 * translation (AIL 3). */
void vectors_install(void);
void trap_handle(struct trap_frame *frame);
void system_call(struct trap_frame *frame);

/* On the stack, from stack_switch on: registers that C functions preserve. */
#define SWITCH_BYTES 192

#endif
