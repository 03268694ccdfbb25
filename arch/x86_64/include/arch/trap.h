/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch/trap.h: what the entry stubs (trap_entry.asm) leave on the stack for trap_handle.
 */
#ifndef ARCH_TRAP_H
#define ARCH_TRAP_H

#include <stdint.h>

#define FLAGS_FIXED     0x002 /* bit 1 of RFLAGS always reads as one */
#define FLAGS_INTERRUPT 0x200
#define FLAGS_ZERO      0x008 /* bit 3 always reads as zero */

/* Lowest address first: the stubs push in the opposite order, the CPU the last five. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
    uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector;
    uint64_t error; /* the CPU's error code, 0 for vectors without */
    uint64_t instruction, code_selector, flags, stack, stack_selector;
};

/* XSAVE's standard format for what XCR0 may have: x87, SSE, AVX, AVX-512 [Intel SDM 1 §13.4]. */
#define VECTOR_STATE_BYTES 2688
#define FXSAVE_BYTES       512
#define XSAVE_HEADER       512
#define XSAVE_HEADER_BYTES 64

/* Saves, or restores, the vector registers of this CPU: 64-byte aligned memory of VECTOR_STATE_BYTES. */
void vector_state_save(void *area);
void vector_state_restore(const void *area);

/* The state with which a program and a signal's handler start: all exceptions masked, x87's extended
 * precision; by XSAVE's header, everything else is initial. In thread.c; vector_state_enable sets the
 * controls. */
#define CONTROL_AT  0 /* of x87's control word */
#define MXCSR_AT    24
#define CONTROL_END 28
extern uint8_t vector_state_initial[XSAVE_HEADER + XSAVE_HEADER_BYTES];

enum trap_vector {
    TRAP_DIVIDE = 0,
    TRAP_DEBUG = 1,
    TRAP_NMI = 2,
    TRAP_BREAKPOINT = 3,
    TRAP_OVERFLOW = 4,
    TRAP_INVALID_OPCODE = 6,
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
    TRAP_LAST = TRAP_SIMD,
    VECTOR_FIRST_INTERRUPT = 32,
    VECTOR_IPI = 0xf0,    /* from another CPU (arch_ipi_send) */
    VECTOR_TIMER = 0xf1,  /* the local one-shot timer */
    VECTOR_INPUT = 0xf2,  /* a device has input (arch_input_route) */
    VECTOR_DEVICE = 0xf3, /* of the network (arch_message_interrupt, arch_line_route) */
    VECTOR_BEAT = 0xf4,   /* a heartbeat, passed on (arch_beat_send) */
    VECTOR_SPURIOUS = 255,
    VECTOR_SYSTEM_CALL = 256, /* no vector: the frame of a system call's slow return */
    VECTOR_SIGNAL_RETURN,     /* nor this: a frame restored by rt_sigreturn */
};

#define TRAP_STUB_BYTES 9 /* of the entry of a vector (trap_entry.asm) */

/* The error code of a page fault [Intel SDM 3A §4.7]. */
#define PAGE_FAULT_PRESENT  1
#define PAGE_FAULT_WRITE    2
#define PAGE_FAULT_USER     4
#define PAGE_FAULT_RESERVED 8
#define PAGE_FAULT_FETCH    16
/* Those that an entry's rights cause. */
#define PAGE_FAULT_ORDINARY (PAGE_FAULT_PRESENT | PAGE_FAULT_WRITE | PAGE_FAULT_USER | PAGE_FAULT_FETCH)

/* Those of the program's registers that C functions preserve, as sys_clone's assembly has stored them; lowest
 * address first. */
struct kept_registers {
    uint64_t rbx, rbp, r12, r13, r14, r15;
};

/* The registers of a thread that no CPU runs. */
struct arch_context {
    uint64_t stack;        /* RSP in the kernel, at what stack_switch has pushed */
    uint64_t kernel_stack; /* the top of the thread's own kernel stack */
    uint64_t user_stack;   /* of the CPU's area (arch/cpu.h), as the next one */
    uint64_t fault_address;
    uint64_t fs_base, gs_base;
    struct trap_frame frame;                               /* with which it starts */
    _Alignas(64) uint8_t vector_state[VECTOR_STATE_BYTES]; /* as XSAVE lays it out, or FXSAVE */
};

/* Stores the stack pointer, after pushing the registers that C functions preserve, and continues with
 * another, where the same has been done. syscall_entry.asm */
void stack_switch(uint64_t *from, uint64_t to);

/* The slow return to the program, through C: of traps, and of system calls that return to call_return_slow
 * (syscall_entry.asm). CALL_WORDS words lie between the top of the stack and that address. */
#define CALL_WORDS 8
void program_return(struct trap_frame *frame);
void call_return(void), call_return_slow(void);

/* Returns after an interrupt: the program can go on where it was, so the return is slow only if something is
 * left to be done. */
void interrupt_return(struct trap_frame *frame);

_Noreturn void frame_enter(const struct trap_frame *frame); /* trap_entry.asm */

void trap_initialise(void);
void trap_handle(struct trap_frame *frame);

#endif
